"""The outbox: deliveries are rows, created with the number of their event, sent by workers.

A worker claims a webhook, sends what is due, and stores each answer under its lease. If it is
killed or loses the connection before it has the answer, an event that was accepted is sent again,
with the same webhook-id.
"""

from __future__ import annotations

import datetime
import json
import logging
import time
from collections.abc import Sequence
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from core.jobs.lease import LeaseLost, claim_row, get_leased_rows, release_lease
from core.jobs.outbox import delete_old_rows, get_retry_time
from events.models import Delivery, Event, Webhook
from projects.models import Item

from . import chat, http_client, services, signing
from .http_client import Answer

logger = logging.getLogger(__name__)

State = Delivery.State
# Pauses after a failed attempt; after the last one there is no further attempt.
RETRY_DELAYS = tuple(
    datetime.timedelta(seconds=seconds)
    for seconds in (5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600)
)
FAILING_LIMIT = datetime.timedelta(days=5)
GONE = 410
# A worker sends to a webhook for this long, then others have their turn. The lease is longer by
# more than one request takes.
RUN_SECONDS = 20.0
LEASE = datetime.timedelta(seconds=60)
MAX_ANSWER_CHARACTERS = 2_000  # stored of each answer
MAX_LOG_LENGTH = 50  # attempts in the log of a delivery


def create_deliveries(events: Sequence[Event]) -> None:
    """Create the deliveries of new events to the webhooks that selected their kinds.

    Paused webhooks get none. Call it in the transaction that publishes the events.
    """
    webhooks = list(Webhook.objects.filter(paused_at=None))
    now = timezone.now()
    rows = [
        Delivery(webhook=webhook, event=event, next_at=now, created_at=now)
        for webhook in webhooks
        for event in events
        if webhook.project_id in (None, event.project_id)
        and (not webhook.kinds or event.kind in webhook.kinds)
    ]
    Delivery.objects.bulk_create(rows, batch_size=500)
    # Only the sweep sends to failing webhooks, so that their timeouts do not occupy the workers
    # that count ratings.
    for webhook in {row.webhook for row in rows}:
        if webhook.failing_since is None:
            services.start_delivery_on_commit(webhook)


def deliver_all_due() -> int:
    """Send the due deliveries of every webhook; return the number of requests."""
    due = Delivery.objects.filter(
        state=State.PENDING, next_at__lte=timezone.now(), webhook__paused_at=None
    )
    n_sent = 0
    for webhook_id in sorted(set(due.order_by().values_list("webhook", flat=True))):
        try:
            n_sent += deliver_to_webhook(webhook_id)
        except Exception:
            logger.exception("webhook %s failed; the next sweep tries again", webhook_id)
    return n_sent


def deliver_to_webhook(webhook_id: int) -> int:
    """Send the due deliveries of a webhook, the oldest first, until one request fails.

    Returns the number of requests; 0 while another worker is sending.
    """
    webhook = claim_row(
        Webhook.objects.all(),
        webhook_id,
        Q(paused_at=None),
        leased_until=timezone.now() + LEASE,
    )
    if webhook is None:
        return 0
    n_sent, started = 0, time.monotonic()
    try:
        while time.monotonic() - started < RUN_SECONDS:
            due = Delivery.objects.filter(
                webhook=webhook, state=State.PENDING, next_at__lte=timezone.now()
            )
            delivery = due.select_related("event__project").order_by("next_at", "pk").first()
            if delivery is None:
                break
            n_sent += 1
            answer = _send_delivery(webhook, delivery)
            webhook = _store_answer(webhook, delivery, answer)
            if not answer.is_success or webhook.is_paused:
                break
    except LeaseLost:
        logger.info("webhook %s was claimed by another worker", webhook_id)
    finally:
        release_lease(webhook)
    return n_sent


def _send_delivery(webhook: Webhook, delivery: Delivery) -> Answer:
    if webhook.is_chat:
        request = chat.build_request(webhook, delivery.event, now=timezone.now())
        answer = http_client.post(request.url, request.body, request.headers)
        return chat.interpret_answer(webhook, answer)
    body = json.dumps(build_body(webhook, delivery), cls=DjangoJSONEncoder, ensure_ascii=False)
    headers = signing.build_headers(webhook, delivery.message_id, body, now=timezone.now())
    return http_client.post(webhook.url, body.encode(), headers)


def build_body(webhook: Webhook, delivery: Delivery) -> dict[str, Any]:
    """Return the JSON object to send: the event's type, time and data.

    With ``with_items`` it includes the bodies of the items that the event names. A delivery without
    an event is a test.
    """
    event = delivery.event
    if event is None:
        return {
            "type": "webhook.test",
            "timestamp": delivery.created_at,
            "data": {"id": None, "project": webhook.project_id},
        }
    data = {"id": event.number, "project": event.project_id, **event.data}
    if webhook.with_items and "items" in event.data:
        items = Item.objects.filter(project=event.project_id, key__in=event.data["items"])
        data["bodies"] = dict(items.values_list("key", "body"))
    return {"type": event.kind, "timestamp": event.at, "data": data}


@transaction.atomic
def _store_answer(webhook: Webhook, delivery: Delivery, answer: Answer) -> Webhook:
    """Store an answer and the resulting states; return the updated webhook.

    Raises LeaseLost, without changes, if another worker has claimed the webhook.
    """
    locked = get_leased_rows(webhook).select_for_update().first()
    if locked is None:
        raise LeaseLost
    now = timezone.now()
    delivery.attempts += 1
    entry = {
        "at": now.isoformat(),
        "status": answer.status,
        "error": answer.error,
        "answer": answer.text[:MAX_ANSWER_CHARACTERS],
        "seconds": round(answer.seconds, 3),
    }
    delivery.log = [*delivery.log, entry][-MAX_LOG_LENGTH:]
    if answer.is_success:
        delivery.state, delivery.next_at = State.DELIVERED, None
    else:
        retry_at = get_retry_time(RETRY_DELAYS, delivery.attempts, now)
        delivery.next_at = None if answer.status == GONE else retry_at
        delivery.state = State.FAILED if delivery.next_at is None else State.PENDING
    delivery.save(update_fields=["attempts", "log", "state", "next_at"])
    _update_failing_state(locked, answer, now)
    return locked


def _update_failing_state(webhook: Webhook, answer: Answer, now: datetime.datetime) -> None:
    """Store since when the webhook fails, None if it works; pause it after FAILING_LIMIT.

    It is paused at once if its address answers that it is gone (410).
    """
    failing_since = None if answer.is_success else webhook.failing_since or now
    if failing_since != webhook.failing_since:
        webhook.failing_since = failing_since
        webhook.save(update_fields=["failing_since"])
    if failing_since is None or webhook.is_paused:
        return
    if answer.status == GONE:
        services.pause_webhook(webhook, Webhook.PauseReason.GONE)
    elif now - failing_since >= FAILING_LIMIT:
        services.pause_webhook(webhook, Webhook.PauseReason.FAILING)


def delete_old_deliveries() -> int:
    """Delete ended deliveries that were created more than 30 days ago; return how many."""
    ended = Delivery.objects.exclude(state=State.PENDING)
    return delete_old_rows(ended, column="created_at")
