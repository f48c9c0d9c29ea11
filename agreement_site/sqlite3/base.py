"""Django's SQLite, with writers that ask for their turn at an even pace.

SQLite has no queue: a writer that finds the file taken sleeps and asks again, and by its own count sleeps longer each
time, up to 0.1 s, so that whoever has waited longest asks least often. Here one thread of each process asks, every
millisecond, and the process's others wait behind it. Single statements outside of transactions wait by SQLite's count.
"""

from __future__ import annotations

import sqlite3
import threading
import time

from django.db.backends.sqlite3 import base

PACE = 0.001  # seconds

# Held while asking, never while writing: nobody can wait for it in a circle.
_asking = threading.Lock()


class DatabaseWrapper(base.DatabaseWrapper):
    def _start_transaction_under_autocommit(self) -> None:
        """BEGIN IMMEDIATE. Raises OperationalError ("database is locked") after OPTIONS["timeout"] seconds."""
        patience = self.settings_dict["OPTIONS"].get("timeout", 5.0)
        deadline = time.monotonic() + patience
        with self.wrap_database_errors:
            if not _asking.acquire(timeout=patience):
                raise sqlite3.OperationalError("database is locked")
            try:
                self.connection.execute("PRAGMA busy_timeout = 0")
                while not self._begins():
                    if time.monotonic() > deadline:
                        raise sqlite3.OperationalError("database is locked")
                    time.sleep(PACE)
            finally:
                _asking.release()
                self.connection.execute(f"PRAGMA busy_timeout = {int(1000 * patience)}")

    def _begins(self) -> bool:
        try:
            self.connection.execute(f"BEGIN {self.transaction_mode or 'DEFERRED'}")  # type: ignore[attr-defined]  # unknown to the stubs
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
        return True
