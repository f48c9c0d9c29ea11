"""A process may die between any two statements: nothing is half done, and the next try ends
exact."""

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
    CountState,
    PairTally,
    PatternTally,
    PeerTally,
    RaterReading,
    Reading,
    Share,
)
from metrics.results import refresh as readings
from projects.models import Item, Project, Question, Rater
from projects.services.projects import change_project
from projects.services.question_validation import NewCategory
from projects.services.scales import change_categories, change_weights
from ratings.models import NO_CODE, Rating, Revision
from ratings.services import timezone_backfill
from ratings.services.days import day_number
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.faults.crashes import Crash, crash_at
from tests.metrics import invariants
from tests.row_snapshots import rows_of

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
    Reading,
    RaterReading,
    Share,
)
MOST = 300  # statements of one piece of work


def everything() -> dict[str, list[Any]]:
    """All rows of ratings, counts and readings."""
    return rows_of(MODELS)


@pytest.fixture
def ids(question: Any) -> tuple[list[int], list[int]]:
    """Counted ratings, and then changed, withdrawn and new ones on two items and three raters."""
    project = question.project
    items = [
        Item.objects.create(project=project, key=str(number), body={"text": "x"}).pk
        for number in range(3)
    ]
    raters = [Rater.objects.create(project=project, key=str(number)).pk for number in range(3)]
    put(question, [(item, rater, (item + rater) % 4) for item in items[:2] for rater in raters])
    question_updates.sweep_questions()
    put(
        question,
        [(items[0], raters[0], 3), (items[0], raters[1], NO_CODE), (items[2], raters[0], 1)],
    )
    put(question, [(items[2], raters[2], 0)])
    return items, raters


def put(question: Any, rows: list[tuple[int, int, int]]) -> None:
    record_ratings({question: [Judgement(*row) for row in rows]}, by=None, source="api")


def crash_everywhere(work: Callable[[], Any]) -> int:
    """Crash at each statement of ``work`` in turn: each time all is as before. Returns the number
    of statements."""
    before = everything()
    for number in range(MOST):
        try:
            with crash_at(number):
                work()
        except Crash:
            assert everything() == before, f"half done at statement {number}"
        else:
            check_all()
            return number
    pytest.fail("it does not end")


def check_all() -> None:
    question_updates.sweep_questions()
    for question_id in Question.objects.values_list("pk", flat=True):
        invariants.check(question_id)


def test_counting(question: Any, ids: Any) -> None:
    assert crash_everywhere(lambda: question_counting.count_items(question.pk)) > 5


def test_the_first_counting_of_a_question(question: Any, ids: Any) -> None:
    question_updates.reset_counts(question)
    CountState.objects.all().delete()
    assert crash_everywhere(lambda: question_counting.count_items(question.pk)) > 5


def test_opening_a_backlog(question: Any, ids: Any, small_shares: None) -> None:
    assert crash_everywhere(lambda: backlog.open_backlog(question.pk)) > 1


def test_taking_a_share_of_a_backlog(question: Any, ids: Any, small_shares: None) -> None:
    backlog.open_backlog(question.pk)
    assert crash_everywhere(lambda: backlog.claim_range(question.pk)) > 3


@pytest.mark.parametrize("finish", [backlog.save_range, backlog.save_and_claim_next])
def test_finishing_a_share_of_a_backlog(
    question: Any, ids: Any, small_shares: None, finish: Any
) -> None:
    backlog.open_backlog(question.pk)
    share = backlog.claim_range(question.pk)
    assert share is not None
    change = backlog.read_range(share)
    assert crash_everywhere(lambda: finish(share, change)) > 8


def test_readings(question: Any, ids: Any) -> None:
    question_counting.count_items(question.pk)
    assert crash_everywhere(lambda: readings.refresh_results(question.pk)) > 5


def test_readings_put_off(question: Any, ids: Any) -> None:
    question_counting.count_items(question.pk)
    readings.refresh_results(question.pk)
    CountState.objects.update(cumulative_from=0)
    assert crash_everywhere(lambda: readings.finish_cumulative_results(question.pk)) > 3


def test_readings_after_a_change_of_scale(question: Any, ids: Any, lead: Any) -> None:
    change_weights(question=question, weights="linear", matrix=None, by=lead)
    assert crash_everywhere(lambda: readings.refresh_results(question.pk)) > 5


@pytest.mark.parametrize("shares", [False, True])
def test_counting_and_readings(
    question: Any, ids: Any, request: pytest.FixtureRequest, shares: bool
) -> None:
    """Many transactions: what the first ones counted stays, and the sweep does the rest."""
    if shares:
        request.getfixturevalue("small_shares")
    for number in range(0, MOST, 3):
        point = transaction.savepoint()
        try:
            with crash_at(number):
                question_updates.update_question(question.pk)
        except Crash:
            check_all()
            transaction.savepoint_rollback(point)
        else:
            assert number > 10
            return
    pytest.fail("it does not end")


def test_changes_that_take_each_other_back_are_not_waited_for_ever(question: Any) -> None:
    """They move no count, so that no reading is stale; the page must not say "1 not counted yet"
    from then on."""
    item = Item.objects.create(project=question.project, key="item").pk
    rater = Rater.objects.create(project=question.project, key="rater").pk
    put(question, [(item, rater, 1)])
    put(question, [(item, rater, NO_CODE)])
    question_counting.count_items(question.pk)  # the worker dies before it looks at the readings
    assert question_updates.sweep_questions() == 1
    assert CountState.objects.get().unread == 0
    assert question_updates.sweep_questions() == 0


def test_recount(question: Any, ids: Any) -> None:
    assert crash_everywhere(lambda: question_updates.reset_counts(question)) > 5


def test_record(question: Any, ids: Any) -> None:
    items, raters = ids
    rows = [(item, rater, 2) for item in items for rater in raters]

    def work() -> None:
        with transaction.atomic():  # what record raises ends the transaction that it is part of
            put(question, rows)

    assert crash_everywhere(work) >= 3  # on PostgreSQL some go on one journey


def test_change_of_the_time_zone(question: Any, ids: Any, lead: Any) -> None:
    def change() -> None:
        project = Project.objects.get(pk=question.project_id)
        change_project(project=project, by=lead, time_zone="Pacific/Kiritimati")

    assert crash_everywhere(change) > 3


def test_a_step_of_a_move_of_days(
    question: Any, ids: Any, lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ratings of a large project follow its new time zone a few at a time: a step is done whole
    or not at all."""
    evening = datetime.datetime(2026, 3, 1, 22, tzinfo=datetime.UTC)
    east = ZoneInfo("Pacific/Kiritimati")
    Rating.objects.update(rated_at=evening, day=day_number(evening, ZoneInfo("UTC")))
    question_updates.sweep_questions()
    monkeypatch.setattr(timezone_backfill, "RATINGS_PER_STEP", 2)
    change_project(project=question.project, by=lead, time_zone=east.key)
    assert crash_everywhere(lambda: timezone_backfill.run_step(question.project_id)) > 3
    assert Rating.objects.filter(day=day_number(evening, east)).count() == 4
    timezone_backfill.run_pending()
    assert not Rating.objects.exclude(day=day_number(evening, east)).exists()
    check_all()


def test_change_of_the_categories(question: Any, ids: Any, lead: Any) -> None:
    def reverse() -> None:
        categories = [
            (
                category.code,
                NewCategory(category.label, value=category.value, hotkey=category.hotkey),
            )
            for category in reversed(question.active_categories())
        ]
        change_categories(question=question, scale="ordinal", categories=categories, by=lead)

    assert crash_everywhere(reverse) > 3
