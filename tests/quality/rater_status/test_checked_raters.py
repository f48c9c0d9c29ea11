"""Tests of raters whom a lead marks as checked: they leave the inbox for a time, not their status."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from projects.models import Project, Question, Rater
from quality.alerts.services import change_alert_state
from quality.models import CHECKED_DAYS, GoldScore, GoldState, RaterCheck
from quality.rater_status.status import build_undefined_value

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(question: Question) -> Rater:
    """Return a rater to check: below the pass mark on gold answers."""
    rater = Rater.objects.create(project=question.project, key="bob")
    GoldState.objects.update_or_create(question=question, defaults={"pass_mark": 0.7})
    GoldScore.objects.create(
        question=question, rater=rater, n=20, right=9, accuracy=0.45, low=0.25, high=0.66,
        table=[], kappa=build_undefined_value("no_gold_ratings"), evidence=0, max_evidence=0,
    )  # fmt: skip
    return rater


def count_inbox_entries(client: Client) -> int:
    return client.get("/inbox/").context["size"].n_entries


def mark_checked(client: Client, rater: Rater, **data: Any) -> Any:
    address = reverse("rater_actions", args=[rater.project_id])
    return client.post(address, {"do": "checked", "rater": [rater.pk], **data})


def test_checked_rater_leaves_the_inbox_and_keeps_the_status(
    project: Project, question: Question, bob: Rater, lead: User, client_for: Callable[..., Client]
) -> None:
    client = client_for(lead)
    page = reverse("rater", args=[project.pk, "bob"])
    assert count_inbox_entries(client) == 1
    assert "Mark as checked" in client.get(page).text

    response = mark_checked(client, bob, back="rater", list_query=f"question={question.key}")
    assert response["Location"] == f"{page}?question={question.key}"
    assert count_inbox_entries(client) == 0
    assert client.get("/").context["rows"][0].top_entry is None
    text = client.get(page).text
    assert "hidden from the inbox" in text
    assert "Mark as checked" not in text
    listed = client.get(reverse("raters", args=[project.pk]), {"show": "checked"})
    assert [row.key for row in listed.context["page"].object_list] == ["bob"]
    [status] = [
        row
        for row in client.get(f"/api/v1/projects/{project.pk}/raters/status/").json()["results"]
        if row["rater"] == "bob"
    ]
    assert status["status"] == "check"

    RaterCheck.objects.update(
        checked_at=timezone.now() - datetime.timedelta(days=CHECKED_DAYS, minutes=1)
    )
    assert count_inbox_entries(client) == 1
    mark_checked(client, bob)
    assert RaterCheck.objects.get().by == lead
    assert count_inbox_entries(client) == 0


@pytest.mark.parametrize("role", ["viewer", "annotator"])
def test_only_leads_mark_raters(
    role: str, bob: Rater, request: pytest.FixtureRequest, client_for: Callable[..., Client]
) -> None:
    client = client_for(request.getfixturevalue(role))
    assert mark_checked(client, bob).status_code == 403
    assert not RaterCheck.objects.exists()


def test_unknown_question_is_not_found(
    bob: Rater, lead: User, client_for: Callable[..., Client]
) -> None:
    response = mark_checked(client_for(lead), bob, list_query="question=nothing")
    assert response.status_code == 404
    assert not RaterCheck.objects.exists()


def test_project_without_questions_has_no_raters_to_check(
    project: Project, lead: User, client_for: Callable[..., Client]
) -> None:
    project.questions.all().delete()
    assert mark_checked(client_for(lead), project.raters.get()).status_code == 404


def test_resolving_an_alert_marks_its_rater(
    question: Question, bob: Rater, lead: User, make_alert: Any, client_for: Callable[..., Client]
) -> None:
    client = client_for(lead)
    alert = make_alert(question, bob)
    assert count_inbox_entries(client) == 1
    change_alert_state(alert=alert, state="acknowledged", by=lead)
    assert not RaterCheck.objects.exists()
    change_alert_state(alert=alert, state="resolved", cause="real", reason="Talked to bob", by=lead)
    assert RaterCheck.objects.get().rater == bob
    assert count_inbox_entries(client) == 0
