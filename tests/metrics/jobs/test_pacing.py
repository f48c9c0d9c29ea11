"""A question that was counted just now rests, so that those who rate get the database in
between."""

from __future__ import annotations

import pytest

from metrics.jobs import pacing


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(pacing, "time", made)
    monkeypatch.setattr(pacing, "_last_runs", {})
    return made


def count(clock: Clock, question: int, *, seconds: float) -> None:
    pacing.wait_for_turn(question)
    started = clock.now
    clock.now += seconds
    pacing.record_run(question, started)


def test_first_counting_does_not_wait(clock: Clock) -> None:
    count(clock, 1, seconds=0.04)
    assert clock.slept == []


def test_next_counting_waits_nine_times_as_long_as_the_last_took(clock: Clock) -> None:
    count(clock, 1, seconds=0.04)
    count(clock, 1, seconds=0.04)
    assert clock.slept == pytest.approx([0.36])


def test_after_a_quiet_moment_nothing_waits(clock: Clock) -> None:
    count(clock, 1, seconds=0.04)
    clock.now += 0.4
    count(clock, 1, seconds=0.04)
    assert clock.slept == []


def test_a_long_counting_rests_a_second_at_most(clock: Clock) -> None:
    count(clock, 1, seconds=30)
    count(clock, 1, seconds=1)
    assert clock.slept == pytest.approx([1.0])


def test_another_question_does_not_wait(clock: Clock) -> None:
    count(clock, 1, seconds=0.04)
    count(clock, 2, seconds=0.04)
    assert clock.slept == []
