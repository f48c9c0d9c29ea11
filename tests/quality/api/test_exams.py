"""Test exams, warnings and pauses by API: rules, lists, decisions with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agreement_site.models import AuditLogEntry
from projects.models import Project, Question, Rater
from quality.models import GoldIntervention
from ratings.models import Exam, ExamRules

pytestmark = pytest.mark.django_db


def test_exam_rules_are_read_and_changed(
    question: Question, api: Any, address: Callable[[str], str], lead: User
) -> None:
    url = address("quality/exam/")
    rules = api.get(url).json()
    assert rules == {
        "question": question.key, "required": False, "p_fail": 0.6, "p_pass": 0.8,
        "alpha": 0.05, "beta": 0.05, "max_answers": 50, "max_attempts": 2, "items": 0, "min_items": 11,
    }  # fmt: skip
    assert not ExamRules.objects.exists(), "reading stores nothing"
    changed = api.patch(url, {"required": True, "max_attempts": 1}, format="json").json()
    assert changed == rules | {"required": True, "max_attempts": 1} == api.get(url).json()
    for invalid in ({"p_pass": 0.61}, {"max_attempts": 0}, {"max_answers": 501}):
        response = api.patch(url, invalid, format="json")
        assert response.status_code == 400
        assert list(response.json()["error"]["fields"]) == list(invalid)
    assert api.get(url).json() == changed
    by_query = api.patch(f"{url}?question={question.key}", {"max_attempts": 1}, format="json")
    assert by_query.json() == changed
    assert api.patch(f"{url}?question=other", {}, format="json").status_code in (400, 404)
    assert AuditLogEntry.objects.filter(action="exam_rules_changed").count() == 1


def test_tries_are_listed_and_a_lead_decides_with_a_reason(
    question: Question, project: Project, api: Any, address: Callable[[str], str], lead: User
) -> None:
    ExamRules.objects.create(question=question, required=True, max_attempts=1)
    ann, now = project.raters.get(), timezone.now()
    Exam.objects.create(
        question=question, rater=ann, number=1, state="failed", started_at=now, ended_at=now,
        answers=[[1, 0, False, None], [2, 0, True, None]],
    )  # fmt: skip
    url = address("quality/exams/")
    [row] = api.get(url).json()["results"]
    assert (row["rater"], row["number"], row["state"]) == ("ann", 1, "failed")
    assert (row["answers"], row["right"], row["by"]) == (2, 1, None)
    for invalid in (
        {"rater": "ann", "do": "waive"},
        {"rater": "ann", "do": "waive", "reason": " "},
        {"rater": "nobody", "do": "waive", "reason": "x"},
        {"rater": "ann", "do": "pass", "reason": "x"},
        {"rater": "ann", "do": "grant", "reason": "there is no gold to ask"},
    ):
        assert api.post(url, invalid, format="json").status_code == 400, invalid
    body = {"rater": "ann", "do": "waive", "reason": "known to be good"}
    created = api.post(url, body, format="json").json()
    assert (created["state"], created["number"], created["by"]) == ("waived", 2, lead.username)
    assert created["reason"] == "known to be good"
    assert api.post(url, body, format="json").status_code == 400
    waived = api.get(f"{url}?state=waived").json()["results"]
    assert [exam["id"] for exam in waived] == [created["id"]]
    assert AuditLogEntry.objects.filter(action="exam_waived").count() == 1


def test_interventions_are_listed_carried_out_and_overridden(
    question: Question, project: Project, api: Any, address: Callable[[str], str], lead: User
) -> None:
    ann = project.raters.get()
    intervention = GoldIntervention.objects.create(
        question=question, rater=ann, step="pause", state="proposed", evidence=120.0, n_answers=6,
        created_at=timezone.now(),
    )  # fmt: skip
    list_url, detail_url = (
        address("quality/interventions/"),
        address(f"quality/interventions/{intervention.pk}/"),
    )
    [row] = api.get(list_url).json()["results"]
    assert row == api.get(detail_url).json()
    assert (row["rater"], row["step"], row["state"], row["n_answers"]) == (
        "ann",
        "pause",
        "proposed",
        6,
    )
    assert api.post(detail_url, {"do": "override"}, format="json").status_code == 400
    assert api.post(detail_url, {"do": "nothing"}, format="json").status_code == 400
    done = api.post(detail_url, {"do": "carry_out"}, format="json").json()
    assert (done["state"], done["by"]) == ("done", lead.username)
    assert Rater.objects.get(pk=ann.pk).paused
    assert api.post(detail_url, {"do": "carry_out"}, format="json").status_code == 400
    overridden = api.post(
        detail_url, {"do": "override", "reason": "the gold was wrong"}, format="json"
    ).json()
    assert (overridden["state"], overridden["reason"]) == ("overridden", "the gold was wrong")
    assert not Rater.objects.get(pk=ann.pk).paused
    assert api.get(f"{list_url}?state=proposed&question={question.key}").json()["results"] == []
    assert api.get(f"{list_url}?state=odd").status_code == 400
    assert api.get(address("quality/interventions/99/")).status_code == 404
