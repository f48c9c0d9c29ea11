"""Django's SQLite, with writers that ask for their turn at an even pace.

SQLite has no queue: a writer that finds the file taken sleeps and asks again, and by its own count
sleeps longer each time, up to 0.1 s, so that whoever has waited longest asks least often. Here one
thread of each process asks, every millisecond, and the process's others wait behind it. Single
statements outside of transactions wait by SQLite's count.
"""

from __future__ import annotations

import functools
import sqlite3
import threading
import time
from typing import Any

from django.db.backends.sqlite3 import base

PACE = 0.001  # seconds
LONGEST_KEPT = 2_000  # characters of a statement whose form for SQLite is remembered

# Held while asking, never while writing: nobody can wait for it in a circle.
_asking = threading.Lock()


class Cursor(base.SQLiteCursorWrapper):
    def convert_query(self, query: str, *, param_names: Any = None) -> str:
        if param_names is None and len(query) < LONGEST_KEPT:
            return _question_marks(query)
        return super().convert_query(query, param_names=param_names)


@functools.lru_cache(maxsize=500)
def _question_marks(query: str) -> str:
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")


class DatabaseWrapper(base.DatabaseWrapper):
    def create_cursor(self, name: str | None = None) -> Cursor:
        return self.connection.cursor(factory=Cursor)

    def _start_transaction_under_autocommit(self) -> None:
        """BEGIN IMMEDIATE. Raises OperationalError ("database is locked") after OPTIONS["timeout"]
        seconds."""
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
