"""Messages to workers: one per question is enough, none is lost for ever, and none delays a rater."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.db import connection

from agreement_site.celery import app
from core.jobs import dispatch
from metrics import tasks
from metrics.jobs import hints, question_updates
from ratings.models import Rating
from tests.faults.brokers import Broker

pytestmark = pytest.mark.django_db


def test_many_ratings_send_one_message_while_it_is_pending(
    broker: Broker, question: Any, rate: Any, django_capture_on_commit_callbacks: Any
) -> None:
    for number in range(100):
        with django_capture_on_commit_callbacks(execute=True) as callbacks:
            rate(question, f"item {number}", "ann", "minor")
        assert callbacks
        connection.run_on_commit.clear()  # as a commit would; the test never commits
    assert broker.count_messages() == 1


def test_each_question_has_its_own_message(broker: Broker) -> None:
    for question_id in (1, 2, 1, 2):
        hints.send_hint(question_id)
    assert broker.count_messages() == 2


def test_new_message_is_sent_after_worker_cleared_the_hint(broker: Broker) -> None:
    hints.send_hint(1)
    hints.clear_hint(1)
    hints.send_hint(1)
    assert broker.count_messages() == 2


def test_worker_clears_the_hint_before_it_reads(
    broker: Broker, question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rating that is committed after the worker has read must be able to send its own message."""
    hints.send_hint(question.pk)

    def send_while_reading(**_options: Any) -> int:
        hints.send_hint(question.pk)  # the message of a rating that is saved while the worker reads
        return 0

    monkeypatch.setattr(
        question_updates, "update_small_questions", send_while_reading
    )  # the first function that reads
    tasks.count_question(question.pk)
    assert broker.count_messages() == 2


def test_lost_message_blocks_its_question_for_limited_time(broker: Broker) -> None:
    hints.send_hint(1)
    with broker.connect() as client:
        (key,) = client.keys("*hint:1")
        assert 0 < client.ttl(key) <= hints.PENDING_SECONDS


def test_failed_message_raises_no_error_for_the_rater(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_error(*args: Any, **kwargs: Any) -> None:
        raise OSError("no route")

    monkeypatch.setattr(app, "send_task", raise_error)
    hints.send_hint(1)
    assert broker.count_messages() == 0


def test_no_message_is_sent_before_the_commit(
    broker: Broker, question: Any, rate: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=False):
        rate(question, "item", "ann", "minor")
    assert broker.count_messages() == 0


def test_missing_broker_is_tried_once_per_pause(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []
    original = redis.connection.AbstractConnection.connect

    def record_and_connect(self: Any) -> Any:
        attempts.append(1)
        return original(self)

    monkeypatch.setattr(redis.connection.AbstractConnection, "connect", record_and_connect)
    broker.kill()
    for _number in range(20):
        hints.send_hint(1)
    assert len(attempts) == 1
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)  # the pause is over
    broker.start()
    hints.send_hint(1)
    assert broker.count_messages() == 1


def test_no_connection_is_tried_without_broker(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = ""
    monkeypatch.setattr(
        dispatch, "get_redis_client", lambda: pytest.fail("there is no broker to speak to")
    )
    hints.send_hint(1)
    hints.clear_hint(1)


def test_clearing_a_hint_fails_silently(broker: Broker, question: Any, rate: Any) -> None:
    rate(question, "item", "ann", "minor")
    broker.kill()
    tasks.count_question(question.pk)
    assert not Rating.objects.uncounted().exists()
