"""Start Celery tasks without waiting for the broker.

A message is only a hint to look now: a sweep finds the same work without it, so sending is bounded
in time and its failures are logged, not raised.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from django.conf import settings

from core.telemetry import TASK_MESSAGES_FAILED

if TYPE_CHECKING:
    import redis

logger = logging.getLogger(__name__)

# After a failure nothing is sent for this long, so that a frozen broker slows down few requests.
BROKER_PAUSE_SECONDS = 5

_paused_until = 0.0


@functools.cache
def get_redis_client() -> redis.Redis:
    import redis  # slow to import, and not every process sends messages

    url = settings.REDIS_URL.replace("redis+socket://", "unix://")
    return redis.Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5, retry=None)


def build_broker_key(name: str) -> str:
    """Return the name with this site's prefix: several sites may share a broker."""
    return f"{settings.CELERY_BROKER_TRANSPORT_OPTIONS['global_keyprefix']}{name}"


def mark_pending(name: str, seconds: int) -> bool:
    """Mark a message as pending for some seconds; return True if it was marked already.

    For ``skip_if`` of `start_task`. Raises RedisError if the broker fails.
    """
    return not get_redis_client().set(build_broker_key(name), 1, nx=True, ex=seconds)


def start_task(
    task_name: str, object_id: int, *, skip_if: Callable[[], bool] | None = None
) -> None:
    """Send the task of this name with the id of its row; bounded in time, silent on failure.

    ``skip_if`` returns True when such a message is on its way already. It may use the broker
    too: its failure counts as a failure to send.
    """
    global _paused_until  # noqa: PLW0603 - one switch per process
    if not settings.REDIS_URL or time.monotonic() < _paused_until:
        return
    try:
        if skip_if is not None and skip_if():
            return
        from celery import current_app  # slow to import, as above

        # No retry: the sweep is the second attempt, and no request waits for it.
        current_app.send_task(task_name, [object_id], ignore_result=True, retry=False)
    except Exception as error:  # redis, kombu and socket errors have no common base class
        _paused_until = time.monotonic() + BROKER_PAUSE_SECONDS
        TASK_MESSAGES_FAILED.inc()
        logger.warning(
            "no hint: %s %s was not started (%s); the sweep will find it",
            task_name,
            object_id,
            type(error).__name__,
        )
