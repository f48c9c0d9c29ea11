"""A task is started or it is not; the caller never waits long and never fails."""

from __future__ import annotations

from typing import Any

import pytest
from celery import current_app

from core.jobs import dispatch
from core.jobs.dispatch import start_task


@pytest.fixture
def sent_messages(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[int]]]:
    """The messages given to a broker that accepts everything."""
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)
    messages: list[tuple[str, list[int]]] = []

    def send(name: str, arguments: list[int], **_options: Any) -> None:
        messages.append((name, arguments))

    monkeypatch.setattr(current_app, "send_task", send)
    return messages


def test_a_task_is_started_by_its_name(sent_messages: list[Any]) -> None:
    start_task("rooms.tasks.work", 7)
    assert sent_messages == [("rooms.tasks.work", [7])]


def test_pending_task_is_not_started_again(sent_messages: list[Any]) -> None:
    start_task("rooms.tasks.work", 7, skip_if=lambda: True)
    start_task("rooms.tasks.work", 8, skip_if=lambda: False)
    assert sent_messages == [("rooms.tasks.work", [8])]


def test_failure_is_logged_and_followed_by_a_pause(
    sent_messages: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def raise_connection_error() -> bool:
        raise ConnectionError("no broker")

    start_task("rooms.tasks.work", 7, skip_if=raise_connection_error)
    assert "rooms.tasks.work 7 was not started (ConnectionError)" in caplog.text
    start_task("rooms.tasks.work", 8)
    assert sent_messages == []
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)  # the pause is over
    start_task("rooms.tasks.work", 9)
    assert sent_messages == [("rooms.tasks.work", [9])]


def test_without_a_broker_nothing_is_tried(sent_messages: list[Any], settings: Any) -> None:
    settings.REDIS_URL = ""
    start_task("rooms.tasks.work", 7, skip_if=lambda: pytest.fail("there is nobody to ask"))
    assert sent_messages == []
