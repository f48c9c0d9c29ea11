"""How others learn, after the commit, that ratings of a question changed: they listen here."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db import connection, transaction

logger = logging.getLogger(__name__)

_listeners: list[Callable[[int], None]] = []


def listen(listener: Callable[[int], None]) -> None:
    """Register a function that is called with a question's id after each commit that changed its
    ratings. Who is registered twice still hears once."""
    if listener not in _listeners:
        _listeners.append(listener)


def announce(question_id: int) -> None:
    """Tell all listeners once the running transaction is on disk; once a question, however often
    this is called.

    The rating is already safe then: whatever a listener does wrong is logged, and reaches neither
    the rater nor the other listeners.
    """
    # what is registered in one that is rolled back is forgotten with it
    savepoints = set(connection.savepoint_ids)
    for waiting in connection.run_on_commit:
        if waiting[0] == savepoints and getattr(waiting[1], "announced", None) == question_id:
            return

    def tell() -> None:
        for listener in _listeners:
            try:
                listener(question_id)
            except Exception:
                name = getattr(listener, "__name__", listener)
                logger.exception(
                    "%s failed on question %s; the sweep will find it", name, question_id
                )

    tell.announced = question_id  # type: ignore[attr-defined]  # found again above
    transaction.on_commit(tell)
