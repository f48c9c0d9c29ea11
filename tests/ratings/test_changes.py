"""Whoever listens to changes of ratings hears of each once, whoever else listens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from metrics.jobs import hints
from ratings import changes

pytestmark = pytest.mark.django_db


@pytest.fixture
def announce(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> Callable[..., None]:
    """Announces changes of questions in one transaction that is committed; nobody listens yet."""
    monkeypatch.setattr(changes.listeners, "registered", [])

    def committed(*question_ids: int) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            for question_id in question_ids:
                changes.announce(question_id)

    return committed


def test_two_listeners_both_hear(announce: Callable[..., None]) -> None:
    one: list[int] = []
    other: list[int] = []
    changes.listen(one.append)
    changes.listen(other.append)
    announce(1, 2, 1)
    assert one == other == [1, 2]


def test_a_listener_that_fails_keeps_no_other_from_hearing(
    announce: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[int] = []

    def fails(question_id: int) -> None:
        raise RuntimeError("no")

    changes.listen(fails)
    changes.listen(heard.append)
    announce(7)
    assert heard == [7]
    assert "fails failed on question 7" in caplog.text


def test_a_listener_that_is_registered_twice_hears_once(announce: Callable[..., None]) -> None:
    heard: list[int] = []

    def listener(question_id: int) -> None:
        heard.append(question_id)

    changes.listen(listener)
    changes.listen(listener)
    announce(7)
    assert heard == [7]


def test_the_hints_of_metrics_listen() -> None:
    assert hints.send_hint in changes.listeners.registered
