"""Simulated crashes of a process between two database statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, connection

# Statements that end a transaction by themselves when the connection is lost.
AUTOMATIC_STATEMENTS = ("ROLLBACK", "SAVEPOINT", "RELEASE")


class SimulatedCrash(DatabaseError):
    """Stands for a connection that is lost in the middle of a transaction."""


@contextmanager
def crash_at(number: int) -> Iterator[None]:
    """Raise SimulatedCrash in the statement with this number (from 0) and in every later one."""
    remaining = number

    def execute(run: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        nonlocal remaining
        remaining -= 1
        if remaining < 0 and not sql.startswith(AUTOMATIC_STATEMENTS):
            raise SimulatedCrash(sql)
        return run(sql, parameters, many, context)

    with connection.execute_wrapper(execute):
        yield
