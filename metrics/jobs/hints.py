"""Hints: messages that make a worker count a question now, and the pauses between its counts."""

from __future__ import annotations

import logging
import time

import redis
from django.conf import settings

from core.jobs import dispatch
from core.jobs.dispatch import start_task

PAUSE_FACTOR = 9  # length of the pause after a count, in durations of that count
LONGEST_PAUSE_SECONDS = 1.0

# Question -> (end of its last counting, seconds that it took), by this process's monotonic clock.
# Each worker paces itself. That is enough, because only one hint a question is pending.
_last_runs: dict[int, tuple[float, float]] = {}


def wait_for_turn(question_id: int) -> None:
    """Sleep until the pause after this process's last run of the question is over.

    The pause is proportional to that run's duration, at most LONGEST_PAUSE_SECONDS.
    """
    ended, duration = _last_runs.get(question_id, (0.0, 0.0))
    pause = min(LONGEST_PAUSE_SECONDS, PAUSE_FACTOR * duration) - (time.monotonic() - ended)
    if pause > 0:
        time.sleep(pause)


def record_run(question_id: int, started: float) -> None:
    """Record a counting run that began at ``started`` (time.monotonic) and ends now."""
    ended = time.monotonic()
    _last_runs[question_id] = (ended, ended - started)


logger = logging.getLogger(__name__)

PENDING_SECONDS = 10  # a hint that is pending for longer counts as lost


def send_hint(question_id: int) -> None:
    """Queue a hint to count the question, unless one is pending; silent on failure."""
    start_task(
        "metrics.tasks.count_question",
        question_id,
        skip_if=lambda: dispatch.mark_pending(f"hint:{question_id}", PENDING_SECONDS),
    )


def clear_hint(question_id: int) -> None:
    """Clear the pending hint, so that later ratings send a new one.

    Call it before the ratings are read.
    """
    if not settings.REDIS_URL:
        return
    try:
        key = dispatch.build_broker_key(f"hint:{question_id}")
        dispatch.get_redis_client().delete(key)
    except redis.RedisError as error:
        logger.warning(
            "the hint of question %s was not cleared (%s)", question_id, type(error).__name__
        )
