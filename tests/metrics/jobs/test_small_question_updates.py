"""Small questions are counted in batches, with the same numbers as if each were counted separately."""

from __future__ import annotations

import datetime
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F, Max

from metrics import tasks
from metrics.counting import small_question_counting as counting
from metrics.integrity.audit import audit_question
from metrics.jobs import question_updates
from metrics.models import CountState, Result
from metrics.results import refresh
from projects.models import Project, Rater
from ratings.models import NO_CODE, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.metrics import invariants
from tests.tools.full_run import choose_number

pytestmark = pytest.mark.django_db

FIRST = datetime.datetime(2026, 2, 20, 5, tzinfo=datetime.UTC)


@pytest.fixture
def questions(make_project: Any) -> list[Any]:
    """Create four questions of one scale, the last with another label, and one of another scale."""
    created = [make_project().questions.get() for _number in range(5)]
    category = created[3].categories.order_by("code")[0]
    category.label = "nothing at all"
    category.save()
    highest_category = created[4].categories.order_by("code").last()
    highest_category.value = 9.0
    highest_category.save()
    for question in created:
        for number in range(4):
            question.project.items.create(key=f"i{number}", body={})
        Rater.objects.bulk_create(
            Rater(project=question.project, key=f"r{number}") for number in range(3)
        )
    return created


def rate_randomly(question: Any, rng: random.Random, number: int) -> None:
    items = list(question.project.items.order_by("pk").values_list("pk", flat=True))
    raters = list(question.project.raters.order_by("pk").values_list("pk", flat=True))
    codes = list(question.categories.values_list("code", flat=True))
    for _attempt in range(number):
        code = NO_CODE if rng.random() < 0.2 else rng.choice(codes)
        random_time = FIRST + datetime.timedelta(days=rng.randrange(100))
        rated_at = None if code == NO_CODE else random_time
        judgement = Judgement(rng.choice(items), rng.choice(raters), code, rated_at=rated_at)
        record_ratings({question: [judgement]}, by=None, source="api")


def forbid_single_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every later attempt to count a single question fail."""

    def raise_error(question_id: int) -> Any:
        raise AssertionError(f"question {question_id} was taken by itself")

    monkeypatch.setattr(question_updates.question_counting, "count_items", raise_error)


@pytest.mark.parametrize("seed", range(choose_number(1, full=3)))
def test_any_history_is_counted_exactly_in_one_pass(
    questions: list[Any], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    forbid_single_counting(monkeypatch)
    for size in (12, 1, 6):
        for question in questions:
            rate_randomly(question, rng, size)
        assert question_updates.update_small_questions(excluded=set()) == len(questions)
        for question in questions:
            invariants.check(question.pk)
            refresh.recompute_deferred_cumulative_results(question.pk)
        assert question_updates.update_small_questions(excluded=set()) == 0
    categories = Result.objects.get(question=questions[3], period_unit="all").details["categories"]
    assert categories[0]["label"] == "nothing at all"


def test_question_unfit_for_batch_is_counted_separately(questions: list[Any]) -> None:
    rng = random.Random(7)
    for question in questions:
        rate_randomly(question, rng, 8)
    Rater.objects.filter(project=questions[0].project, key="r1").update(kind=Rater.Kind.MODEL)
    CountState.objects.create(question=questions[1], unrefreshed=1)
    assert question_updates.update_small_questions(excluded=set()) == 3
    assert question_updates.sweep_questions() == 2
    for question in questions[1:]:
        invariants.check(question.pk)
    assert CountState.objects.get(pk=questions[0].pk).separates_models
    assert not audit_question(questions[0].pk).differences


def test_failed_batch_changes_nothing_and_questions_are_counted_singly(
    questions: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for question in questions:
        rate_randomly(question, random.Random(1), 5)
    monkeypatch.setattr(counting, "mark_ratings_counted", lambda *args: 1 / 0)
    assert question_updates.sweep_questions() == len(questions)
    assert "in a batch failed" in caplog.text
    assert not Rating.objects.uncounted().exists()
    for question in questions:
        invariants.check(question.pk)


def test_questions_that_another_worker_has_counted_take_no_place_in_the_batch(
    questions: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for question in questions:
        rate_randomly(question, random.Random(3), 5)
    monkeypatch.setattr(question_updates, "QUESTIONS_AT_ONCE", 2)
    listed_before = counting.list_small_uncounted_questions(set())
    assert question_updates.update_small_questions(excluded=set()) == 2
    monkeypatch.setattr(counting, "list_small_uncounted_questions", lambda skip: listed_before)
    assert question_updates.update_small_questions(excluded=set()) == 2
    assert Rating.objects.uncounted().values("question").distinct().count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only("batches of two workers side by side")
def test_batch_leaves_other_questions_to_another_worker(questions: list[Any]) -> None:
    for question in questions:
        rate_randomly(question, random.Random(4), 5)
    ids = [question.pk for question in questions]
    counting.create_missing_states(ids)
    Project.objects.update(items_and_raters_version=F("items_and_raters_version") + 1)

    def update() -> int:
        try:
            return question_updates.update_small_questions(excluded=set())
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other_worker:
        with transaction.atomic():
            assert len(counting.lock_states_of_small_questions(ids, 2)) == 2
            assert other_worker.submit(update).result(timeout=20) == 3
        assert other_worker.submit(update).result(timeout=20) == 2
    assert not Rating.objects.uncounted().exists()


def test_one_message_counts_all_pending_questions(
    questions: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_single_counting(monkeypatch)
    for question in questions:
        rate_randomly(question, random.Random(2), 5)
    calls: list[bool] = []
    original = tasks.leases.get_question_ids_being_written

    def call_and_record() -> set[int]:
        calls.append(True)
        return original()

    monkeypatch.setattr(tasks.leases, "get_question_ids_being_written", call_and_record)
    tasks.count_question(questions[2].pk)
    assert calls == [True]
    assert not Rating.objects.uncounted().exists()
    tasks.count_question(questions[3].pk)  # its own message finds no work


def test_change_of_old_day_is_complete_after_second_message(
    questions: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    question = questions[0]
    monkeypatch.setattr(refresh, "MAX_CUMULATIVE_DAYS", 0)
    sent: list[int] = []
    monkeypatch.setattr(tasks.hints, "send_hint", sent.append)
    rate_randomly(question, random.Random(3), 40)
    question_updates.sweep_questions()
    current_ratings = Rating.objects.filter(question=question, code__gt=NO_CODE)
    days = current_ratings.values_list("item").annotate(day=Max("day")).order_by("day")
    row = current_ratings.filter(item=days[0][0])[0]
    judgement = Judgement(row.item_id, row.rater_id, (row.code + 1) % 2)
    record_ratings({question: [judgement]}, by=None, source="api")
    tasks.count_question(question.pk)
    assert CountState.objects.get(pk=question.pk).cumulative_from is not None
    assert sent == [question.pk]
    tasks.count_question(question.pk)
    invariants.check(question.pk)
    assert sent == [question.pk]
    assert not question_updates.list_pending_questions()
