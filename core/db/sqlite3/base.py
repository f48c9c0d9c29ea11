"""Django's SQLite backend, in which waiting writers retry at a steady pace.

SQLite has no queue: a writer that finds the file locked sleeps and retries, and its own busy
handler sleeps longer each time, up to 0.1 s, so that the writer that has waited longest retries
least often. Here one thread of each process retries every millisecond, and the process's other
threads wait behind it. Single statements outside of transactions use SQLite's busy handler.
"""

from __future__ import annotations

import functools
import sqlite3
import threading
import time
from typing import Any

from django.db.backends.sqlite3 import base

RETRY_INTERVAL_SECONDS = 0.001
MAX_CACHED_QUERY_LENGTH = 2_000  # characters; longer statements are converted each time

# Held while retrying, never while writing, so that it cannot cause a deadlock.
_retry_lock = threading.Lock()


class CachingCursor(base.SQLiteCursorWrapper):
    """SQLite cursor that caches the conversion of %s placeholders by query."""

    def convert_query(self, query: str, *, param_names: Any = None) -> str:
        if param_names is None and len(query) < MAX_CACHED_QUERY_LENGTH:
            return _convert_placeholders(query)
        return super().convert_query(query, param_names=param_names)


@functools.lru_cache(maxsize=500)
def _convert_placeholders(query: str) -> str:
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")


class DatabaseWrapper(base.DatabaseWrapper):
    def create_cursor(self, name: str | None = None) -> CachingCursor:
        return self.connection.cursor(factory=CachingCursor)

    def _start_transaction_under_autocommit(self) -> None:
        """Execute BEGIN IMMEDIATE.

        Raises OperationalError ("database is locked") after OPTIONS["timeout"] seconds.
        """
        timeout = self.settings_dict["OPTIONS"].get("timeout", 5.0)
        deadline = time.monotonic() + timeout
        with self.wrap_database_errors:
            if not _retry_lock.acquire(timeout=timeout):
                raise sqlite3.OperationalError("database is locked")
            try:
                self.connection.execute("PRAGMA busy_timeout = 0")
                while not self._try_begin():
                    if time.monotonic() > deadline:
                        raise sqlite3.OperationalError("database is locked")
                    time.sleep(RETRY_INTERVAL_SECONDS)
            finally:
                _retry_lock.release()
                self.connection.execute(f"PRAGMA busy_timeout = {int(1000 * timeout)}")

    def _try_begin(self) -> bool:
        """Return True when the transaction has begun, False when the database is locked."""
        try:
            self.connection.execute(f"BEGIN {self.transaction_mode or 'DEFERRED'}")  # type: ignore[attr-defined]  # unknown to the stubs
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
        return True
