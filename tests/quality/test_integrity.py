"""Test that stored gold, repeats and drift equal a recomputation, and that audits find differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from metrics.jobs.question_updates import update_question
from projects.models import Item, Project, Question
from projects.services.gold import set_gold_answer
from quality import integrity, tasks
from quality.models import DriftState, GoldItem, GoldScore, RepeatScore, RepeatState
from ratings.models import CheckAnswer, Rating

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def audited_question(rated_question: Question, lead: User) -> Question:
    """Question with gold, repeats and drift results that are all up to date."""
    Project.objects.update(repeat_percent=3)
    for item in Item.objects.order_by("key")[:8]:
        set_gold_answer(item=item, question=rated_question, answer=[1], by=lead)
    now = timezone.now()
    for row in Rating.objects.filter(question=rated_question, rater__key="ann").order_by("item")[
        :6
    ]:
        CheckAnswer.objects.create(
            question=rated_question, item_id=row.item_id, rater_id=row.rater_id, kind="repeat",
            rated_code=row.code, code=(row.code + row.item_id % 2) % 4, rated_at=now, changed_at=now,
            source="form",
        )  # fmt: skip
    update_question(rated_question.pk)
    assert tasks.sweep_gold_and_repeats() == 2 and tasks.sweep_alerts() == 1
    return rated_question


def list_differences(question: Question) -> list[str]:
    return [
        difference
        for stored in integrity.CHECKS
        for difference in stored.find_differences(question.pk)
    ]


def test_unchanged_results_have_no_differences(audited_question: Question) -> None:
    for model in (GoldScore, GoldItem, RepeatScore, DriftState):
        assert model._default_manager.filter(question=audited_question).exists(), model
    assert list_differences(audited_question) == []


def test_changed_results_are_reported_and_repaired(audited_question: Question, capsys: Any) -> None:
    GoldScore.objects.filter(rater__key="dan").update(evidence=7.0)
    GoldItem.objects.filter(item__key="i03").delete()
    RepeatState.objects.update(same=0)
    RepeatScore.objects.update(n=7)
    row = DriftState.objects.get(rater__key="ben")
    DriftState.objects.filter(pk=row.pk).update(n=row.n + 1)
    with pytest.raises(CommandError):
        call_command("audit")
    errors = capsys.readouterr().err
    for message in (
        f"GoldScore of rater {audited_question.project.raters.get(key='dan').pk}: evidence",
        "missing",
        "RepeatState: same",
        "RepeatScore of rater",
        f"DriftState of rater {row.rater_id}: n differs",
    ):
        assert message in errors
    call_command("audit", "--repair")
    assert list_differences(audited_question) == []


def test_stale_results_are_not_compared(
    audited_question: Question, rate: Callable[..., Any]
) -> None:
    GoldScore.objects.update(evidence=7.0)
    DriftState.objects.update(n=0)
    assert len(list_differences(audited_question)) > 1
    rate(audited_question, "i07", "late", "minor")
    update_question(audited_question.pk)
    assert list_differences(audited_question) == []
