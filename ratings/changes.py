"""The one hook by which others learn, after the commit, that ratings of a question changed. ``metrics`` fills it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db import transaction

logger = logging.getLogger(__name__)

_listeners: list[Callable[[int], None]] = []


def listen(listener: Callable[[int], None]) -> None:
    """Register the function that is called with a question's id after each commit that changed its ratings."""
    _listeners[:] = [listener]


def announce(question_id: int) -> None:
    """Tell the listener once the running transaction is on disk.

    The rating is already safe then: whatever the listener does wrong is logged and never reaches the rater.
    """

    def tell() -> None:
        for listener in _listeners:
            try:
                listener(question_id)
            except Exception:
                logger.exception("the hint for question %s was not sent; the sweep will find it", question_id)

    transaction.on_commit(tell)
