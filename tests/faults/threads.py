"""Work in threads with database connections of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import connection

TIMEOUT_SECONDS = 30.0  # only a thread that hangs takes that long


def start_threads(*works: Callable[[], Any]) -> list[Future[Any]]:
    """Run each work in a thread of its own, and return their futures."""
    pool = ThreadPoolExecutor(len(works))

    def run_and_close(work: Callable[[], Any]) -> Any:
        try:
            return work()
        finally:
            connection.close()

    futures = [pool.submit(run_and_close, work) for work in works]
    pool.shutdown(wait=False)
    return futures


def wait_for_results(futures: list[Future[Any]]) -> list[Any]:
    """Return the results of the futures, or raise the first error."""
    return [future.result(timeout=TIMEOUT_SECONDS) for future in futures]


# Only in the database of this test: others run at the same time in databases of their own. A session
# that waits for a transaction is found by the tables that it holds.
COUNT_BLOCKED_SQL = """
    SELECT count(*) FROM pg_locks AS waiting
    WHERE NOT granted AND EXISTS (
        SELECT 1 FROM pg_locks AS any_lock
        JOIN pg_database ON pg_database.oid = any_lock.database
        WHERE any_lock.pid = waiting.pid AND datname = current_database()
    )
    """


def wait_until_blocked() -> None:
    """Wait until some transaction waits for a lock that another one holds."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    with connection.cursor() as cursor:
        while True:
            cursor.execute(COUNT_BLOCKED_SQL)
            if cursor.fetchone()[0]:
                return
            assert time.monotonic() < deadline, "nobody waits"
            time.sleep(0.01)


class Gate:
    """A point in the code where a thread waits until it is let through."""

    def __init__(self) -> None:
        self._reached, self._opened = threading.Event(), threading.Event()

    def wait(self) -> None:
        """Mark the gate as reached, from within the thread, and wait until it is opened."""
        self._reached.set()
        assert self._opened.wait(TIMEOUT_SECONDS), "nobody opened the gate"

    def wait_until_reached(self) -> None:
        assert self._reached.wait(TIMEOUT_SECONDS), "nobody came to the gate"

    def open(self) -> None:
        self._opened.set()
