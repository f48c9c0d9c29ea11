"""Hints: queue messages that tell workers that a question has uncounted ratings.

A hint may be lost, late or duplicated; it must never delay a rater. One hint a question is enough:
while one is pending (a key in the broker's database says so), no other is sent. The worker deletes
the key *before* it reads the ratings. So a rating committed after the deletion sends its own hint,
and one committed before it is read. The key expires by itself, and the sweep needs no hints.
"""

from __future__ import annotations

import logging

import redis
from django.conf import settings

from core.jobs import dispatch
from core.jobs.dispatch import start_task

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
    """Clear the pending hint before the ratings are read, so that new ratings send a new one."""
    if not settings.REDIS_URL:
        return
    try:
        key = dispatch.build_broker_key(f"hint:{question_id}")
        dispatch.get_redis_client().delete(key)
    except redis.RedisError as error:
        logger.warning(
            "the hint of question %s was not cleared (%s)", question_id, type(error).__name__
        )
