"""A task is started or it is not; whoever starts it never waits long and never fails."""

from __future__ import annotations

from typing import Any

import pytest

from core.jobs import dispatch
from core.jobs.dispatch import start_task


@pytest.fixture
def sent(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[int]]]:
    """What was given to a broker that takes everything."""
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)
    messages: list[tuple[str, list[int]]] = []

    def send(name: str, arguments: list[int], **_options: Any) -> None:
        messages.append((name, arguments))

    monkeypatch.setattr(dispatch.current_app, "send_task", send)
    return messages


def test_a_task_is_started_by_its_name(sent: list[Any]) -> None:
    start_task("rooms.tasks.work", 7)
    assert sent == [("rooms.tasks.work", [7])]


def test_what_is_under_way_is_not_started_again(sent: list[Any]) -> None:
    start_task("rooms.tasks.work", 7, skip_if=lambda: True)
    start_task("rooms.tasks.work", 8, skip_if=lambda: False)
    assert sent == [("rooms.tasks.work", [8])]


def test_a_failure_is_silent_and_followed_by_a_pause(
    sent: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails() -> bool:
        raise ConnectionError("no broker")

    start_task("rooms.tasks.work", 7, skip_if=fails)
    assert "rooms.tasks.work 7 was not started (ConnectionError)" in caplog.text
    start_task("rooms.tasks.work", 8)
    assert sent == []
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)  # the pause is over
    start_task("rooms.tasks.work", 9)
    assert sent == [("rooms.tasks.work", [9])]


def test_without_a_broker_nothing_is_tried(sent: list[Any], settings: Any) -> None:
    settings.REDIS_URL = ""
    start_task("rooms.tasks.work", 7, skip_if=lambda: pytest.fail("there is nobody to ask"))
    assert sent == []
