"""Django's SQLite, with writers that ask for their turn at an even pace.

SQLite has no queue: a writer that finds the file taken sleeps and asks again, and by its own count sleeps longer each
time, up to 0.1 s, so that whoever has waited longest asks least often. Here a transaction asks every millisecond.
Single statements outside of transactions wait by SQLite's count as before.
"""

from __future__ import annotations

import sqlite3
import time

from django.db.backends.sqlite3 import base

PACE = 0.001  # seconds


class DatabaseWrapper(base.DatabaseWrapper):
    def _start_transaction_under_autocommit(self) -> None:
        """BEGIN IMMEDIATE. Raises OperationalError ("database is locked") after OPTIONS["timeout"] seconds."""
        patience = self.settings_dict["OPTIONS"].get("timeout", 5.0)
        deadline = time.monotonic() + patience
        with self.wrap_database_errors:
            self.connection.execute("PRAGMA busy_timeout = 0")
            try:
                while not self._begins():
                    if time.monotonic() > deadline:
                        raise sqlite3.OperationalError("database is locked")
                    time.sleep(PACE)
            finally:
                self.connection.execute(f"PRAGMA busy_timeout = {int(1000 * patience)}")

    def _begins(self) -> bool:
        try:
            self.connection.execute(f"BEGIN {self.transaction_mode or 'DEFERRED'}")  # type: ignore[attr-defined]  # unknown to the stubs
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
        return True
