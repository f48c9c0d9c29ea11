"""Messages come twice, late, in any order or never: each task is written so that this changes
nothing."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from agreement_site.celery import Sweeper, app
from metrics import tasks as counting_tasks
from metrics.attribution import attribution_jobs
from metrics.filtered import filtered_jobs
from metrics.filters import RatingFilter
from metrics.models import (
    Attribution,
    CountState,
    PairTally,
    PatternTally,
    PeerTally,
    RaterReading,
    Reading,
    Report,
    Slice,
)
from metrics.reports import report_jobs
from projects.models import Item, Rater
from ratings import tasks as rating_tasks
from ratings.models import ImportRun, Rating, Revision
from tests.metrics import invariants
from tests.ratings.imports.wizard_client import Wizard

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
    Reading,
    RaterReading,
    ImportRun,
)
OWN = {name for name in app.tasks if not name.startswith("celery.")}


def everything() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in MODELS]


def test_messages_are_acknowledged_early() -> None:
    """Late acknowledgement would end the worker when the broker restarts, and hand tasks out twice
    (decision 3)."""
    assert app.conf.task_acks_late is False
    assert not any(
        app.tasks[name].acks_late or app.tasks[name].reject_on_worker_lost for name in OWN
    )


def test_nothing_rests_on_results_or_pickles() -> None:
    assert app.conf.result_backend in (None, "disabled://")
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"
    assert all(app.tasks[name].ignore_result for name in OWN)


def test_a_worker_never_gives_up_looking_for_its_broker() -> None:
    assert app.conf.broker_connection_max_retries is None
    assert app.conf.broker_connection_retry_on_startup


def test_what_python_prints_is_not_cut_into_records() -> None:
    """Of a worker without memory there were a thousand, one of them "^"."""
    assert app.conf.worker_redirect_stdouts is False
    assert app.conf.worker_hijack_root_logger is False


def test_every_task_is_tried_here() -> None:
    names = ("count_question", "attribute_move", "compute_slice", "compute_report")
    counting = {f"metrics.tasks.{name}" for name in names}
    assert counting | {"ratings.tasks.run_import"} == OWN


def test_what_a_lost_message_would_have_done_is_swept_for() -> None:
    assert set(Sweeper.SWEEPS) >= {"metrics.tasks.sweep_all", "ratings.tasks.resume_stalled"}


def test_a_count_delivered_three_times_changes_nothing(question: Any, rate: Any) -> None:
    """As after a broker that was silent for longer than the visibility time-out."""
    for number in range(12):
        rate(question, f"item {number % 4}", f"rater {number % 3}", ("none", "minor")[number % 2])
    counting_tasks.count_question(question.pk)
    invariants.check(question.pk)
    before = everything()
    version = CountState.objects.get(question=question).version
    for _time in range(2):
        counting_tasks.count_question(question.pk)
    assert everything() == before
    assert CountState.objects.get(question=question).version == version


def test_a_count_of_a_question_that_is_gone_does_nothing() -> None:
    counting_tasks.count_question(2**40)


def test_an_import_delivered_three_times_changes_nothing(
    project: Any, lead: Any, client_for: Any
) -> None:
    wizard = Wizard(client_for(lead), project)
    run = wizard.all(b"item,rater,label\na,r1,none\na,r2,minor\nb,r1,major\n")
    assert run.state == "done"
    before = everything()
    for _time in range(2):
        rating_tasks.run_import(run.pk)
    rating_tasks.resume_stalled()
    assert everything() == before


def test_an_attribution_delivered_three_times_changes_nothing(
    question: Any, rate: Any, utc: Any
) -> None:
    for number in range(24):
        moment = utc(2026, 3, 2 + 7 * (number % 2), 12)
        rate(
            question,
            f"item {number % 8}",
            f"rater {number % 3}",
            ("none", "minor")[number % 5 % 2],
            rated_at=moment,
        )
    counting_tasks.sweep_all()
    weeks = {"start_from": datetime.date(2026, 3, 2), "start_to": datetime.date(2026, 3, 9)}
    row = attribution_jobs.get_or_request_attribution(
        question, span="week", weights="none", **weeks
    )
    counting_tasks.attribute_move(row.pk)
    before = list(Attribution.objects.values())
    assert not before[0]["waiting"]
    for _time in range(2):
        counting_tasks.attribute_move(row.pk)
    attribution_jobs.ATTRIBUTION_JOB.sweep()
    assert list(Attribution.objects.values()) == before


def test_an_attribution_whose_message_is_lost_is_swept_for(question: Any, rate: Any) -> None:
    rate(question, "item", "rater", "minor")
    weeks = {"start_from": datetime.date(2026, 3, 2), "start_to": datetime.date(2026, 3, 9)}
    row = attribution_jobs.get_or_request_attribution(
        question, span="week", weights="none", **weeks
    )
    counting_tasks.sweep_all()
    row.refresh_from_db()
    assert not row.waiting


def test_a_slice_delivered_three_times_changes_nothing(question: Any, rate: Any) -> None:
    for number in range(12):
        rate(question, f"item {number % 4}", f"rater {number % 3}", ("none", "minor")[number % 2])
    counting_tasks.sweep_all()
    row = filtered_jobs.get_or_request_filtered_result(
        question, filtered_jobs.FilteredRequest("dashboard", RatingFilter(kind="human")), version=1
    )
    counting_tasks.compute_slice(row.pk)
    before = list(Slice.objects.values())
    assert not before[0]["waiting"]
    for _time in range(2):
        counting_tasks.compute_slice(row.pk)
    counting_tasks.compute_slice(2**40)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert list(Slice.objects.values()) == before


def test_a_report_delivered_three_times_changes_nothing(
    question: Any, rate: Any, lead: Any
) -> None:
    rate(question, "item", "rater", "minor")
    row = report_jobs.get_or_request_report(question, as_of=None, by=lead)
    counting_tasks.compute_report(row.pk)
    before = list(Report.objects.values())
    assert not before[0]["waiting"]
    for _time in range(2):
        counting_tasks.compute_report(row.pk)
    counting_tasks.compute_report(2**40)
    report_jobs.REPORT_JOB.sweep()
    assert list(Report.objects.values()) == before


def test_sweeps_may_be_run_by_any_number_of_workers(question: Any, rate: Any) -> None:
    rate(question, "item", "rater", "minor")
    assert counting_tasks.sweep_all() == 1
    before = everything()
    assert counting_tasks.sweep_all() == 0
    assert everything() == before
