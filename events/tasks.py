"""Celery tasks and sweeps of events and webhooks.

A lost, duplicated or late message changes nothing: the rows say what is left to do.
"""

from __future__ import annotations

from celery import shared_task

from . import feed
from .webhooks import outbox


@shared_task(ignore_result=True)
def publish(project_id: int) -> None:
    """Give the new events their places in the feed; of all projects, whichever had one."""
    feed.publish_events()


@shared_task(ignore_result=True)
def deliver(webhook_id: int) -> None:
    """Send what is due to a webhook, unless another worker is doing it."""
    outbox.deliver(webhook_id)


def sweep() -> None:
    """Publish what no message reached."""
    feed.publish_events()


def sweep_webhooks() -> None:
    """Send what no message reached, and what failed before."""
    outbox.deliver_due()
