"""Small questions are counted and read together, and every number is as if each had been counted by
itself."""

from __future__ import annotations

import datetime
import random
from typing import Any

import pytest
from django.db.models import Max

from metrics import tasks
from metrics.counting import batch_counting as counting
from metrics.integrity.audit import audit_question
from metrics.jobs import batch_jobs, question_updates
from metrics.models import CountState, Reading
from metrics.results import refresh as readings
from projects.models import Rater
from ratings.models import NO_CODE, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.metrics import invariants

pytestmark = pytest.mark.django_db

FIRST = datetime.datetime(2026, 2, 20, 5, tzinfo=datetime.UTC)


@pytest.fixture
def questions(make_project: Any) -> list[Any]:
    """Four of one scale, the last with other words, and one of another scale."""
    found = [make_project().questions.get() for _number in range(5)]
    word = found[3].categories.order_by("code")[0]
    word.label = "nothing at all"
    word.save()
    last = found[4].categories.order_by("code").last()
    last.value = 9.0
    last.save()
    for question in found:
        for number in range(4):
            question.project.items.create(key=f"i{number}", body={})
        Rater.objects.bulk_create(
            Rater(project=question.project, key=f"r{number}") for number in range(3)
        )
    return found


def rate_by_chance(question: Any, chance: random.Random, number: int) -> None:
    items = list(question.project.items.order_by("pk").values_list("pk", flat=True))
    raters = list(question.project.raters.order_by("pk").values_list("pk", flat=True))
    codes = list(question.categories.values_list("code", flat=True))
    for _time in range(number):
        code = NO_CODE if chance.random() < 0.2 else chance.choice(codes)
        at = FIRST + datetime.timedelta(days=chance.randrange(100))
        rated_at = None if code == NO_CODE else at
        new = Judgement(chance.choice(items), chance.choice(raters), code, rated_at=rated_at)
        record_ratings({question: [new]}, by=None, source="api")


def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever asks for one question from here on fails."""

    def refuse(question_id: int) -> Any:
        raise AssertionError(f"question {question_id} was taken by itself")

    monkeypatch.setattr(question_updates.question_counting, "count_items", refuse)


@pytest.mark.parametrize("seed", range(3))
def test_any_history_is_counted_exactly_in_one_pass(
    questions: list[Any], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    alone(monkeypatch)
    for size in (12, 1, 6):
        for question in questions:
            rate_by_chance(question, chance, size)
        assert batch_jobs.update_small_questions(excluded=set()) == len(questions)
        for question in questions:
            invariants.check(question.pk)
            readings.finish_cumulative_results(question.pk)
        assert batch_jobs.update_small_questions(excluded=set()) == 0
    words = Reading.objects.get(question=questions[3], span="all").details["categories"]
    assert words[0]["label"] == "nothing at all"


def test_what_is_not_plain_is_counted_by_itself(questions: list[Any]) -> None:
    chance = random.Random(7)
    for question in questions:
        rate_by_chance(question, chance, 8)
    Rater.objects.filter(project=questions[0].project, key="r1").update(kind=Rater.Kind.MODEL)
    CountState.objects.create(question=questions[1], unread=1)
    assert batch_jobs.update_small_questions(excluded=set()) == 3
    assert question_updates.sweep_questions() == 2
    for question in questions[1:]:
        invariants.check(question.pk)
    assert CountState.objects.get(pk=questions[0].pk).apart
    assert not audit_question(questions[0].pk).differences


def test_a_failure_changes_nothing_and_each_is_counted_by_itself(
    questions: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for question in questions:
        rate_by_chance(question, random.Random(1), 5)
    monkeypatch.setattr(counting, "mark_counted", lambda *args: 1 / 0)
    assert question_updates.sweep_questions() == len(questions)
    assert "together failed" in caplog.text
    assert not Rating.objects.uncounted().exists()
    for question in questions:
        invariants.check(question.pk)


def test_a_hint_takes_those_along_that_wait_beside_it(
    questions: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone(monkeypatch)
    for question in questions:
        rate_by_chance(question, random.Random(2), 5)
    asked: list[bool] = []
    being_filled = tasks.leases.get_question_ids_being_written

    def ask() -> set[int]:
        asked.append(True)
        return being_filled()

    monkeypatch.setattr(tasks.leases, "get_question_ids_being_written", ask)
    tasks.count_question(questions[2].pk)
    assert asked == [True]
    assert not Rating.objects.uncounted().exists()
    tasks.count_question(questions[3].pk)  # its own hint finds nothing


def test_a_change_of_an_old_day_is_final_by_the_second_hint(
    questions: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    question = questions[0]
    monkeypatch.setattr(readings, "MAX_CUMULATIVE_DAYS", 0)
    sent: list[int] = []
    monkeypatch.setattr(tasks.hints, "send_hint", sent.append)
    rate_by_chance(question, random.Random(3), 40)
    question_updates.sweep_questions()
    standing = Rating.objects.filter(question=question, code__gt=NO_CODE)
    days = standing.values_list("item").annotate(day=Max("day")).order_by("day")
    row = standing.filter(item=days[0][0])[0]
    new = Judgement(row.item_id, row.rater_id, (row.code + 1) % 2)
    record_ratings({question: [new]}, by=None, source="api")
    tasks.count_question(question.pk)
    assert CountState.objects.get(pk=question.pk).cumulative_from is not None
    assert sent == [question.pk]
    tasks.count_question(question.pk)
    invariants.check(question.pk)
    assert sent == [question.pk]
    assert not question_updates.list_pending_questions()
