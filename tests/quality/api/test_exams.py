"""Exams, and warnings and pauses by gold, by API: rules, lists, decisions with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agreement_site.models import TrailLine
from projects.models import Project, Question, Rater
from quality.models import GoldAct
from ratings.models import Exam, ExamRules

pytestmark = pytest.mark.django_db


def test_the_rules_of_an_exam(
    question: Question, api: Any, address: Callable[[str], str], lead: User
) -> None:
    where = address("quality/exam/")
    found = api.get(where).json()
    assert found == {
        "question": question.key, "required": False, "p_fail": 0.6, "p_pass": 0.8,
        "alpha": 0.05, "beta": 0.05, "most": 50, "tries": 2, "items": 0, "least": 11,
    }  # fmt: skip
    assert not ExamRules.objects.exists(), "reading stores nothing"
    changed = api.patch(where, {"required": True, "tries": 1}, format="json").json()
    assert changed == found | {"required": True, "tries": 1} == api.get(where).json()
    for wrong in ({"p_pass": 0.61}, {"tries": 0}, {"most": 501}):
        answer = api.patch(where, wrong, format="json")
        assert answer.status_code == 400
        assert list(answer.json()["error"]["fields"]) == list(wrong)
    assert api.get(where).json() == changed
    assert TrailLine.objects.filter(what="exam_rules_changed").count() == 1


def test_tries_are_listed_and_a_lead_decides_with_a_reason(
    question: Question, project: Project, api: Any, address: Callable[[str], str], lead: User
) -> None:
    ExamRules.objects.create(question=question, required=True, tries=1)
    ann, now = project.raters.get(), timezone.now()
    Exam.objects.create(
        question=question, rater=ann, number=1, state="failed", began_at=now, ended_at=now,
        course=[[1, 0, False, None], [2, 0, True, None]],
    )  # fmt: skip
    where = address("quality/exams/")
    [row] = api.get(where).json()["results"]
    assert (row["rater"], row["number"], row["state"]) == ("ann", 1, "failed")
    assert (row["answers"], row["right"], row["by"]) == (2, 1, None)
    for wrong in (
        {"rater": "ann", "do": "waive"},
        {"rater": "ann", "do": "waive", "reason": " "},
        {"rater": "nobody", "do": "waive", "reason": "x"},
        {"rater": "ann", "do": "pass", "reason": "x"},
        {"rater": "ann", "do": "grant", "reason": "there is no gold to ask"},
    ):
        assert api.post(where, wrong, format="json").status_code == 400, wrong
    body = {"rater": "ann", "do": "waive", "reason": "known to be good"}
    made = api.post(where, body, format="json").json()
    assert (made["state"], made["number"], made["by"]) == ("waived", 2, lead.username)
    assert made["reason"] == "known to be good"
    assert api.post(where, body, format="json").status_code == 400
    waived = api.get(f"{where}?state=waived").json()["results"]
    assert [one["id"] for one in waived] == [made["id"]]
    assert TrailLine.objects.filter(what="exam_waived").count() == 1


def test_acts_are_listed_carried_out_and_overridden(
    question: Question, project: Project, api: Any, address: Callable[[str], str], lead: User
) -> None:
    ann = project.raters.get()
    act = GoldAct.objects.create(
        question=question, rater=ann, step="pause", state="proposed", evidence=120.0, answers=6,
        made_at=timezone.now(),
    )  # fmt: skip
    where, one = address("quality/acts/"), address(f"quality/acts/{act.pk}/")
    [row] = api.get(where).json()["results"]
    assert row == api.get(one).json()
    assert (row["rater"], row["step"], row["state"], row["answers"]) == (
        "ann",
        "pause",
        "proposed",
        6,
    )
    assert api.post(one, {"do": "override"}, format="json").status_code == 400
    assert api.post(one, {"do": "nothing"}, format="json").status_code == 400
    done = api.post(one, {"do": "carry_out"}, format="json").json()
    assert (done["state"], done["by"]) == ("done", lead.username)
    assert Rater.objects.get(pk=ann.pk).paused
    assert api.post(one, {"do": "carry_out"}, format="json").status_code == 400
    over = api.post(one, {"do": "override", "reason": "the gold was wrong"}, format="json").json()
    assert (over["state"], over["reason"]) == ("overridden", "the gold was wrong")
    assert not Rater.objects.get(pk=ann.pk).paused
    assert api.get(f"{where}?state=proposed&question={question.key}").json()["results"] == []
    assert api.get(f"{where}?state=odd").status_code == 400
    assert api.get(address("quality/acts/99/")).status_code == 404
