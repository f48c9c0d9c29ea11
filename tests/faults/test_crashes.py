"""A process may die between any two statements: nothing is half done, and a retry is exact."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import transaction

from metrics.counting import backlog, question_counting
from metrics.jobs import question_updates
from metrics.models import (
    BacklogRange,
    CountState,
    PairTally,
    PatternTally,
    PeerTally,
    RaterResult,
    Result,
)
from metrics.results import refresh
from projects.models import Item, Project, Question, Rater
from projects.services.projects import change_project
from projects.services.question_validation import NewCategory
from projects.services.questions import change_categories, change_weights
from ratings.models import NO_CODE, Rating, Revision
from ratings.services import project_changes
from ratings.services.judgement import Judgement
from ratings.services.rating_timestamps import day_number
from ratings.services.record import record_ratings
from tests.faults.crashes import SimulatedCrash, crash_at
from tests.metrics import invariants
from tests.row_snapshots import list_rows

pytestmark = pytest.mark.django_db

MODELS = (
    Rating,
    Revision,
    Item,
    Question,
    CountState,
    PatternTally,
    PairTally,
    PeerTally,
    Result,
    RaterResult,
    BacklogRange,
)
MAX_STATEMENTS = 300  # statements of one piece of work


def take_snapshot() -> dict[str, list[Any]]:
    """Return all rows of ratings, counts and results."""
    return list_rows(MODELS)


@pytest.fixture
def ids(question: Any) -> tuple[list[int], list[int]]:
    """Return the ids of three items and of three raters, with ratings.

    Some are counted, and some were changed or added since.
    """
    project = question.project
    items = [
        Item.objects.create(project=project, key=str(number), body={"text": "x"}).pk
        for number in range(3)
    ]
    raters = [Rater.objects.create(project=project, key=str(number)).pk for number in range(3)]
    save_ratings(
        question, [(item, rater, (item + rater) % 4) for item in items[:2] for rater in raters]
    )
    question_updates.sweep_questions()
    save_ratings(
        question,
        [(items[0], raters[0], 3), (items[0], raters[1], NO_CODE), (items[2], raters[0], 1)],
    )
    save_ratings(question, [(items[2], raters[2], 0)])
    return items, raters


def save_ratings(question: Any, rows: list[tuple[int, int, int]]) -> None:
    record_ratings({question: [Judgement(*row) for row in rows]}, by=None, source="api")


def crash_at_each_statement(work: Callable[[], Any]) -> int:
    """Crash at each statement of ``work`` in turn and check that nothing has changed.

    Return the number of statements.
    """
    before = take_snapshot()
    for number in range(MAX_STATEMENTS):
        try:
            with crash_at(number):
                work()
        except SimulatedCrash:
            assert take_snapshot() == before, f"half done at statement {number}"
        else:
            check_all_counts()
            return number
    pytest.fail("it does not end")


def check_all_counts() -> None:
    question_updates.sweep_questions()
    for question_id in Question.objects.values_list("pk", flat=True):
        invariants.check(question_id)


def test_counting_is_atomic(question: Any, ids: Any) -> None:
    assert crash_at_each_statement(lambda: question_counting.count_items(question.pk)) > 5


def test_first_counting_of_a_question_is_atomic(question: Any, ids: Any) -> None:
    question_updates.delete_counts_and_results(question)
    CountState.objects.all().delete()
    assert crash_at_each_statement(lambda: question_counting.count_items(question.pk)) > 5


def test_opening_a_backlog_is_atomic(question: Any, ids: Any, small_batches: None) -> None:
    assert crash_at_each_statement(lambda: backlog.start_backlog(question.pk)) > 1


def test_claiming_a_share_of_a_backlog_is_atomic(
    question: Any, ids: Any, small_batches: None
) -> None:
    backlog.start_backlog(question.pk)
    assert crash_at_each_statement(lambda: backlog.claim_range(question.pk)) > 3


@pytest.mark.parametrize("finish", [backlog.add_counts_of_range, backlog.save_and_claim_next])
def test_finishing_a_share_of_a_backlog_is_atomic(
    question: Any, ids: Any, small_batches: None, finish: Any
) -> None:
    backlog.start_backlog(question.pk)
    share = backlog.claim_range(question.pk)
    assert share is not None
    change = backlog.tally_range(share)
    assert crash_at_each_statement(lambda: finish(share, change)) > 8


def test_refreshing_results_is_atomic(question: Any, ids: Any) -> None:
    question_counting.count_items(question.pk)
    assert crash_at_each_statement(lambda: refresh.refresh_results(question.pk)) > 5


def test_finishing_deferred_results_is_atomic(question: Any, ids: Any) -> None:
    question_counting.count_items(question.pk)
    refresh.refresh_results(question.pk)
    CountState.objects.update(cumulative_from=0)
    assert (
        crash_at_each_statement(lambda: refresh.recompute_deferred_cumulative_results(question.pk))
        > 3
    )


def test_refreshing_results_after_a_scale_change_is_atomic(
    question: Any, ids: Any, lead: Any
) -> None:
    change_weights(question=question, weights="linear", matrix=None, by=lead)
    assert crash_at_each_statement(lambda: refresh.refresh_results(question.pk)) > 5


@pytest.mark.parametrize("shares", [False, True])
def test_counting_and_results_recover_after_a_crash(
    question: Any, ids: Any, request: pytest.FixtureRequest, shares: bool
) -> None:
    """Many transactions: what the first ones counted is kept, and the sweep does the rest."""
    if shares:
        request.getfixturevalue("small_batches")
    for number in range(0, MAX_STATEMENTS, 3):
        savepoint = transaction.savepoint()
        try:
            with crash_at(number):
                question_updates.update_question(question.pk)
        except SimulatedCrash:
            check_all_counts()
            transaction.savepoint_rollback(savepoint)
        else:
            assert number > 10
            return
    pytest.fail("it does not end")


def test_changes_that_cancel_out_do_not_stay_uncounted(question: Any) -> None:
    """They change no count, so no result is stale; the page must show no uncounted rating."""
    item = Item.objects.create(project=question.project, key="item").pk
    rater = Rater.objects.create(project=question.project, key="rater").pk
    save_ratings(question, [(item, rater, 1)])
    save_ratings(question, [(item, rater, NO_CODE)])
    question_counting.count_items(question.pk)  # the worker dies before it refreshes the results
    assert question_updates.sweep_questions() == 1
    assert CountState.objects.get().unrefreshed == 0
    assert question_updates.sweep_questions() == 0


def test_recount_is_atomic(question: Any, ids: Any) -> None:
    assert crash_at_each_statement(lambda: question_updates.delete_counts_and_results(question)) > 5


def test_recording_ratings_is_atomic(question: Any, ids: Any) -> None:
    items, raters = ids
    rows = [(item, rater, 2) for item in items for rater in raters]

    def work() -> None:
        with transaction.atomic():  # an error ends the surrounding transaction
            save_ratings(question, rows)

    assert crash_at_each_statement(work) >= 3  # on PostgreSQL some statements share a round trip


def test_time_zone_change_is_atomic(question: Any, ids: Any, lead: Any) -> None:
    def change() -> None:
        project = Project.objects.get(pk=question.project_id)
        change_project(project=project, by=lead, time_zone="Pacific/Kiritimati")

    assert crash_at_each_statement(change) > 3


def test_time_zone_backfill_step_is_atomic(
    question: Any, ids: Any, lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ratings follow the project's new time zone in steps, each done fully or not at all."""
    evening = datetime.datetime(2026, 3, 1, 22, tzinfo=datetime.UTC)
    new_zone = ZoneInfo("Pacific/Kiritimati")
    Rating.objects.update(rated_at=evening, day=day_number(evening, ZoneInfo("UTC")))
    question_updates.sweep_questions()
    monkeypatch.setattr(project_changes, "RATINGS_PER_STEP", 2)
    change_project(project=question.project, by=lead, time_zone=new_zone.key)
    assert (
        crash_at_each_statement(lambda: project_changes.run_backfill_step(question.project_id)) > 3
    )
    assert Rating.objects.filter(day=day_number(evening, new_zone)).count() == 4
    project_changes.run_pending_backfills()
    assert not Rating.objects.exclude(day=day_number(evening, new_zone)).exists()
    check_all_counts()


def test_category_change_is_atomic(question: Any, ids: Any, lead: Any) -> None:
    def reverse() -> None:
        categories = [
            (
                category.code,
                NewCategory(category.label, value=category.value, hotkey=category.hotkey),
            )
            for category in reversed(question.active_categories())
        ]
        change_categories(question=question, scale="ordinal", categories=categories, by=lead)

    assert crash_at_each_statement(reverse) > 3
