"""Celery tasks and sweeps of events and webhooks.

A lost, duplicated or late message changes nothing: the rows say what is left to do.
"""

from __future__ import annotations

from celery import shared_task

from . import feed
from .webhooks import outbox


@shared_task(ignore_result=True)
def publish_events(_project_id: int) -> None:
    """Publish the committed events of all projects; the task's argument is not used."""
    feed.publish_events()


@shared_task(ignore_result=True)
def deliver_to_webhook(webhook_id: int) -> None:
    """Send the due deliveries of a webhook, unless another worker is sending them."""
    outbox.deliver_to_webhook(webhook_id)


def sweep_events() -> None:
    """Publish the events whose task message was lost."""
    feed.publish_events()


def sweep_deliveries() -> None:
    """Send all due deliveries: those whose task message was lost, and failed ones due again."""
    outbox.deliver_all_due()
