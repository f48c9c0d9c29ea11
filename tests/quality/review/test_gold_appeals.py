"""Test appeals against gold answers: those of an exam, and retired hidden ones."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from projects.models import Item, Project, Question, Rater
from projects.services.gold import retire_gold_answer, set_gold_answer
from quality.models import Appeal, LabelRules
from ratings.models import Assignment, CheckAnswer, Exam

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(project: Project, question: Question, lead: User) -> list[Item]:
    """Three items that ann answered: one in a finished exam, two as hidden gold."""
    ann, now = Rater.objects.get(key="ann"), timezone.now()
    items = []
    for number, kind in enumerate(("exam", "gold", "gold")):
        item = Item.objects.create(
            project=project, key=f"i{number}", body={"text": f"Text {number}"}
        )
        gold = set_gold_answer(
            item=item, question=question, answer=[1], by=lead, explanation="as 3.1"
        )
        Assignment.objects.create(
            item=item, rater=ann, kind=kind, state="done", closed_at=now, leased_until=now
        )
        CheckAnswer.objects.create(
            question=question,
            item=item,
            rater=ann,
            kind=kind,
            code=3,
            rated_at=now,
            changed_at=now,
            source="form",
        )
        if kind == "exam":
            Exam.objects.create(
                question=question,
                rater=ann,
                number=1,
                state="failed",
                error_probability=0.05,
                rules={"p_fail": 0.6, "p_pass": 0.8, "max_answers": 50},
                items=[item.pk],
                answers=[[item.pk, 3, False, gold.pk]],
                started_at=now,
                ended_at=now,
            )
        items.append(item)
    return items


def test_known_gold_can_be_appealed_and_hidden_gold_cannot(
    items: list[Item],
    project: Project,
    question: Question,
    lead: User,
    annotator: User,
    client_for: Callable[[User], Client],
) -> None:
    annotator_client, lead_client = client_for(annotator), client_for(lead)
    base = f"/projects/{project.pk}/"

    def contest(item: Item) -> None:
        form_data = {"question": question.key, "text": "it reads well"}
        assert annotator_client.post(f"{base}gold-appeals/{item.pk}/", form_data).status_code == 302

    contest(items[0])
    assert not Appeal.objects.exists()  # the lead has not allowed appeals
    assert "Appeal" not in annotator_client.get(f"{base}exam/").text
    LabelRules.objects.create(question=question, show_to_raters=True, show_after_days=7)
    assert "Appeal" in annotator_client.get(f"{base}exam/").text
    for item in items:
        contest(item)
    assert [(appeal.item, appeal.about) for appeal in Appeal.objects.all()] == [(items[0], "gold")]
    assert "it reads well" in annotator_client.get(f"{base}exam/").text

    # A hidden gold answer is retired; the rater is told a week later.
    retire_gold_answer(item=items[1], question=question, by=lead)
    assert "Retired known answers" not in annotator_client.get(f"{base}decisions/").text
    with time_machine.travel(timezone.now() + datetime.timedelta(days=8), tick=False):
        annotator_client.force_login(annotator)
        decisions_page = annotator_client.get(f"{base}decisions/").text
        assert (
            "known answer: <strong>minor</strong>" in decisions_page and "as 3.1" in decisions_page
        )
        assert "Text 1" in decisions_page and "Text 2" not in decisions_page
        contest(items[1])
        contest(items[2])
        assert Appeal.objects.count() == 2
        set_gold_answer(item=items[1], question=question, answer=[2], by=lead)
        assert "Text 1" not in annotator_client.get(f"{base}decisions/").text

    appeals_page = lead_client.get(f"{base}appeals/").text
    assert "correct the gold answer" in appeals_page and f"{base}items/" in appeals_page
    exam_appeal = Appeal.objects.get(item=items[0])
    form_data = {"state": "upheld", "answer": "right you are"}
    assert lead_client.post(f"{base}appeals/{exam_appeal.pk}/", form_data).status_code == 302
    assert "right you are" in annotator_client.get(f"{base}exam/").text


def test_rater_without_exams_returns_to_the_decisions(
    items: list[Item],
    project: Project,
    question: Question,
    annotator: User,
    client_for: Callable[[User], Client],
) -> None:
    Exam.objects.all().delete()
    base = f"/projects/{project.pk}/"
    form_data = {"question": question.key, "text": "it reads well"}
    response = client_for(annotator).post(f"{base}gold-appeals/{items[1].pk}/", form_data)
    assert (response.status_code, response.headers["Location"]) == (302, f"{base}decisions/")
