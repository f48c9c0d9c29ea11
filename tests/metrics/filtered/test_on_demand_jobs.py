"""Work that a page requests from a worker is computed once, whoever else requests it or crashes.

The same holds for attributions and filtered results (core.jobs.on_demand).
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.utils import timezone

from core.jobs.on_demand import CLAIM_TIMEOUT, OnDemandResult
from metrics import change_attribution
from metrics.filtered import filtered_jobs
from metrics.filters import RatingFilter
from metrics.jobs.question_updates import update_question
from tests.faults.threads import Gate, start_threads, wait_for_results

pytestmark = pytest.mark.django_db

SECOND = datetime.timedelta(seconds=1)


@dataclass
class JobCase:
    """One kind of job, a function that requests a row, and the function that computes one."""

    job: Any
    request_row: Callable[[], OnDemandResult]
    computation: tuple[Any, str]

    def load_row(self) -> Any:
        return self.job.rows.model.objects.get()


@pytest.fixture(params=["attribution", "slice"])
def case(request: pytest.FixtureRequest, question: Any, rate: Any, utc: Any) -> JobCase:
    """Return a case on counted ratings of two raters on four items in two weeks."""
    for number in range(8):
        moment = utc(2026, 5, 5 + 7 * (number % 2), 12)
        label = ("none", "minor")[number % 3 % 2]
        rate(question, f"i{number % 4}", f"r{number // 4}", label, rated_at=moment)
    update_question(question.pk)
    if request.param == "slice":
        filtered_request = filtered_jobs.FilteredRequest("dashboard", RatingFilter(kind="human"))
        return JobCase(
            filtered_jobs.FILTERED_RESULT_JOB,
            lambda: filtered_jobs.get_or_request_filtered_result(
                question, filtered_request, version=question.count_state.version
            ),
            (filtered_jobs, "compute_body"),
        )
    weeks = {"earlier_start": datetime.date(2026, 5, 4), "later_start": datetime.date(2026, 5, 11)}
    return JobCase(
        change_attribution.ATTRIBUTION_JOB,
        lambda: change_attribution.get_or_request_attribution(
            question, period_unit="week", weights="none", **weeks
        ),
        (change_attribution, "compute_attribution"),
    )


@pytest.fixture
def computed_ids(case: JobCase, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the ids of the rows that workers have begun to compute."""
    row_ids: list[int] = []
    module, name = case.computation
    original = getattr(module, name)

    def compute_and_record(row: OnDemandResult, *arguments: Any) -> Any:
        row_ids.append(row.pk)
        return original(row, *arguments)

    monkeypatch.setattr(module, name, compute_and_record)
    return row_ids


def test_claimed_row_is_left_to_its_worker(case: JobCase, computed_ids: list[int]) -> None:
    row = case.request_row()
    assert case.job.claim(row.pk) is not None
    assert case.job.claim(row.pk) is None
    assert case.job.compute(row.pk) is False
    case.job.sweep()
    assert computed_ids == []
    assert case.load_row().pending


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only("threads that compute side by side")
def test_two_workers_compute_the_same_row_once(
    case: JobCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = case.request_row()
    module, name = case.computation
    original = getattr(module, name)
    gate = Gate()
    starts = []

    def compute_slowly(*arguments: Any) -> Any:
        starts.append(1)
        gate.wait()
        return original(*arguments)

    monkeypatch.setattr(module, name, compute_slowly)
    first = start_threads(lambda: case.job.compute(row.pk))
    gate.wait_until_reached()
    assert wait_for_results(
        start_threads(lambda: case.job.compute(row.pk), lambda: case.job.compute(row.pk))
    ) == [
        False,
        False,
    ]
    gate.open()
    assert wait_for_results(first) == [True]
    assert starts == [1]
    assert not case.load_row().pending


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only("threads that claim side by side")
def test_only_one_of_many_workers_claims_a_row(case: JobCase) -> None:
    row = case.request_row()
    claims = wait_for_results(start_threads(*[lambda: case.job.claim(row.pk)] * 6))
    assert sum(claim is not None for claim in claims) == 1


def test_expired_claim_is_taken_over(case: JobCase, computed_ids: list[int]) -> None:
    row = case.request_row()
    expired_claim = case.job.claim(row.pk)
    assert expired_claim.leased_until - timezone.now() > CLAIM_TIMEOUT - 5 * SECOND
    type(row)._default_manager.update(leased_until=timezone.now() - SECOND)
    case.job.sweep()
    assert computed_ids == [row.pk]
    assert not case.load_row().pending


def test_worker_without_claim_writes_nothing(
    case: JobCase, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    row = case.request_row()
    module, name = case.computation
    original = getattr(module, name)
    new_claims = []

    def compute_slowly(*arguments: Any) -> Any:
        type(row)._default_manager.update(leased_until=timezone.now() - SECOND)
        new_claims.append(case.job.claim(row.pk))
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, compute_slowly)
        assert case.job.compute(row.pk) is False
    assert "is in other hands now" in caplog.text
    stored_row = case.load_row()
    assert stored_row.pending
    assert stored_row.computed_at is None
    assert stored_row.lease == new_claims[0].lease  # the claim of the other worker is still valid


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_failure_releases_the_claim(
    case: JobCase, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    row = case.request_row()

    def raise_error(*_arguments: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(*case.computation, raise_error)
        with pytest.raises(error):
            case.job.compute(row.pk)
    assert case.load_row().pending
    assert case.job.compute(row.pk) is True


def test_sweep_computes_row_without_message(case: JobCase, computed_ids: list[int]) -> None:
    row = case.request_row()
    case.job.sweep()
    case.job.sweep()
    assert computed_ids == [row.pk]
    stored_row = case.load_row()
    assert not stored_row.pending
    assert stored_row.lease == ""
    assert stored_row.leased_until is None


def test_outdated_row_is_pending_after_cooldown(case: JobCase, computed_ids: list[int]) -> None:
    row = case.request_row()
    case.job.sweep()
    stored_row = case.load_row()
    assert stored_row.paused_until - stored_row.computed_at >= case.job.min_cooldown
    case.job.request_refresh(stored_row, is_stale=lambda: True)
    assert not case.load_row().pending  # the cooldown lasts
    type(row)._default_manager.update(paused_until=timezone.now())
    case.job.request_refresh(case.load_row(), is_stale=lambda: False)
    assert not case.load_row().pending  # nothing has changed
    case.job.request_refresh(case.load_row(), is_stale=lambda: True)
    assert case.load_row().pending
    case.job.sweep()
    assert computed_ids == [row.pk, row.pk]


def test_cooldown_is_ten_times_the_duration(case: JobCase) -> None:
    def get_cooldown(**duration: int) -> datetime.timedelta:
        return case.job._get_cooldown(datetime.timedelta(**duration))

    assert get_cooldown(seconds=0) == case.job.min_cooldown
    assert get_cooldown(seconds=30) == datetime.timedelta(seconds=300)
    assert get_cooldown(minutes=5) == datetime.timedelta(minutes=10)


def test_request_time_is_updated_once_a_minute(case: JobCase) -> None:
    requested_at = case.request_row().requested_at
    case.request_row()
    assert case.load_row().requested_at == requested_at
    long_ago = timezone.now() - datetime.timedelta(minutes=2)
    type(case.load_row()).objects.update(requested_at=long_ago)
    case.request_row()
    assert case.load_row().requested_at > long_ago
