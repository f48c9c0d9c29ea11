"""Starting a task on a worker with bounded patience. A message only says "look now": a sweep finds
the same work without it, so whoever starts a task never waits for the broker, nor hears of it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from celery import current_app
from django.conf import settings

from core.web.prometheus import HINTS_FAILED

logger = logging.getLogger(__name__)

# without a try after a failure, so that a frozen broker costs one request in many, not each
PAUSE_SECONDS = 5

_paused_until = 0.0


def start_task(task: str, number: int, *, unless: Callable[[], bool] | None = None) -> None:
    """Ask a worker for the task of this name on the row of this number; bounded in time, silent in
    failure.

    ``unless`` tells whether such a message is under way already. It may ask the broker too: its
    failure counts as one of sending.
    """
    global _paused_until  # noqa: PLW0603 - one switch a process
    if not settings.REDIS_URL or time.monotonic() < _paused_until:
        return
    try:
        if unless is not None and unless():
            return
        # One try: the sweep is the second one, and nobody waits for it.
        current_app.send_task(task, [number], ignore_result=True, retry=False)
    except Exception as error:  # any: redis, kombu and socket errors have no common base
        _paused_until = time.monotonic() + PAUSE_SECONDS
        HINTS_FAILED.inc()
        logger.warning(
            "no hint: %s %s was not started (%s); the sweep will find it",
            task,
            number,
            type(error).__name__,
        )
