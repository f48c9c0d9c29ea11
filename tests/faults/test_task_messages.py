"""Task messages that arrive twice, late, in any order or never change no result."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

import core.jobs.wakeup  # noqa: F401 - registers its task, as the sweeps of a worker do
from agreement_site.celery import Sweeper, app
from metrics import change_attribution, reports
from metrics import tasks as counting_tasks
from metrics.filtered import filtered_jobs
from metrics.filters import RatingFilter
from metrics.models import (
    Attribution,
    CountState,
    FilteredResult,
    PairTally,
    PatternTally,
    PeerTally,
    RaterResult,
    Report,
    Result,
)
from projects.models import Item, Rater
from quality import tasks as quality_tasks
from quality.gates import verdict_jobs
from quality.models import Gate, GateVerdict
from ratings import tasks as rating_tasks
from ratings.models import ImportRun, Rating, Revision
from tests.cast import rate_many
from tests.metrics import invariants
from tests.ratings.imports.wizard_client import WizardClient

pytestmark = pytest.mark.django_db

MODELS = (
    Item,
    Rater,
    Rating,
    Revision,
    CountState,
    PatternTally,
    PairTally,
    PeerTally,
    Result,
    RaterResult,
    ImportRun,
)
app.loader.import_default_modules()
OWN_TASKS = {name for name in app.tasks if not name.startswith("celery.")}


def take_snapshot() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in MODELS]


def test_messages_are_acknowledged_early() -> None:
    """With late acknowledgement a broker restart ends the worker and repeats tasks.

    See docs/decisions/early-acknowledgement.md.
    """
    assert app.conf.task_acks_late is False
    assert not any(
        app.tasks[name].acks_late or app.tasks[name].reject_on_worker_lost for name in OWN_TASKS
    )


def test_tasks_use_no_result_backend_and_no_pickle() -> None:
    assert app.conf.result_backend in (None, "disabled://")
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"
    assert all(app.tasks[name].ignore_result for name in OWN_TASKS)


def test_worker_never_stops_reconnecting_to_its_broker() -> None:
    assert app.conf.broker_connection_max_retries is None
    assert app.conf.broker_connection_retry_on_startup


def test_stdout_is_not_split_into_log_records() -> None:
    """A worker without memory wrote a thousand records, one of them only "^"."""
    assert app.conf.worker_redirect_stdouts is False
    assert app.conf.worker_hijack_root_logger is False


def test_every_task_is_covered_here() -> None:
    names = ("count_question", "compute_attribution", "compute_filtered_result", "compute_report")
    metrics_tasks = {f"metrics.tasks.{name}" for name in names}
    other_tasks = {"ratings.tasks.run_import", "core.jobs.wakeup.wake_sweeps"}
    event_tasks = {"events.tasks.publish_events", "events.tasks.deliver_to_webhook"}
    gate_tasks = {"quality.tasks.compute_gate_verdict"}
    own_tests = {"ratings.tasks.pull_connection", "ratings.tasks.run_export"}  # tests/ratings
    assert metrics_tasks | other_tasks | event_tasks | gate_tasks | own_tests == OWN_TASKS


def test_sweeps_do_the_work_of_lost_messages() -> None:
    sweeps = {"resume_stalled", "sweep_connections"}
    assert set(Sweeper.SWEEPS) >= {"metrics.tasks.sweep_all"} | {
        f"ratings.tasks.{name}" for name in sweeps
    }


def test_a_count_delivered_three_times_changes_nothing(question: Any) -> None:
    """As after a broker that was silent for longer than the visibility time-out."""
    rate_many(
        question,
        (
            (f"item {number % 4}", f"rater {number % 3}", ("none", "minor")[number % 2])
            for number in range(12)
        ),
    )
    counting_tasks.count_question(question.pk)
    invariants.check(question.pk)
    before = take_snapshot()
    version = CountState.objects.get(question=question).version
    for _time in range(2):
        counting_tasks.count_question(question.pk)
    assert take_snapshot() == before
    assert CountState.objects.get(question=question).version == version


def test_count_of_a_deleted_question_does_nothing() -> None:
    counting_tasks.count_question(2**40)


def test_an_import_delivered_three_times_changes_nothing(
    project: Any, lead: Any, client_for: Any
) -> None:
    wizard = WizardClient(client_for(lead), project)
    run = wizard.import_file(b"item,rater,label\na,r1,none\na,r2,minor\nb,r1,major\n")
    assert run.state == "done"
    before = take_snapshot()
    for _time in range(2):
        rating_tasks.run_import(run.pk)
    rating_tasks.resume_stalled()
    assert take_snapshot() == before


def test_an_attribution_delivered_three_times_changes_nothing(
    question: Any, rate: Any, utc: Any
) -> None:
    for number in range(24):
        rated_at = utc(2026, 3, 2 + 7 * (number % 2), 12)
        rate(
            question,
            f"item {number % 8}",
            f"rater {number % 3}",
            ("none", "minor")[number % 5 % 2],
            rated_at=rated_at,
        )
    counting_tasks.sweep_all()
    weeks = {"earlier_start": datetime.date(2026, 3, 2), "later_start": datetime.date(2026, 3, 9)}
    row = change_attribution.get_or_request_attribution(
        question, period_unit="week", weights="none", **weeks
    )
    counting_tasks.compute_attribution(row.pk)
    before = list(Attribution.objects.values())
    assert not before[0]["pending"]
    for _time in range(2):
        counting_tasks.compute_attribution(row.pk)
    change_attribution.ATTRIBUTION_JOB.sweep()
    assert list(Attribution.objects.values()) == before


def test_attribution_with_a_lost_message_is_done_by_the_sweep(question: Any, rate: Any) -> None:
    rate(question, "item", "rater", "minor")
    weeks = {"earlier_start": datetime.date(2026, 3, 2), "later_start": datetime.date(2026, 3, 9)}
    row = change_attribution.get_or_request_attribution(
        question, period_unit="week", weights="none", **weeks
    )
    counting_tasks.sweep_all()
    row.refresh_from_db()
    assert not row.pending


def test_filtered_result_delivered_three_times_changes_nothing(question: Any) -> None:
    rate_many(
        question,
        (
            (f"item {number % 4}", f"rater {number % 3}", ("none", "minor")[number % 2])
            for number in range(12)
        ),
    )
    counting_tasks.sweep_all()
    row = filtered_jobs.get_or_request_filtered_result(
        question, filtered_jobs.FilteredRequest("dashboard", RatingFilter(kind="human")), version=1
    )
    counting_tasks.compute_filtered_result(row.pk)
    before = list(FilteredResult.objects.values())
    assert not before[0]["pending"]
    for _time in range(2):
        counting_tasks.compute_filtered_result(row.pk)
    counting_tasks.compute_filtered_result(2**40)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert list(FilteredResult.objects.values()) == before


def test_a_report_delivered_three_times_changes_nothing(
    question: Any, rate: Any, lead: Any
) -> None:
    rate(question, "item", "rater", "minor")
    row = reports.get_or_request_report(question, as_of=None, by=lead)
    counting_tasks.compute_report(row.pk)
    before = list(Report.objects.values())
    assert not before[0]["pending"]
    for _time in range(2):
        counting_tasks.compute_report(row.pk)
    counting_tasks.compute_report(2**40)
    reports.REPORT_JOB.sweep()
    assert list(Report.objects.values()) == before


def test_a_gate_verdict_delivered_three_times_changes_nothing(
    question: Any, rate: Any, monkeypatch: Any
) -> None:
    rate(question, "item", "rater", "minor")
    gate = Gate.objects.create(
        project=question.project,
        question=question,
        name="release",
        rules=[{"measure": "coverage", "at_least": 0.5}],
        created_at=timezone.now(),
        changed_at=timezone.now(),
    )
    monkeypatch.setattr(verdict_jobs, "MAX_IMMEDIATE_RATINGS", 0)
    assert verdict_jobs.get_or_request_verdict(gate, None) is None
    (row,) = GateVerdict.objects.all()
    quality_tasks.compute_gate_verdict(row.pk)
    row.refresh_from_db()
    assert row.document is not None
    assert row.document["verdict"] == "fail"
    before = list(GateVerdict.objects.values())
    for _time in range(2):
        quality_tasks.compute_gate_verdict(row.pk)
    quality_tasks.compute_gate_verdict(2**40)
    verdict_jobs.VERDICT_JOB.sweep()
    assert list(GateVerdict.objects.values()) == before


def test_any_number_of_workers_may_run_the_sweeps(question: Any, rate: Any) -> None:
    rate(question, "item", "rater", "minor")
    assert counting_tasks.sweep_all() == 1
    before = take_snapshot()
    assert counting_tasks.sweep_all() == 0
    assert take_snapshot() == before
