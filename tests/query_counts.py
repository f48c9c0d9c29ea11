"""Database round trips, for tests that assert how many an operation takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext


@contextmanager
def measure_round_trips() -> Iterator[Callable[[], int]]:
    """Count round trips from here to the end of the block. SQLite makes one for each statement."""
    pipelined = 0  # statements that were sent in one round trip with the previous one
    previous_pipeline: Any = None

    def execute(run: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        nonlocal previous_pipeline, pipelined
        # psycopg's open pipeline, if any: all its statements take one round trip.
        pipeline = getattr(connection.connection, "_pipeline", None)
        pipelined += pipeline is not None and pipeline is previous_pipeline
        previous_pipeline = pipeline
        return run(sql, parameters, many, context)

    with CaptureQueriesContext(connection) as queries, connection.execute_wrapper(execute):
        yield lambda: len(queries) - pipelined
