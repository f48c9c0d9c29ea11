"""Processes that die between two statements of the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, connection

# What a database does by itself when the connection is gone.
BY_ITSELF = ("ROLLBACK", "SAVEPOINT", "RELEASE")


class Crash(DatabaseError):
    """The connection is gone in the middle of a transaction."""


@contextmanager
def crash_at(number: int) -> Iterator[None]:
    """The statement with this number (from 0), and every later one, raises Crash."""
    left = number

    def execute(run: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0 and not sql.startswith(BY_ITSELF):
            raise Crash(sql)
        return run(sql, parameters, many, context)

    with connection.execute_wrapper(execute):
        yield
