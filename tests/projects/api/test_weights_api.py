"""Choosing or confirming a question's weights, by API and on the dashboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from metrics.jobs.question_updates import update_question
from projects.models import Question, ScaleVersion

Address = Callable[..., str]


def test_lead_confirms_quadratic_weights_once(
    api: Any, address: Address, question: Question, lead: User
) -> None:
    (question_data,) = api.get(address()).json()["questions"]
    assert (question_data["weights"], question_data["weights_confirmed"]) == ("none", False)
    body = {"weights": "quadratic", "reason": "near misses are half right"}
    response = api.post(address("weights/"), body, format="json")
    assert response.status_code == 200, response.content
    assert response.json()["weights_confirmed"] is True
    question.refresh_from_db()
    assert (question.weights, question.scale_version) == ("quadratic", 2)
    version = ScaleVersion.objects.get(question=question)
    assert (version.by, version.reason) == (lead, "near misses are half right")


def test_stored_matrix_is_kept(api: Any, address: Address, question: Question) -> None:
    matrix = [[1, 0.5, 0, 0], [0.5, 1, 0.5, 0], [0, 0.5, 1, 0.5], [0, 0, 0.5, 1]]
    body: dict[str, Any] = {"question": question.key, "weights": "custom", "weight_matrix": matrix}
    assert api.post(address("weights/"), body, format="json").json()["weight_matrix"] == matrix
    response = api.post(address("weights/"), {"weights": "linear"}, format="json")
    assert (response.json()["weights"], response.json()["weight_matrix"]) == ("linear", matrix)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "weights"),
        ({"weights": "cubic"}, "weights"),
        ({"weights": "custom"}, "weight_matrix"),
        ({"weights": "custom", "weight_matrix": [[1, 2], [2, 1]]}, "weight_matrix"),
        ({"weights": "linear", "question": "absent"}, "question"),
        ({"weights": "linear", "reason": "a\nb"}, "reason"),
    ],
)
def test_invalid_weights_change_nothing(
    body: dict[str, Any], field: str, api: Any, address: Address, question: Question
) -> None:
    response = api.post(address("weights/"), body, format="json")
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]
    question.refresh_from_db()
    assert (question.weights, question.scale_version) == ("none", 1)


def test_only_leads_choose_weights(
    address: Address, api_for: Any, viewer: User, question: Question
) -> None:
    response = api_for(viewer).post(address("weights/"), {"weights": "linear"}, format="json")
    assert response.status_code == 403


def test_dashboard_asks_the_lead_once(
    question: Question,
    rate: Any,
    client_for: Callable[[User], Client],
    lead: User,
    viewer: User,
) -> None:
    for item in "abc":
        for rater, label in (("ann", "minor"), ("ben", "major")):
            rate(question, item, rater, label)
    update_question(question.pk)
    project_page = f"/projects/{question.project_id}/"
    page, text = f"{project_page}statistics/", "Confirm weights"
    client = client_for(lead)
    assert text in client.get(page).content.decode()
    assert text not in client_for(viewer).get(page).content.decode()
    fields = {"weights": "quadratic", "seen_version": question.scale_version}
    response = client.post(f"{project_page}settings/questions/{question.key}/weights/", fields)
    assert response.status_code == 302
    assert text not in client.get(page).content.decode()


@pytest.mark.parametrize(
    ("scale", "weights", "n_categories", "expected"),
    [
        ("ordinal", "none", 4, False),
        ("ordinal", "linear", 4, True),
        ("nominal", "none", 4, True),
        ("interval", "none", 4, True),
        ("ordinal", "none", 2, True),
    ],
)
def test_weights_of_ordered_labels_need_confirmation(
    scale: str, weights: str, n_categories: int, expected: bool, question: Question
) -> None:
    question.scale, question.weights = scale, weights
    question.categories.filter(position__gte=n_categories).update(retired=True)
    assert question.has_confirmed_weights is expected
