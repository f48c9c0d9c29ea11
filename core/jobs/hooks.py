"""Telling whoever listens, after the commit, that something changed."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db import connection, transaction

logger = logging.getLogger(__name__)

Listener = Callable[[int], None]


class Listeners:
    """Those who want to know that something of a number (a question's id) changed.

    What changed is on disk when they hear of it. Whatever one of them does wrong is logged, and
    reaches neither who made the change nor the other listeners; so a sweep must find
    the same.
    """

    def __init__(self) -> None:
        self.registered: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Register a function that is called with the number after each commit that changed
        something of it. Who is registered twice still hears once."""
        if listener not in self.registered:
            self.registered.append(listener)

    def announce(self, number: int) -> None:
        """Tell all listeners once the running transaction is on disk (now, where none is running);
        once a number, however often this is called."""
        # what is registered in a savepoint that is rolled back is forgotten with it
        savepoints = set(connection.savepoint_ids)
        mine = (self, number)
        for waiting in connection.run_on_commit:
            if waiting[0] == savepoints and getattr(waiting[1], "announced", None) == mine:
                return

        def tell() -> None:
            for listener in self.registered:
                try:
                    listener(number)
                except Exception:
                    name = getattr(listener, "__name__", listener)
                    logger.exception(
                        "%s failed on question %s; the sweep will find it", name, number
                    )

        tell.announced = mine  # type: ignore[attr-defined]  # found again above
        transaction.on_commit(tell)
