"""Work in threads with database connections of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import connection

PATIENCE = 30.0  # seconds; only what hangs needs them


def start(*works: Callable[[], Any]) -> list[Future[Any]]:
    """Each work in a thread of its own; ``result(timeout=PATIENCE)`` of what comes back gives its
    value or error."""
    pool = ThreadPoolExecutor(len(works))

    def closing(work: Callable[[], Any]) -> Any:
        try:
            return work()
        finally:
            connection.close()

    futures = [pool.submit(closing, work) for work in works]
    pool.shutdown(wait=False)
    return futures


def finish(futures: list[Future[Any]]) -> list[Any]:
    return [future.result(timeout=PATIENCE) for future in futures]


# Only in the database of this test: others run beside it in databases of their own. Who waits for
# a transaction is known by the tables that they hold.
BLOCKED_HERE = """
    SELECT count(*) FROM pg_locks AS waiting
    WHERE NOT granted AND EXISTS (
        SELECT 1 FROM pg_locks AS any_lock
        JOIN pg_database ON pg_database.oid = any_lock.database
        WHERE any_lock.pid = waiting.pid AND datname = current_database()
    )
    """


def wait_until_blocked() -> None:
    """Until some transaction waits for a lock that another one holds."""
    deadline = time.monotonic() + PATIENCE
    with connection.cursor() as cursor:
        while True:
            cursor.execute(BLOCKED_HERE)
            if cursor.fetchone()[0]:
                return
            assert time.monotonic() < deadline, "nobody waits"
            time.sleep(0.01)


class Gate:
    """A place in the code where a thread waits until it is let through."""

    def __init__(self) -> None:
        self._reached, self._opened = threading.Event(), threading.Event()

    def wait(self) -> None:
        """In the thread: say that the place is reached, and wait."""
        self._reached.set()
        assert self._opened.wait(PATIENCE), "nobody opened the gate"

    def wait_until_reached(self) -> None:
        assert self._reached.wait(PATIENCE), "nobody came to the gate"

    def open(self) -> None:
        self._opened.set()
