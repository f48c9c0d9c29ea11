"""What a page asks a worker for is computed once, whoever else is asked and whoever dies: the same
for attributions and slices (core.jobs.on_demand)."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.utils import timezone

from core.jobs.on_demand import CLAIM_TIMEOUT, Asked
from metrics.attribution import attribution_jobs
from metrics.filtered import filtered_jobs
from metrics.filters import RatingFilter
from metrics.jobs.question_updates import update_question
from tests.faults.threads import Gate, finish, start

pytestmark = pytest.mark.django_db

SECOND = datetime.timedelta(seconds=1)


@dataclass
class Case:
    """One kind of work, how to ask for a row of it, and a function that computing one calls."""

    work: Any
    ask: Callable[[], Asked]
    part: tuple[Any, str]

    def stored(self) -> Any:
        return self.work.rows.model.objects.get()


@pytest.fixture(params=["attribution", "slice"])
def case(request: pytest.FixtureRequest, question: Any, rate: Any, utc: Any) -> Case:
    """Two raters on four items in two weeks, counted."""
    for number in range(8):
        moment = utc(2026, 5, 5 + 7 * (number % 2), 12)
        label = ("none", "minor")[number % 3 % 2]
        rate(question, f"i{number % 4}", f"r{number // 4}", label, rated_at=moment)
    update_question(question.pk)
    if request.param == "slice":
        wanted = filtered_jobs.FilteredRequest("dashboard", RatingFilter(kind="human"))
        return Case(
            filtered_jobs.FILTERED_RESULT_JOB,
            lambda: filtered_jobs.get_or_request_filtered_result(
                question, wanted, version=question.count_state.version
            ),
            (filtered_jobs.bodies, "made"),
        )
    weeks = {"start_from": datetime.date(2026, 5, 4), "start_to": datetime.date(2026, 5, 11)}
    return Case(
        attribution_jobs.ATTRIBUTION_JOB,
        lambda: attribution_jobs.get_or_request_attribution(
            question, span="week", weights="none", **weeks
        ),
        (attribution_jobs, "attributed"),
    )


@pytest.fixture
def computed(case: Case, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the rows that workers have begun to compute."""
    found: list[int] = []
    module, name = case.part
    whole = getattr(module, name)

    def noted(row: Asked, *rest: Any) -> Any:
        found.append(row.pk)
        return whole(row, *rest)

    monkeypatch.setattr(module, name, noted)
    return found


def test_what_a_worker_has_claimed_another_one_leaves_alone(
    case: Case, computed: list[int]
) -> None:
    row = case.ask()
    assert case.work.claim(row.pk) is not None
    assert case.work.claim(row.pk) is None
    assert case.work.compute(row.pk) is False
    case.work.sweep()
    assert computed == []
    assert case.stored().waiting


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only("threads that compute side by side")
def test_two_workers_that_are_asked_for_the_same_compute_it_once(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = case.ask()
    module, name = case.part
    whole = getattr(module, name)
    gate = Gate()
    begun = []

    def slow(*arguments: Any) -> Any:
        begun.append(1)
        gate.wait()
        return whole(*arguments)

    monkeypatch.setattr(module, name, slow)
    first = start(lambda: case.work.compute(row.pk))
    gate.wait_until_reached()
    assert finish(start(lambda: case.work.compute(row.pk), lambda: case.work.compute(row.pk))) == [
        False,
        False,
    ]
    gate.open()
    assert finish(first) == [True]
    assert begun == [1]
    assert not case.stored().waiting


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only("threads that claim side by side")
def test_of_many_workers_at_the_same_moment_one_claims(case: Case) -> None:
    row = case.ask()
    claims = finish(start(*[lambda: case.work.claim(row.pk)] * 6))
    assert sum(claimed is not None for claimed in claims) == 1


def test_the_claim_of_a_dead_worker_is_taken_over(case: Case, computed: list[int]) -> None:
    row = case.ask()
    dead = case.work.claim(row.pk)
    assert dead.leased_until - timezone.now() > CLAIM_TIMEOUT - 5 * SECOND
    type(row)._default_manager.update(leased_until=timezone.now() - SECOND)
    case.work.sweep()
    assert computed == [row.pk]
    assert not case.stored().waiting


def test_a_worker_that_lost_its_claim_writes_nothing(
    case: Case, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    row = case.ask()
    module, name = case.part
    whole = getattr(module, name)
    heirs = []

    def slow(*arguments: Any) -> Any:
        type(row)._default_manager.update(leased_until=timezone.now() - SECOND)
        heirs.append(case.work.claim(row.pk))
        return whole(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, slow)
        assert case.work.compute(row.pk) is False
    assert "is in other hands now" in caplog.text
    stored = case.stored()
    assert stored.waiting
    assert stored.computed_at is None
    assert stored.lease == heirs[0].lease  # and the heir's claim stands


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_frees_the_claim(
    case: Case, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    row = case.ask()

    def fails(*_arguments: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(*case.part, fails)
        with pytest.raises(error):
            case.work.compute(row.pk)
    assert case.stored().waiting
    assert case.work.compute(row.pk) is True


def test_the_sweep_computes_what_no_hint_reached(case: Case, computed: list[int]) -> None:
    row = case.ask()
    case.work.sweep()
    case.work.sweep()
    assert computed == [row.pk]
    stored = case.stored()
    assert not stored.waiting
    assert stored.lease == ""
    assert stored.leased_until is None


def test_a_row_that_is_behind_waits_when_it_has_rested(case: Case, computed: list[int]) -> None:
    row = case.ask()
    case.work.sweep()
    stored = case.stored()
    assert stored.rests_until - stored.computed_at >= case.work.shortest_rest
    case.work.ask_again(stored, behind=lambda: True)
    assert not case.stored().waiting  # it rests
    type(row)._default_manager.update(rests_until=timezone.now())
    case.work.ask_again(case.stored(), behind=lambda: False)
    assert not case.stored().waiting  # nothing is new
    case.work.ask_again(case.stored(), behind=lambda: True)
    assert case.stored().waiting
    case.work.sweep()
    assert computed == [row.pk, row.pk]


def test_it_rests_ten_times_as_long_as_it_took(case: Case) -> None:
    def rest(**took: int) -> datetime.timedelta:
        return case.work._rest(datetime.timedelta(**took))

    assert rest(seconds=0) == case.work.shortest_rest
    assert rest(seconds=30) == datetime.timedelta(seconds=300)
    assert rest(minutes=5) == datetime.timedelta(minutes=10)


def test_asking_is_noted_once_a_minute(case: Case) -> None:
    before = case.ask().asked_at
    case.ask()
    assert case.stored().asked_at == before
    long_ago = timezone.now() - datetime.timedelta(minutes=2)
    type(case.stored()).objects.update(asked_at=long_ago)
    case.ask()
    assert case.stored().asked_at > long_ago
