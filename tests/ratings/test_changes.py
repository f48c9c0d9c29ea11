"""Every listener is notified once of each changed question, whatever other listeners do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from metrics.jobs import hints
from ratings.services import record

pytestmark = pytest.mark.django_db


@pytest.fixture
def announce_and_commit(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> Callable[..., None]:
    """Return a function that announces changes of questions in one committed transaction.

    No listener is registered yet.
    """
    monkeypatch.setattr(record.RATINGS_CHANGED, "entries", {})

    def announce_in_transaction(*question_ids: int) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            for question_id in question_ids:
                record.RATINGS_CHANGED.notify_on_commit(question_id)

    return announce_in_transaction


def test_two_listeners_are_both_notified(announce_and_commit: Callable[..., None]) -> None:
    first_calls: list[int] = []
    second_calls: list[int] = []
    record.RATINGS_CHANGED.register(first_calls.append)
    record.RATINGS_CHANGED.register(second_calls.append)
    announce_and_commit(1, 2, 1)
    assert first_calls == second_calls == [1, 2]


def test_failing_listener_does_not_stop_other_listeners(
    announce_and_commit: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[int] = []

    def fails(question_id: int) -> None:
        raise RuntimeError("no")

    record.RATINGS_CHANGED.register(fails)
    record.RATINGS_CHANGED.register(calls.append)
    announce_and_commit(7)
    assert calls == [7]
    assert "fails failed on object 7" in caplog.text


def test_listener_registered_twice_is_notified_once(
    announce_and_commit: Callable[..., None],
) -> None:
    calls: list[int] = []

    def listener(question_id: int) -> None:
        calls.append(question_id)

    record.RATINGS_CHANGED.register(listener)
    record.RATINGS_CHANGED.register(listener)
    announce_and_commit(7)
    assert calls == [7]


def test_metrics_hints_are_registered() -> None:
    assert hints.send_hint in record.RATINGS_CHANGED
