"""Deliveries to a real receiver: signed, once, again after failures, and after a killed worker."""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from agreement_site.models import AuditLogEntry
from core.jobs.outbox import get_retry_time
from events import feed, tasks
from events.models import Delivery, Event, Webhook
from events.services import record_event
from events.webhooks import outbox, services, signing
from projects.models import Item
from tests.database_templates import replace_database_name
from tests.events.webhooks.receivers import Receiver, answer

pytestmark = pytest.mark.django_db

NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)


def publish(project: Any, kind: str = "alert.opened", **data: Any) -> Event:
    with transaction.atomic():
        event = record_event(project_id=project.pk, kind=kind, data=data)
    feed.publish_events()
    return Event.objects.get(pk=event.pk)


def test_event_arrives_once_and_signed(webhook: Webhook, receiver: Receiver, project: Any) -> None:
    event = publish(project, question="severity", n=3)
    tasks.deliver_to_webhook(webhook.pk)
    tasks.deliver_to_webhook(webhook.pk)
    tasks.sweep_deliveries()
    [(message_id, body)] = receiver.messages
    assert message_id == str(event.number)
    assert body == {
        "type": "alert.opened",
        "timestamp": body["timestamp"],
        "data": {"id": event.number, "project": project.pk, "question": "severity", "n": 3},
    }
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts, delivery.next_at) == ("delivered", 1, None)
    assert (delivery.log[0]["status"], delivery.log[0]["answer"]) == (200, "thanks")


def test_signature_is_that_of_the_specification(webhook: Webhook) -> None:
    headers = signing.build_headers(webhook, "17", '{"test": 1}', now=NOW)
    key = base64.b64decode(signing.derive_secret(webhook.nonce).removeprefix("whsec_"))
    signed = f'17.{int(NOW.timestamp())}.{{"test": 1}}'.encode()
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert len(key) == 32
    assert headers["webhook-signature"] == f"v1,{digest}"
    assert headers["webhook-timestamp"] == "1772366400"


def test_both_secrets_are_valid_for_a_day(
    webhook: Webhook, receiver: Receiver, project: Any, lead: Any
) -> None:
    old_secret = receiver.secret
    with time_machine.travel(NOW, tick=False) as clock:
        new_secret = receiver.secret = services.rotate_secret(webhook=webhook, by=lead)
        clock.shift(datetime.timedelta(hours=23))
        publish(project)
        outbox.deliver_to_webhook(webhook.pk)
        Verifier(old_secret).verify(receiver.bodies[0], receiver.headers[0])
        Verifier(new_secret).verify(receiver.bodies[0], receiver.headers[0])
        clock.shift(datetime.timedelta(hours=1))
        publish(project)
        outbox.deliver_to_webhook(webhook.pk)
        with pytest.raises(WebhookVerificationError):
            Verifier(old_secret).verify(receiver.bodies[1], receiver.headers[1])
        Verifier(new_secret).verify(receiver.bodies[1], receiver.headers[1])


def test_old_secret_key_signs_as_long_as_it_is_a_fallback(webhook: Webhook, settings: Any) -> None:
    secret = signing.derive_secret(webhook.nonce)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key " * 5
    headers = signing.build_headers(webhook, "1", "{}", now=timezone.now())
    Verifier(secret).verify("{}", headers)
    Verifier(signing.derive_secret(webhook.nonce)).verify("{}", headers)


def test_webhook_gets_its_kinds_of_its_project(
    receiver: Receiver, project: Any, make_project: Any, lead: Any
) -> None:
    other_project = make_project("Other")
    one_kind_webhook, _secret = services.create_webhook(
        project=project, url=receiver.url, kinds=["item.reviewed"], by=lead
    )
    site, _secret = services.create_webhook(project=None, url=receiver.url, kinds=[], by=lead)
    paused, _secret = services.create_webhook(project=project, url=receiver.url, kinds=[], by=lead)
    services.change_webhook(webhook=paused, by=lead, paused=True)
    for owner in (project, other_project):
        for kind in ("alert.opened", "item.reviewed"):
            publish(owner, kind)
    deliveries = Delivery.objects.values_list("webhook", "event__project", "event__kind")
    assert sorted(deliveries) == sorted(
        [
            (one_kind_webhook.pk, project.pk, "item.reviewed"),
            *(
                (site.pk, owner.pk, kind)
                for owner in (project, other_project)
                for kind in ("alert.opened", "item.reviewed")
            ),
        ]
    )


def test_items_are_sent_only_if_asked_for(
    webhook: Webhook, receiver: Receiver, project: Any, lead: Any
) -> None:
    Item.objects.create(project=project, key="a", body={"text": "Secret words"})
    publish(project, "item.reviewed", items=["a", "gone"])
    outbox.deliver_to_webhook(webhook.pk)
    services.change_webhook(webhook=webhook, by=lead, with_items=True)
    publish(project, "item.reviewed", items=["a", "gone"])
    outbox.deliver_to_webhook(webhook.pk)
    (_id, without), (_other_id, with_items) = receiver.messages
    assert "Secret" not in str(without)
    assert with_items["data"]["bodies"] == {"a": {"text": "Secret words"}}


def test_failures_are_tried_again_by_the_schedule(
    webhook: Webhook, receiver: Receiver, project: Any
) -> None:
    receiver.respond = lambda handler, _body: answer(handler, 500, b"busy")
    delays = []
    with time_machine.travel(NOW, tick=False) as clock:
        publish(project)
        while (delivery := Delivery.objects.get()).next_at is not None:
            delays.append((delivery.next_at - timezone.now()).total_seconds())
            clock.move_to(delivery.next_at - datetime.timedelta(seconds=1))
            assert outbox.deliver_to_webhook(webhook.pk) == 0
            clock.move_to(delivery.next_at)
            assert outbox.deliver_to_webhook(webhook.pk) == 1
        assert (delivery.state, len(receiver.headers)) == ("failed", 8)
        expected = (0, 5, 300, 1800, 7200, 18000, 36000, 50400)
        for delay, shortest in zip(delays, expected, strict=True):
            assert shortest <= delay <= 1.1 * shortest
        assert set(receiver.ids) == {"1"}
        assert Webhook.objects.get().failing_since is not None
        receiver.respond = receiver.accept
        services.resend_delivery(delivery=delivery, by=None)
        assert outbox.deliver_to_webhook(webhook.pk) == 1
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, len(delivery.log)) == ("delivered", 1, 9)
    assert Webhook.objects.get().failing_since is None


@given(attempts=st.integers(1, 20))
def test_retry_times_grow_and_end(attempts: int) -> None:
    time = get_retry_time(outbox.RETRY_DELAYS, attempts, NOW)
    assert (time is None) == (attempts > 7)
    if time is not None and attempts > 1:
        previous = get_retry_time(outbox.RETRY_DELAYS, attempts - 1, NOW)
        assert previous is not None
        assert NOW < previous < time <= NOW + datetime.timedelta(hours=15.4)


def test_gone_ends_the_webhook(webhook: Webhook, receiver: Receiver, project: Any) -> None:
    receiver.respond = lambda handler, _body: answer(handler, 410)
    publish(project)
    publish(project)
    assert outbox.deliver_to_webhook(webhook.pk) == 1
    webhook.refresh_from_db()
    assert webhook.pause_reason == "gone"
    assert list(Delivery.objects.values_list("state", flat=True)) == ["failed", "pending"]
    assert outbox.deliver_all_due() == 0
    feed.publish_events()
    entry = AuditLogEntry.objects.get(action="webhook_paused")
    assert (entry.project_id, entry.actor, entry.details["reason"]) == (project.pk, "", "gone")
    event = Event.objects.get(kind="webhook.paused")
    assert event.data == {"webhook": webhook.pk, "host": "127.0.0.1", "reason": "gone"}


def test_five_days_of_failures_pause_the_webhook(
    webhook: Webhook, receiver: Receiver, project: Any, client_for: Any, lead: Any
) -> None:
    receiver.respond = lambda handler, _body: answer(handler, 503)
    start = timezone.now()
    for days in range(6):
        with time_machine.travel(start + datetime.timedelta(days=days, minutes=1), tick=False):
            publish(project)
            outbox.deliver_all_due()
            webhook.refresh_from_db()
            assert (webhook.pause_reason == "failing") == (days == 5)
    page = client_for(lead).get("/").content.decode()
    assert "1 webhook paused after failures" in page
    services.change_webhook(webhook=webhook, by=lead, paused=False)
    assert "paused after failures" not in client_for(lead).get("/").content.decode()
    webhook.refresh_from_db()
    assert (webhook.failing_since, webhook.pause_reason) == (None, "")


def test_test_and_repetition_of_a_paused_webhook_are_rejected(webhook: Webhook, lead: Any) -> None:
    delivery = services.send_test(webhook=webhook, by=lead)
    webhook = services.change_webhook(webhook=webhook, by=lead, paused=True)
    with pytest.raises(services.InvalidWebhook, match="paused"):
        services.send_test(webhook=webhook, by=lead)
    delivery.refresh_from_db()
    with pytest.raises(services.InvalidWebhook, match="paused"):
        services.resend_delivery(delivery=delivery, by=lead)


def test_worker_that_lost_its_lease_stores_nothing(
    webhook: Webhook, receiver: Receiver, project: Any
) -> None:
    """Another worker takes over while the first one waits for the answer."""
    publish(project)

    real_send = outbox._send_delivery

    def send_slowly(*arguments: Any) -> Any:
        result = real_send(*arguments)
        Webhook.objects.update(lease="another worker")
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outbox, "_send_delivery", send_slowly)
        assert outbox.deliver_to_webhook(webhook.pk) == 1
    assert Delivery.objects.get().log == []
    assert Webhook.objects.get().lease == "another worker"


def test_old_deliveries_are_deleted(webhook: Webhook, project: Any) -> None:
    with time_machine.travel(timezone.now() - datetime.timedelta(days=31)):
        publish(project)
        publish(project)
    Delivery.objects.filter(event__number=1).update(state="delivered", next_at=None)
    assert outbox.delete_old_deliveries() == 1
    assert Delivery.objects.get().event.number == 2  # type: ignore[union-attr]


@pytest.mark.django_db(transaction=True)
def test_event_of_a_killed_worker_is_sent_again_with_its_id(
    webhook: Webhook, receiver: Receiver, project: Any, settings: Any
) -> None:
    """The worker is killed when the receiver has the event, before it can store the answer."""
    publish(project)
    publish(project)
    database = connection.settings_dict
    url = f"sqlite:///{database['NAME']}"
    if connection.vendor == "postgresql":
        url = replace_database_name(os.environ["DATABASE_URL"], database["NAME"])
    code = (
        "import django; django.setup(); from events.webhooks import outbox;"
        f" outbox.deliver_to_webhook({webhook.pk})"
    )
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "agreement_site.settings",
        "SECRET_KEY": settings.SECRET_KEY,
        "WEBHOOKS_TO_PRIVATE_NETWORKS": "1",
    }
    worker: list[int] = []

    def kill_worker(handler: Any, _body: bytes) -> None:
        while not worker:
            pass
        os.kill(worker[0], signal.SIGKILL)

    receiver.respond = kill_worker
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    worker.append(process.pid)
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert (receiver.ids, list(Delivery.objects.values_list("attempts", flat=True))) == (
        ["1"],
        [0, 0],
    )
    receiver.respond = receiver.accept
    assert outbox.deliver_all_due() == 0, "the lease of the dead worker holds"
    with time_machine.travel(timezone.now() + outbox.LEASE + datetime.timedelta(seconds=1)):
        assert outbox.deliver_all_due() == 2
    assert receiver.ids == ["1", "1", "2"]
    assert set(Delivery.objects.values_list("state", flat=True)) == {"delivered"}
