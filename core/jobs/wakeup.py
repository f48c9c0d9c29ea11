"""Wake the workers' sweeps after a change, so that they can rest while nothing changes.

A web server sends one message for the changes of a moment. It may be lost: the sweeps also run from
time to time without it (agreement_site.celery).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from celery import shared_task
from django.http import HttpRequest, HttpResponse

from .dispatch import mark_pending, start_task

# At most one message in this time, of each process and of all of them. Workers that were woken
# sweep more often than this for a while, and so find later changes without a message.
MESSAGE_INTERVAL_SECONDS = 2
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

_listeners: list[Callable[[], None]] = []
_announced_at = -float(MESSAGE_INTERVAL_SECONDS)


def announce_change() -> None:
    """Send the workers a message that something may have changed.

    At most one message is sent in MESSAGE_INTERVAL_SECONDS. Never raises; limited in time.
    """
    global _announced_at  # noqa: PLW0603 - one clock per process
    now = time.monotonic()
    if now - _announced_at < MESSAGE_INTERVAL_SECONDS:
        return
    _announced_at = now
    start_task(
        "core.jobs.wakeup.wake_sweeps",
        0,
        skip_if=lambda: mark_pending("wakeup", MESSAGE_INTERVAL_SECONDS),
    )


class WakeWorkersMiddleware:
    """Announce a change after each successful request that is not GET, HEAD or OPTIONS."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.method not in SAFE_METHODS and response.status_code < 400:
            announce_change()
        return response


def register_listener(listener: Callable[[], None]) -> None:
    """Register a function that is called in this process when something may have changed."""
    _listeners.append(listener)


def notify_listeners() -> None:
    """Call the functions that were registered in this process."""
    for listener in _listeners:
        listener()


@shared_task(ignore_result=True)
def wake_sweeps(_unused: int) -> None:
    """Do nothing: when any task ends, its worker's sweeps are woken (agreement_site.celery)."""
