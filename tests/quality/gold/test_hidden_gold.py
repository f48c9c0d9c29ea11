"""Test that answers to hidden gold are scored like gold ratings and excluded from agreement."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from metrics.jobs import question_updates
from metrics.models import CountState, Result
from projects.models import Item, Question, Rater
from projects.services.gold import set_gold_answer
from quality import tasks
from quality.gold import recomputation
from quality.models import GoldItem, GoldScore, GoldState
from ratings.models import Assignment, CheckAnswer
from tests.ratings.annotation.test_rate import submit

pytestmark = pytest.mark.django_db


@pytest.fixture
def hidden_gold_items(rated_question: Question) -> list[Item]:
    """Five new items with gold that were assigned to ann as hidden gold."""
    ann = Rater.objects.get(key="ann")
    items = []
    for number in range(5):
        body = {"text": f"gold {number}"}
        item = Item.objects.create(project=rated_question.project, key=f"g{number}", body=body)
        set_gold_answer(item=item, question=rated_question, answer=[1], by=None)
        until = timezone.now() + datetime.timedelta(minutes=30)
        Assignment.objects.create(item=item, rater=ann, kind="gold", leased_until=until)
        items.append(item)
    return items


def test_hidden_gold_answers_are_scored_but_not_in_results(
    rated_question: Question,
    hidden_gold_items: list[Item],
    client_for: Any,
    annotator: Any,
    lead: Any,
    rate: Any,
) -> None:
    def list_results() -> list[Any]:
        return list(Result.objects.order_by("pk").values_list("coefficients", "headline"))

    before = list_results()
    project = rated_question.project
    tasks.sweep_gold_and_repeats()
    assert not GoldScore.objects.exists()
    desk: Client = client_for(annotator)
    for item, code in zip(hidden_gold_items, (1, 1, 1, 2, 1), strict=True):
        assert submit(desk, project, item, rated_question, code).status_code == 302
    question_updates.update_question(rated_question.pk)
    assert list_results() == before
    assert rated_question.pk in recomputation.list_outdated_questions()
    recomputation.recompute_question(rated_question.pk, at_once=True)
    assert rated_question.pk not in recomputation.list_outdated_questions()
    score = GoldScore.objects.get()
    assert (score.rater.key, score.n, score.right) == ("ann", 5, 4)
    assert score.table[1][1] == 4 and score.table[2][1] == 1
    assert GoldState.objects.get().n_check_answers == GoldState.objects.get().n_answers == 5
    assert list(GoldItem.objects.values_list("exposures", flat=True)) == [1] * 5
    page = client_for(lead).get(f"/projects/{project.pk}/statistics/").text
    assert "Without 5 answers to hidden gold." in " ".join(page.split())
    page = client_for(lead).get(f"/projects/{project.pk}/gold/").text
    assert "5 answers to hidden gold aren't ratings." in " ".join(page.split())
    # A corrected answer replaces the earlier one; a rating of the same item by a file does not.
    submit(desk, project, hidden_gold_items[3], rated_question, 1)
    rate(rated_question, "g0", "ann", "critical")
    question_updates.update_question(rated_question.pk)
    recomputation.recompute_question(rated_question.pk, at_once=True)
    score = GoldScore.objects.get()
    assert (score.n, score.right) == (5, 5)
    assert CheckAnswer.objects.count() == 6
    assert CountState.objects.filter(question=rated_question).exists()


def test_gold_page_without_ratings_shows_no_counts(
    project: Any, question: Question, lead: Any, client_for: Any
) -> None:
    item = Item.objects.create(project=project, key="only", body={"text": "x"})
    set_gold_answer(item=item, question=question, answer=[1], by=lead)
    page = client_for(lead).get(f"/projects/{project.pk}/gold/").text
    assert "No ratings yet." in page
    assert "Gold answers in force" not in page
