"""A change wakes the workers' sweeps, which otherwise rest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from celery import current_app

from agreement_site.celery import Pace, Sweeper
from core.jobs import dispatch, wakeup

PATH = "metrics.tasks.sweep_all"


class FakeRedis:
    """The one call that a wake-up makes; it knows the keys that were set."""

    def __init__(self) -> None:
        self.keys: set[str] = set()

    def set(self, key: str, _value: int, **_options: Any) -> bool:
        is_new = key not in self.keys
        self.keys.add(key)
        return is_new


@pytest.fixture
def messages(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the tasks that are sent."""
    sent: list[str] = []
    fake = FakeRedis()
    settings.REDIS_URL = "redis://nowhere"
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)
    monkeypatch.setattr(wakeup, "_announced_at", -100.0)
    monkeypatch.setattr(dispatch, "get_redis_client", lambda: fake)
    monkeypatch.setattr(
        current_app, "send_task", lambda name, *_arguments, **_options: sent.append(name)
    )
    return sent


@pytest.mark.django_db
def test_one_message_for_the_changes_of_a_moment(
    messages: list[str], lead: Any, project: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_for(lead)
    messages.clear()
    monkeypatch.setattr(wakeup, "_announced_at", -100.0)
    address = f"/projects/{project.pk}/views/"
    client.get(address)
    client.post(address, {"page": "dashboard", "name": "", "query": ""})  # refused: no name
    assert messages == []
    for name in ("first", "second"):
        client.post(address, {"page": "dashboard", "name": name, "query": ""})
    assert messages == ["core.jobs.wakeup.wake_sweeps"]
    monkeypatch.setattr(wakeup, "_announced_at", -100.0)  # another process, at the same time
    client.post(address, {"page": "dashboard", "name": "third", "query": ""})
    assert messages == ["core.jobs.wakeup.wake_sweeps"]


@pytest.fixture
def start_waiting(monkeypatch: pytest.MonkeyPatch) -> Callable[[Sweeper], threading.Thread]:
    """Return a function that waits for a sweep that is due in some hours, in a thread."""
    monkeypatch.setattr(Sweeper, "SWEEPS", {PATH: Pace(0.001, 3600.0)})
    monkeypatch.setattr(Sweeper, "AWAKE_SECONDS", 0.0)

    def start(sweeper: Sweeper) -> threading.Thread:
        results: list[bool] = []
        thread = threading.Thread(
            target=lambda: results.append(sweeper.wait(PATH, 1.0)), daemon=True
        )
        thread.results = results  # type: ignore[attr-defined]
        thread.start()
        return thread

    return start


def test_a_change_ends_the_rest(start_waiting: Callable[[Sweeper], Any]) -> None:
    sweeper = Sweeper(None)
    thread = start_waiting(sweeper)
    thread.join(0.2)
    assert thread.is_alive()
    sweeper.wake()
    thread.join(30)
    assert thread.results == [True]


def test_a_change_during_a_sweep_is_followed_by_another(
    start_waiting: Callable[[Sweeper], Any],
) -> None:
    sweeper = Sweeper(None)
    sweeper.wake()
    thread = start_waiting(sweeper)
    thread.join(30)
    assert thread.results == [True]


def test_the_end_of_the_worker_ends_the_rest(start_waiting: Callable[[Sweeper], Any]) -> None:
    sweeper = Sweeper(None)
    thread = start_waiting(sweeper)
    sweeper.stop(None)
    thread.join(30)
    assert thread.results == [False]
