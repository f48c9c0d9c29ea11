"""The hint that a question has something to count. It may be lost, late or doubled; it must never
delay a rater.

One hint a question is enough: while one is on its way (a key in the broker's database says so) no
other is sent. The worker removes the key *before* it reads the ratings, so a rating committed after
the removal sends its own hint and one committed before it is read. The key expires by itself, and
the sweep needs none of this.
"""

from __future__ import annotations

import functools
import logging
import time

import redis
from celery import current_app
from django.conf import settings

logger = logging.getLogger(__name__)

UNDERWAY_SECONDS = 10  # after this a hint counts as lost
# without a try after a failure, so that a frozen broker costs one rating in many, not each
PAUSE_SECONDS = 5

_paused_until = 0.0


@functools.cache
def client() -> redis.Redis:
    url = settings.REDIS_URL.replace("redis+socket://", "unix://")
    return redis.Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5, retry=None)


def _key(question_id: int) -> str:
    return f"{settings.CELERY_BROKER_TRANSPORT_OPTIONS['global_keyprefix']}hint:{question_id}"


def send(question_id: int) -> None:
    """Tell a worker to look at the question; bounded in time, silent in failure."""
    global _paused_until  # noqa: PLW0603 - one switch a process
    if not settings.REDIS_URL or time.monotonic() < _paused_until:
        return
    try:
        if client().set(_key(question_id), 1, nx=True, ex=UNDERWAY_SECONDS):
            # One try: the sweep is the second one, and a rater does not wait for it.
            current_app.send_task(
                "metrics.tasks.count_question", [question_id], ignore_result=True, retry=False
            )
    except Exception as error:  # any: redis, kombu and socket errors have no common base
        _paused_until = time.monotonic() + PAUSE_SECONDS
        logger.warning(
            "no hint for question %s (%s); the sweep will find it",
            question_id,
            type(error).__name__,
        )


def start(task: str, *arguments: int) -> None:
    """Ask a worker for a task that the sweep would find too; bounded in time, silent in failure."""
    global _paused_until  # noqa: PLW0603 - one switch a process
    if not settings.REDIS_URL or time.monotonic() < _paused_until:
        return
    try:
        current_app.send_task(task, list(arguments), ignore_result=True, retry=False)
    except Exception as error:  # any: redis, kombu and socket errors have no common base
        _paused_until = time.monotonic() + PAUSE_SECONDS
        logger.warning(
            "%s%s was not sent (%s); the sweep will find it", task, arguments, type(error).__name__
        )


def forget(question_id: int) -> None:
    """The worker is about to read: from now on new ratings need a new hint."""
    if not settings.REDIS_URL:
        return
    try:
        client().delete(_key(question_id))
    except redis.RedisError as error:
        logger.warning(
            "the hint of question %s was not removed (%s)", question_id, type(error).__name__
        )
