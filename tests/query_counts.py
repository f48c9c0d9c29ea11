"""Journeys to the database, for tests that say how many something takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext


@contextmanager
def journeys() -> Iterator[Callable[[], int]]:
    """How many there were from here to the end of the block. SQLite goes once for a statement."""
    together = 0  # statements that went along with the one before
    before: Any = None

    def execute(run: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        nonlocal before, together
        # psycopg's, while one is open: all its statements go together.
        pipeline = getattr(connection.connection, "_pipeline", None)
        together += pipeline is not None and pipeline is before
        before = pipeline
        return run(sql, parameters, many, context)

    with CaptureQueriesContext(connection) as queries, connection.execute_wrapper(execute):
        yield lambda: len(queries) - together
