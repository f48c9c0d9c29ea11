"""The weights editor previews kappa, and earlier weights are listed with author, time and reason."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.agreement import report
from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from projects.models import Question, ScaleVersion

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")
CODES = [[0, 0, 1], [1, 1, 1], [2, 1, 2], [3, 3, 2], [0, 1, 0], [2, 2, 3]]
MATRIX = [[1, 0.5, 0, 0], [0.5, 1, 0.5, 0], [0, 0.5, 1, 0.5], [0, 0, 0.5, 1]]


def build_form(matrix: list[list[float]], **fields: Any) -> dict[str, Any]:
    cells = {f"cell-{i}-{j}": cell for i, row in enumerate(matrix) for j, cell in enumerate(row)}
    return {"weights": "custom", "seen_version": 1, **cells, **fields}


def create_ratings(question: Any, rate: Any, *, raters: str) -> str:
    for item, row in enumerate(CODES):
        for rater, code in zip(raters, row, strict=False):
            rate(question, f"i{item}", rater, LABELS[code])
    update_question(question.pk)
    return f"/projects/{question.project_id}/settings/questions/{question.key}/"


@pytest.mark.parametrize(("raters", "name"), [("abc", "fleiss_kappa"), ("ab", "cohen_kappa")])
def test_editor_previews_kappa(
    raters: str, name: str, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    address = create_ratings(question, rate, raters=raters)
    response = client_for(lead).post(f"{address}weights/check/", build_form(MATRIX))
    preview = response.context["agreement"]
    codes = [row[: len(raters)] for row in CODES]
    expected = report(codes, 4, weight_matrix=MATRIX)
    key = "weighted_kappa" if name == "cohen_kappa" else name
    assert preview["name"] == name
    assert preview["now"]["value"] == pytest.approx(expected[f"{key}_quadratic"])
    assert preview["then"]["value"] == pytest.approx(expected[f"{key}_custom"])
    assert Question.objects.get(pk=question.pk).weights == "none"


def test_no_preview_before_any_rating(question: Any, lead: Any, client_for: Any) -> None:
    address = f"/projects/{question.project_id}/settings/questions/{question.key}/weights/check/"
    response = client_for(lead).post(address, build_form(MATRIX))
    assert response.context["agreement"] is None
    assert response.context["doubt"] is None


def test_non_monotonic_weights_are_questioned(question: Any, lead: Any, client_for: Any) -> None:
    matrix = [[1, 0.5, 0.6, 0], [0.5, 1, 0.5, 0], [0.6, 0.5, 1, 0.5], [0, 0, 0.5, 1]]
    address = f"/projects/{question.project_id}/settings/questions/{question.key}/weights/check/"
    client = client_for(lead)
    assert "Intended?" in client.post(address, build_form(matrix)).content.decode()
    Question.objects.update(scale="nominal")
    assert "Intended?" not in client.post(address, build_form(matrix)).content.decode()


def test_earlier_weights_are_listed_with_author_and_reason(
    question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    address = f"/projects/{question.project_id}/settings/questions/{question.key}/"
    client.post(f"{address}weights/", build_form(MATRIX, reason="Agreed with the clinic."))
    client.post(f"{address}text/", {"text": "How severe?"})
    softer = [[0.25 if cell == 0 else cell for cell in row] for row in MATRIX]
    client.post(f"{address}weights/", build_form(softer, seen_version=2, reason="Softer."))
    page = client.get(address)
    versions = [(entry.weights, entry.version.reason) for entry in page.context["earlier_weights"]]
    assert versions == [("custom", "Softer."), ("quadratic (default)", "Agreed with the clinic.")]
    assert page.context["earlier_weights"][0].preview[0][1][1] == (0.5, 5)
    assert page.context["earlier_weights"][0].version.by == lead
    response = client.post(
        f"{address}weights/", build_form(MATRIX, seen_version=3, reason="x" * 501)
    )
    assert response.status_code == 400
    assert ScaleVersion.objects.count() == 2


def test_score_weights_become_custom_weights(
    question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    create_ratings(question, rate, raters="abc")
    client = client_for(lead)
    address = f"/projects/{question.project_id}/coefficients/?scores=values"
    client.get(address)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    page = client.get(address)
    assert "Use as custom weights" in page.content.decode()
    client.post(
        f"/projects/{question.project_id}/settings/questions/{question.key}/weights/",
        build_form(page.context["scored"]["weights"], reason="Quadratic in scores: values"),
    )
    stored_matrix = Question.objects.get(pk=question.pk).weight_matrix
    assert stored_matrix is not None
    assert stored_matrix[0] == pytest.approx([1, 8 / 9, 5 / 9, 0])
