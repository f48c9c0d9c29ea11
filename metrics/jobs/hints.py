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

import redis
from django.conf import settings

from core.jobs.dispatch import start_task

logger = logging.getLogger(__name__)

UNDERWAY_SECONDS = 10  # after this a hint counts as lost


@functools.cache
def client() -> redis.Redis:
    url = settings.REDIS_URL.replace("redis+socket://", "unix://")
    return redis.Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5, retry=None)


def _key(question_id: int) -> str:
    return f"{settings.CELERY_BROKER_TRANSPORT_OPTIONS['global_keyprefix']}hint:{question_id}"


def send(question_id: int) -> None:
    """Tell a worker to look at the question; bounded in time, silent in failure."""
    start_task(
        "metrics.tasks.count_question", question_id, unless=lambda: _is_underway(question_id)
    )


def _is_underway(question_id: int) -> bool:
    """Whether a hint is under way; if not, one is from now on. Raises what the broker raises."""
    return not client().set(_key(question_id), 1, nx=True, ex=UNDERWAY_SECONDS)


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
