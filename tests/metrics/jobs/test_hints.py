"""One hint a question is enough, none may be missing for ever, and none may stand in a rater's
way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.db import connection

from agreement_site.celery import app
from core.jobs import dispatch
from metrics import tasks
from metrics.jobs import batch_jobs, hints
from ratings.models import Rating
from tests.faults.brokers import Broker, private_broker

pytestmark = pytest.mark.django_db


@pytest.fixture
def broker(settings: Any) -> Iterator[Broker]:
    with private_broker(settings) as running:
        yield running


def test_a_hundred_ratings_while_a_hint_is_underway_send_one_message(
    broker: Broker, question: Any, rate: Any, django_capture_on_commit_callbacks: Any
) -> None:
    for number in range(100):
        with django_capture_on_commit_callbacks(execute=True) as callbacks:
            rate(question, f"item {number}", "ann", "minor")
        assert callbacks
        connection.run_on_commit.clear()  # as a commit does, which the test has none of
    assert broker.messages() == 1


def test_each_question_has_a_hint_of_its_own(broker: Broker) -> None:
    for question_id in (1, 2, 1, 2):
        hints.send_hint(question_id)
    assert broker.messages() == 2


def test_a_rating_after_the_worker_forgot_the_hint_sends_a_new_one(broker: Broker) -> None:
    hints.send_hint(1)
    hints.clear_hint(1)
    hints.send_hint(1)
    assert broker.messages() == 2


def test_the_worker_forgets_the_hint_before_it_reads(
    broker: Broker, question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rating that is committed after the worker has read must find the way free for its own
    hint."""
    hints.send_hint(question.pk)

    def work(**_besides: Any) -> int:
        hints.send_hint(question.pk)  # a rating's hint while the worker reads
        return 0

    monkeypatch.setattr(batch_jobs, "update_small_questions", work)  # the first that reads
    tasks.count_question(question.pk)
    assert broker.messages() == 2


def test_a_hint_that_was_lost_does_not_silence_its_question_for_ever(broker: Broker) -> None:
    hints.send_hint(1)
    with broker.client() as client:
        (key,) = client.keys("*hint:1")
        assert 0 < client.ttl(key) <= hints.PENDING_SECONDS


def test_a_failed_message_does_not_reach_the_rater(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("no route")

    monkeypatch.setattr(app, "send_task", fail)
    hints.send_hint(1)
    assert broker.messages() == 0


def test_no_hint_is_sent_before_the_commit(
    broker: Broker, question: Any, rate: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=False):
        rate(question, "item", "ann", "minor")
    assert broker.messages() == 0


def test_a_broker_that_is_gone_costs_one_try_in_a_while(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []
    connect = redis.connection.AbstractConnection.connect

    def tried(self: Any) -> Any:
        tries.append(1)
        return connect(self)

    monkeypatch.setattr(redis.connection.AbstractConnection, "connect", tried)
    broker.kill()
    for _number in range(20):
        hints.send_hint(1)
    assert len(tries) == 1
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)  # the pause is over
    broker.start()
    hints.send_hint(1)
    assert broker.messages() == 1


def test_without_a_broker_nothing_is_tried(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.REDIS_URL = ""
    monkeypatch.setattr(
        hints, "get_redis_client", lambda: pytest.fail("there is no broker to speak to")
    )
    hints.send_hint(1)
    hints.clear_hint(1)


def test_forgetting_fails_silently(broker: Broker, question: Any, rate: Any) -> None:
    rate(question, "item", "ann", "minor")
    broker.kill()
    tasks.count_question(question.pk)
    assert not Rating.objects.uncounted().exists()
