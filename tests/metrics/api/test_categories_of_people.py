"""Categories follow the raters that are shown: people, unless the lead pooled models with them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from metrics.integrity.audit import audit_question
from metrics.jobs.question_updates import sweep_questions
from projects.models import Question, Rater

pytestmark = pytest.mark.django_db

CASE = Path(__file__).parent.parent / "results" / "reference" / "categories_of_people.json"


@pytest.fixture
def rated_question(make_project: Any, rate: Any) -> Question:
    case = json.loads(CASE.read_text(encoding="utf-8"))
    project = make_project("People and models", labels=tuple(case["categories"]))
    for key in case["models"]:
        Rater.objects.create(project=project, key=key, kind="model")
    question: Question = project.questions.get()
    question.weights, question.weight_matrix = case["weights"], case["weight_matrix"]
    question.save()
    for item, rater, label, rated_at in case["rows"]:
        rate(question, item, rater, label, rated_at=datetime.datetime.fromisoformat(rated_at))
    sweep_questions()
    return question


def get_categories(api: Any, question: Question, **params: str) -> dict[str, Any]:
    address = f"/api/v1/projects/{question.project_id}/agreement/categories/"
    rows = api.get(address, params).json()["categories"]
    return {row["label"]: row for row in rows}


def test_categories_are_those_of_people(rated_question: Question, admin: Any, api_for: Any) -> None:
    expected = json.loads(CASE.read_text(encoding="utf-8"))["expected"]
    categories = get_categories(api_for(admin), rated_question)
    values = {label: row["agreement"]["value"] for label, row in categories.items()}
    assert values == pytest.approx(expected, abs=1e-6)
    n_ratings = rated_question.ratings.filter(rater__kind="human").count()
    assert sum(row["ratings"] for row in categories.values()) == n_ratings
    assert audit_question(rated_question.pk).differences == []


def test_pooled_categories_are_those_of_all_raters(
    rated_question: Question, admin: Any, api_for: Any
) -> None:
    Question.objects.filter(pk=rated_question.pk).update(
        headline="fleiss_kappa",
        headline_pooled=True,
        headline_note="one team",
        scale_version=rated_question.scale_version + 1,
    )
    sweep_questions()
    categories = get_categories(api_for(admin), rated_question)
    assert sum(row["ratings"] for row in categories.values()) == rated_question.ratings.count()


def test_a_pair_takes_any_known_population(
    rated_question: Question, admin: Any, api_for: Any
) -> None:
    first, second = rated_question.project.raters.values_list("key", flat=True)[:2]
    address = f"/api/v1/projects/{rated_question.project_id}/agreement/pair/"
    params = {"rater_a": first, "rater_b": second}
    expected = api_for(admin).get(address, params).json()
    for population in ("people", "models", "all"):
        pair = api_for(admin).get(address, params | {"population": population})
        assert pair.json() == expected
    assert api_for(admin).get(address, params | {"population": "x"}).status_code == 400
