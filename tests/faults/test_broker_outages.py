"""Ratings are saved and answered at once, whatever happens to the broker."""

from __future__ import annotations

import concurrent.futures
import socket
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from agreement_site.celery import app
from core.jobs import dispatch, wakeup
from metrics.jobs import hints, question_updates
from projects.models import Item, Rater
from ratings.models import Rating
from ratings.services import record
from tests.faults.brokers import Broker, connect_hints_to

# Real commits: the hint is sent after them.
pytestmark = pytest.mark.django_db(transaction=True)

TIMEOUT_SECONDS = 30.0  # only a call that hangs takes that long


def run_with_timeout(work: Callable[[], Any]) -> Any:
    """Return the result of ``work()``; fail instead of hanging when it hangs."""

    def run() -> Any:
        try:
            return work()
        finally:
            connection.close()

    pool = concurrent.futures.ThreadPoolExecutor(1)
    try:
        return pool.submit(run).result(timeout=TIMEOUT_SECONDS)
    except TimeoutError:
        pytest.fail("it hangs")
    finally:
        pool.shutdown(wait=False)


@pytest.fixture
def post(
    project: Any, lead: Any, api_for: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Return ``post(item)``, which sends a rating through the API and does not wake the workers."""
    monkeypatch.setattr(wakeup, "_announced_at", float("inf"))
    client = api_for(lead)
    Rater.objects.create(project=project, key="bob")

    def send(item: str, label: str = "minor") -> Any:
        Item.objects.get_or_create(project=project, key=item)
        row = {"item": item, "rater": "bob", "label": label}
        return run_with_timeout(
            lambda: client.post(f"/api/v1/projects/{project.pk}/ratings/", row, format="json")
        )

    return send


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets the address of each later attempt to connect to the broker."""
    addresses: list[Any] = []

    class WatchedSocket(socket.socket):
        def connect(self, address: Any) -> None:
            if self.family == socket.AF_UNIX and str(address).endswith("valkey.sock"):
                addresses.append(address)
            return super().connect(address)

    monkeypatch.setattr(socket, "socket", WatchedSocket)
    return addresses


def test_a_rating_is_answered_while_the_broker_is_frozen(
    broker: Broker, post: Any, connections: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert post("first").status_code == 200
    assert broker.count_messages() == 1
    broker.freeze()
    monkeypatch.setattr(wakeup, "_announced_at", -float("inf"))
    connections.clear()
    responses = [post(f"item {number}") for number in range(5)]
    broker.thaw()
    assert [response.status_code for response in responses] == [200] * 5
    assert Rating.objects.count() == 6
    # The open connection of the first rating timed out; the others did not even try.
    assert len(connections) <= 1


def test_broker_frozen_before_the_message_delays_no_rating(
    broker: Broker, post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Celery's own sending has a timeout too, with or without an open connection."""

    class FakeRedis:
        def set(self, *args: Any, **kwargs: Any) -> bool:
            return True

    monkeypatch.setattr(dispatch, "get_redis_client", FakeRedis)
    broker.freeze()
    assert post("no connection yet").status_code == 200
    broker.thaw()
    dispatch._paused_until = 0.0
    assert post("connects").status_code == 200
    assert broker.count_messages() >= 1
    broker.freeze()
    assert post("has a connection").status_code == 200
    broker.thaw()
    assert Rating.objects.count() == 3


def test_rater_waits_at_most_two_seconds_for_the_broker(settings: Any) -> None:
    """Add up the timeouts of one reply to the mark, one connection and one reply to the message.

    The libraries' own timeouts are longer.
    """
    redis_options = dispatch.get_redis_client().connection_pool.connection_kwargs
    celery_options = app.conf.broker_transport_options
    assert (
        redis_options["socket_timeout"]
        + celery_options["socket_connect_timeout"]
        + celery_options["socket_timeout"]
        <= 2
    )
    assert (
        redis_options["socket_connect_timeout"]
        + celery_options["socket_connect_timeout"]
        + celery_options["socket_timeout"]
        <= 2
    )


def test_sending_a_hint_times_out(broker: Broker) -> None:
    """Without timeouts `.delay()` hangs for ever on a frozen broker."""
    broker.freeze()
    with pytest.raises(Exception, match=r"[Tt]im(ed|eout)"):
        run_with_timeout(
            lambda: app.send_task("metrics.tasks.count_question", [1], ignore_result=True)
        )
    broker.thaw()


def test_rating_is_answered_while_the_broker_is_down(broker: Broker, post: Any) -> None:
    broker.kill()
    assert post("gone").status_code == 200
    assert Rating.objects.count() == 1
    assert question_updates.sweep_questions() == 1  # needs no broker
    assert not Rating.objects.uncounted().exists()


def test_rating_is_answered_without_any_listening_broker(settings: Any, post: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings.REDIS_URL = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
    previous_url = app.conf.broker_url
    connect_hints_to(settings.REDIS_URL)
    try:
        assert post("refused").status_code == 200
    finally:
        connect_hints_to(previous_url)
    assert Rating.objects.count() == 1


def test_hints_are_sent_again_after_the_broker_returns(
    broker: Broker, post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert post("before").status_code == 200
    broker.flush()
    broker.kill()
    assert post("while gone").status_code == 200
    broker.start()
    # Sending takes at most half a second, which a busy machine may exceed once.
    for attempt in range(5):
        monkeypatch.setattr(dispatch, "_paused_until", 0.0)  # the pause is over
        assert post(f"after {attempt}").status_code == 200
        if broker.count_messages():
            break
    assert broker.count_messages() == 1


@pytest.mark.parametrize("error", [RuntimeError("a bug"), OSError("no socket"), KeyError("pool")])
def test_error_after_the_commit_does_not_fail_the_rating(
    post: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def listener(question_id: int) -> None:
        raise error

    monkeypatch.setattr(record.RATINGS_CHANGED, "entries", {"listener": listener})
    response = post("saved")
    assert response.status_code == 200
    assert response.json()["created"] == 1
    assert Rating.objects.count() == 1
    assert "a sweep will repeat the work" in caplog.text


def test_commit_hook_sends_hints() -> None:
    assert list(record.RATINGS_CHANGED) == [hints.send_hint]
