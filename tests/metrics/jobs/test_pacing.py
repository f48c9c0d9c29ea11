"""A question that was just counted pauses, so that raters get the database in between."""

from __future__ import annotations

import pytest

from metrics.jobs import hints


class FakeClock:
    """A clock whose time passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sleep_seconds: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleep_seconds.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake_clock = FakeClock()
    monkeypatch.setattr(hints, "time", fake_clock)
    monkeypatch.setattr(hints, "_last_runs", {})
    return fake_clock


def count_question(clock: FakeClock, question: int, *, seconds: float) -> None:
    hints.wait_for_turn(question)
    started = clock.now
    clock.now += seconds
    hints.record_run(question, started)


def test_first_counting_does_not_wait(clock: FakeClock) -> None:
    count_question(clock, 1, seconds=0.04)
    assert clock.sleep_seconds == []


def test_next_counting_waits_nine_times_as_long_as_the_last_took(clock: FakeClock) -> None:
    count_question(clock, 1, seconds=0.04)
    count_question(clock, 1, seconds=0.04)
    assert clock.sleep_seconds == pytest.approx([0.36])


def test_counting_after_a_pause_does_not_wait(clock: FakeClock) -> None:
    count_question(clock, 1, seconds=0.04)
    clock.now += 0.4
    count_question(clock, 1, seconds=0.04)
    assert clock.sleep_seconds == []


def test_wait_after_long_counting_is_at_most_one_second(clock: FakeClock) -> None:
    count_question(clock, 1, seconds=30)
    count_question(clock, 1, seconds=1)
    assert clock.sleep_seconds == pytest.approx([1.0])


def test_another_question_does_not_wait(clock: FakeClock) -> None:
    count_question(clock, 1, seconds=0.04)
    count_question(clock, 2, seconds=0.04)
    assert clock.sleep_seconds == []
