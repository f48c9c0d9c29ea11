"""Tests of copies of projects: what is copied, what is not, and who may copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.models import Project, Question
from projects.services.projects import copy_project, suggest_copy_name
from projects.services.question_validation import NewCategory
from projects.services.questions import change_categories, change_headline, change_weights
from quality.alerts.sensitivity import get_sensitivity, set_sensitivity
from quality.gates.services import create_gate
from quality.models import Gate
from quality.review.label_rules import get_label_rules, set_label_rules

pytestmark = pytest.mark.django_db


def test_copy_has_questions_and_settings_without_data(
    question: Question, lead: Any, rate: Callable[..., Any]
) -> None:
    rate(question, "i1", "ann", "minor")
    original = question.project
    Project.objects.filter(pk=original.pk).update(
        guidelines="# Rules", overlap=4, time_zone="Europe/Berlin", allows_corrections=False
    )
    original.refresh_from_db()
    n = len(question.active_categories())
    matrix = [[1.0 if row == column else 0.25 for column in range(n)] for row in range(n)]
    change_weights(question=question, weights="custom", matrix=matrix, by=lead)
    change_headline(
        question=question, headline="percent_agreement", note="asked", pooled=True, by=lead
    )
    Question.objects.filter(pk=question.pk).update(gold_tolerance=1)
    set_label_rules(question=question, by=lead, max_ratings=7, request_ratings=True)
    set_sensitivity(project=original, sensitivity="high", by=lead)
    rule = {"measure": "percent_agreement", "at_least": 0.5, "filter": {"kind": "human"}}
    create_gate(project=original, question=question, name="all", rules=[rule], by=lead)
    some = rule | {"filter": {"exclude": ["ann"]}}
    create_gate(project=original, question=question, name="one rater", rules=[some], by=lead)

    copy = copy_project(project=original, name="Second round", by=lead)

    assert (copy.name, copy.guidelines, copy.guidelines_version) == ("Second round", "# Rules", 1)
    assert (copy.overlap, copy.time_zone, copy.allows_corrections) == (4, "Europe/Berlin", False)
    assert [(member.user, member.role) for member in copy.members.all()] == [(lead, "lead")]
    assert not copy.items.exists()
    assert not copy.raters.exists()
    copied = copy.questions.get()
    question.refresh_from_db()
    assert copied.pk != question.pk
    assert copied.get_declaration() == question.get_declaration()
    assert copied.weight_matrix == matrix
    assert (copied.key, copied.text) == (question.key, question.text)
    assert (copied.gold_tolerance, copied.headline) == (1, "percent_agreement")
    rules = get_label_rules(copied)
    assert (rules.max_ratings, rules.request_ratings, rules.n_requested) == (7, True, 0)
    assert get_sensitivity(copy.pk) == "high"
    assert list(Gate.objects.filter(project=copy).values_list("name", flat=True)) == ["all"]


def test_removed_categories_are_not_copied(question: Question, lead: Any) -> None:
    categories = question.active_categories()
    kept_categories = [(category.code, NewCategory(category.label)) for category in categories[1:]]
    change_categories(question=question, scale="nominal", categories=kept_categories, by=lead)

    copy = copy_project(project=question.project, name="Copy", by=lead)

    labels = [category.label for category in copy.questions.get().categories.all()]
    assert labels == [category.label for category in categories[1:]]


def test_project_without_questions_is_copied(project: Project, lead: Any) -> None:
    project.questions.all().delete()
    set_sensitivity(project=project, sensitivity="high", by=lead)

    copy = copy_project(project=project, name="Copy", by=lead)

    assert not copy.questions.exists()
    assert get_sensitivity(copy.pk) == "high"


def test_page_copies_the_project(project: Project, question: Question, lead: Any) -> None:
    client = Client()
    client.force_login(lead)
    address = reverse("project_copy", args=[project.pk])
    assert (
        reverse("project_copy", args=[project.pk])
        in client.get(reverse("project_archive", args=[project.pk])).text
    )
    page = client.get(address)
    assert page.context["form"]["name"].value() == f"{project.name} (copy)"

    assert client.post(address, {"name": "  "}).status_code == 400
    assert Project.objects.count() == 1

    response = client.post(address, {"name": "Second round"})
    copy = Project.objects.get(name="Second round")
    assert response["Location"] == reverse("dashboard", args=[copy.pk])


def test_proposed_name_of_a_copy_is_not_too_long(project: Project, lead: Any) -> None:
    project.name = "x" * 200
    name = suggest_copy_name(project)
    assert (len(name), name[-8:]) == (200, "x (copy)")


def test_api_copies_the_project(project: Project, question: Question, lead: Any) -> None:
    client = Client()
    client.force_login(lead)
    address = f"/api/v1/projects/{project.pk}/copy/"

    response = client.post(address, {"name": "Second round"}, content_type="application/json")
    assert response.status_code == 201
    copy = response.json()
    assert response["Location"].endswith(f"/api/v1/projects/{copy['id']}/")
    assert [entry["key"] for entry in copy["questions"]] == [question.key]

    response = client.post(address, {"name": ""}, content_type="application/json")
    assert response.status_code == 400
    assert "name" in response.json()["error"]["fields"]


@pytest.mark.parametrize("role", ["annotator", "viewer"])
def test_only_leads_copy_a_project(
    role: str, project: Project, request: pytest.FixtureRequest
) -> None:
    client = Client()
    client.force_login(request.getfixturevalue(role))
    for address in (
        reverse("project_copy", args=[project.pk]),
        f"/api/v1/projects/{project.pk}/copy/",
    ):
        response = client.post(address, {"name": "Mine"}, content_type="application/json")
        assert response.status_code == 403
    assert Project.objects.count() == 1
