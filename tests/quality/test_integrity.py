"""What is stored of gold, repeats and drift equals what is made anew, and `manage.py audit` says
where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from metrics.jobs.question_updates import update_question
from projects.models import Item, Project, Question
from projects.services.items.gold import set_gold_answer
from quality import integrity, tasks
from quality.models import DriftStanding, GoldItem, GoldScore, RepeatScore, RepeatState
from ratings.models import Apart, Rating

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def kept(answered: Question, lead: User) -> Question:
    """With gold, repeats and a look for drift, all made of what stands now."""
    Project.objects.update(repeat_percent=3)
    for item in Item.objects.order_by("key")[:8]:
        set_gold_answer(item=item, question=answered, answer=[1], by=lead)
    now = timezone.now()
    for row in Rating.objects.filter(question=answered, rater__key="ann").order_by("item")[:6]:
        Apart.objects.create(
            question=answered, item_id=row.item_id, rater_id=row.rater_id, why="repeat",
            first=row.code, code=(row.code + row.item_id % 2) % 4, rated_at=now, changed_at=now,
            source="form",
        )  # fmt: skip
    update_question(answered.pk)
    assert tasks.sweep_gold() == 2 and tasks.sweep_alarms() == 1
    return answered


def differences(question: Question) -> list[str]:
    return [said for stored in integrity.CHECKS for said in stored.find_differences(question.pk)]


def test_what_nobody_touched_is_exact(kept: Question) -> None:
    for model in (GoldScore, GoldItem, RepeatScore, DriftStanding):
        assert model._default_manager.filter(question=kept).exists(), model
    assert differences(kept) == []


def test_what_is_other_than_the_ratings_say_is_named_and_repaired(
    kept: Question, capsys: Any
) -> None:
    GoldScore.objects.filter(rater__key="dan").update(evidence=7.0)
    GoldItem.objects.filter(item__key="i03").delete()
    RepeatState.objects.update(same=0)
    RepeatScore.objects.update(n=7)
    row = DriftStanding.objects.get(rater__key="ben")
    DriftStanding.objects.filter(pk=row.pk).update(n=row.n + 1)
    with pytest.raises(CommandError):
        call_command("audit")
    said = capsys.readouterr().err
    for one in (
        f"GoldScore of rater {kept.project.raters.get(key='dan').pk}: evidence",
        "missing",
        "RepeatState: same",
        "RepeatScore of rater",
        f"DriftStanding of rater {row.rater_id}: n is not",
    ):
        assert one in said
    call_command("audit", "--repair")
    assert differences(kept) == []


def test_what_waits_to_be_made_anew_is_not_compared(
    kept: Question, rate: Callable[..., Any]
) -> None:
    GoldScore.objects.update(evidence=7.0)
    DriftStanding.objects.update(n=0)
    assert len(differences(kept)) > 1
    rate(kept, "i07", "late", "minor")
    update_question(kept.pk)
    assert differences(kept) == []
