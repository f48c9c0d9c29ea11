"""A rater never waits for the broker and never learns that it is in trouble: the rating is on disk
before."""

from __future__ import annotations

import concurrent.futures
import socket
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from agreement_site.celery import app
from core.jobs import dispatch
from metrics.jobs import hints, question_updates
from projects.models import Item, Rater
from ratings import changes
from ratings.models import Rating
from tests.faults.brokers import Broker, connect_to

# Real commits: the hint is sent after them.
pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 30.0  # seconds; only what hangs needs them


def within_bounds(work: Callable[[], Any]) -> Any:
    """What ``work`` gives; fails where it hangs instead of hanging with it."""

    def run() -> Any:
        try:
            return work()
        finally:
            connection.close()

    pool = concurrent.futures.ThreadPoolExecutor(1)
    try:
        return pool.submit(run).result(timeout=PATIENCE)
    except TimeoutError:
        pytest.fail("it hangs")
    finally:
        pool.shutdown(wait=False)


@pytest.fixture
def post(project: Any, lead: Any, api_for: Any) -> Callable[..., Any]:
    """``post(item)``: one rating through the API."""
    client = api_for(lead)
    Rater.objects.create(project=project, key="bob")

    def send(item: str, label: str = "minor") -> Any:
        Item.objects.get_or_create(project=project, key=item)
        row = {"item": item, "rater": "bob", "label": label}
        return within_bounds(
            lambda: client.post(f"/api/v1/projects/{project.pk}/ratings/", row, format="json")
        )

    return send


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Addresses of all connections to a Unix socket that are tried from now on."""
    tried: list[Any] = []

    class Watched(socket.socket):
        def connect(self, address: Any) -> None:
            if self.family == socket.AF_UNIX and str(address).endswith("valkey.sock"):
                tried.append(address)
            return super().connect(address)

    monkeypatch.setattr(socket, "socket", Watched)
    return tried


def test_a_rating_is_answered_while_the_broker_is_frozen(
    broker: Broker, post: Any, connections: list[Any]
) -> None:
    assert post("first").status_code == 200
    assert broker.messages() == 1
    broker.freeze()
    connections.clear()
    answers = [post(f"item {number}") for number in range(5)]
    broker.thaw()
    assert [answer.status_code for answer in answers] == [200] * 5
    assert Rating.objects.count() == 6
    # The open connection of the first rating timed out; the others did not even try.
    assert len(connections) <= 1


def test_a_broker_that_freezes_between_the_mark_and_the_message_holds_up_nobody(
    broker: Broker, post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Celery's own sending is bounded too, whether or not it has a connection already."""

    class Marks:
        def set(self, *args: Any, **kwargs: Any) -> bool:
            return True

    monkeypatch.setattr(hints, "get_redis_client", Marks)
    broker.freeze()
    assert post("no connection yet").status_code == 200
    broker.thaw()
    dispatch._paused_until = 0.0
    assert post("connects").status_code == 200
    assert broker.messages() >= 1
    broker.freeze()
    assert post("has a connection").status_code == 200
    broker.thaw()
    assert Rating.objects.count() == 3


def test_all_that_a_rater_can_wait_for_the_broker_is_two_seconds(settings: Any) -> None:
    """One answer to the mark, then a connection and one answer to the message; the libraries' own
    bounds are longer."""
    mark = hints.get_redis_client().connection_pool.connection_kwargs
    message = app.conf.broker_transport_options
    assert (
        mark["socket_timeout"] + message["socket_connect_timeout"] + message["socket_timeout"] <= 2
    )
    assert (
        mark["socket_connect_timeout"]
        + message["socket_connect_timeout"]
        + message["socket_timeout"]
        <= 2
    )


def test_sending_a_hint_gives_up_by_itself(broker: Broker) -> None:
    """What `.delay()` does without bounds: it hangs for ever on a frozen broker."""
    broker.freeze()
    with pytest.raises(Exception, match=r"[Tt]im(ed|eout)"):
        within_bounds(
            lambda: app.send_task("metrics.tasks.count_question", [1], ignore_result=True)
        )
    broker.thaw()


def test_a_rating_is_answered_while_the_broker_is_gone(broker: Broker, post: Any) -> None:
    broker.kill()
    assert post("gone").status_code == 200
    assert Rating.objects.count() == 1
    assert question_updates.sweep_questions() == 1  # needs no broker
    assert not Rating.objects.uncounted().exists()


def test_a_rating_is_answered_where_nobody_ever_listened(settings: Any, post: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings.REDIS_URL = f"redis://127.0.0.1:{taken.getsockname()[1]}/0"
    before = app.conf.broker_url
    connect_to(settings.REDIS_URL)
    try:
        assert post("refused").status_code == 200
    finally:
        connect_to(before)
    assert Rating.objects.count() == 1


def test_the_broker_comes_back(broker: Broker, post: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert post("before").status_code == 200
    broker.flush()
    broker.kill()
    assert post("while gone").status_code == 200
    broker.start()
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)  # the pause is over
    assert post("after").status_code == 200
    assert broker.messages() == 1


@pytest.mark.parametrize("error", [RuntimeError("a bug"), OSError("no socket"), KeyError("pool")])
def test_whatever_goes_wrong_after_the_commit_the_saved_rating_is_answered(
    post: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def listener(question_id: int) -> None:
        raise error

    monkeypatch.setattr(changes.listeners, "registered", [listener])
    answer = post("saved")
    assert answer.status_code == 200
    assert answer.json()["created"] == 1
    assert Rating.objects.count() == 1
    assert "the sweep will find it" in caplog.text


def test_the_hook_after_the_commit_is_the_real_one() -> None:
    assert changes.listeners.registered == [hints.send_hint]
