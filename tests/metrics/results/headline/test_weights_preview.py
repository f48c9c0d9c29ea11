"""The editor of weights says what kappa would be; earlier weights stay, with who, when and why."""

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


def typed(matrix: list[list[float]], **more: Any) -> dict[str, Any]:
    cells = {f"cell-{i}-{j}": cell for i, row in enumerate(matrix) for j, cell in enumerate(row)}
    return {"weights": "custom", "seen_version": 1, **cells, **more}


def rated(question: Any, rate: Any, *, raters: str) -> str:
    for item, row in enumerate(CODES):
        for rater, code in zip(raters, row, strict=False):
            rate(question, f"i{item}", rater, LABELS[code])
    update_question(question.pk)
    return f"/projects/{question.project_id}/setup/questions/{question.key}/"


@pytest.mark.parametrize(("raters", "name"), [("abc", "fleiss_kappa"), ("ab", "cohen_kappa")])
def test_the_editor_says_what_kappa_would_be(
    raters: str, name: str, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    address = rated(question, rate, raters=raters)
    answer = client_for(lead).post(f"{address}weights/check/", typed(MATRIX))
    found = answer.context["agreement"]
    codes = [row[: len(raters)] for row in CODES]
    expected = report(codes, 4, weight_matrix=MATRIX)
    key = "weighted_kappa" if name == "cohen_kappa" else name
    assert found["name"] == name
    assert found["now"]["value"] == pytest.approx(expected[f"{key}_quadratic"])
    assert found["then"]["value"] == pytest.approx(expected[f"{key}_custom"])
    assert Question.objects.get(pk=question.pk).weights == "none"


def test_before_any_rating_there_is_no_preview(question: Any, lead: Any, client_for: Any) -> None:
    address = f"/projects/{question.project_id}/setup/questions/{question.key}/weights/check/"
    answer = client_for(lead).post(address, typed(MATRIX))
    assert answer.context["agreement"] is None
    assert answer.context["doubt"] is None


def test_a_farther_answer_that_agrees_more_is_doubted(
    question: Any, lead: Any, client_for: Any
) -> None:
    odd = [[1, 0.5, 0.6, 0], [0.5, 1, 0.5, 0], [0.6, 0.5, 1, 0.5], [0, 0, 0.5, 1]]
    address = f"/projects/{question.project_id}/setup/questions/{question.key}/weights/check/"
    client = client_for(lead)
    assert "Is that meant?" in client.post(address, typed(odd)).content.decode()
    Question.objects.update(scale="nominal")
    assert "Is that meant?" not in client.post(address, typed(odd)).content.decode()


def test_earlier_weights_stay_with_who_when_and_why(
    question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    address = f"/projects/{question.project_id}/setup/questions/{question.key}/"
    client.post(f"{address}weights/", typed(MATRIX, reason="Agreed with the clinic."))
    client.post(f"{address}text/", {"text": "How severe?"})
    softer = [[0.25 if cell == 0 else cell for cell in row] for row in MATRIX]
    client.post(f"{address}weights/", typed(softer, seen_version=2, reason="Softer."))
    page = client.get(address)
    told = [(one.weights, one.version.reason) for one in page.context["earlier_weights"]]
    assert told == [("custom", "Softer."), ("none", "Agreed with the clinic.")]
    assert page.context["earlier_weights"][0].preview[0][1][1] == (0.5, 5)
    assert page.context["earlier_weights"][0].version.by == lead
    long = client.post(f"{address}weights/", typed(MATRIX, seen_version=3, reason="x" * 501))
    assert long.status_code == 400
    assert ScaleVersion.objects.count() == 2


def test_weights_of_scores_become_the_custom_weights(
    question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    rated(question, rate, raters="abc")
    client = client_for(lead)
    address = f"/projects/{question.project_id}/coefficients/?scores=values"
    client.get(address)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    page = client.get(address)
    assert "Make these the custom weights" in page.content.decode()
    client.post(
        f"/projects/{question.project_id}/setup/questions/{question.key}/weights/",
        typed(page.context["scored"]["weights"], reason="Quadratic in scores: values"),
    )
    stored = Question.objects.get(pk=question.pk).weight_matrix
    assert stored is not None
    assert stored[0] == pytest.approx([1, 8 / 9, 5 / 9, 0])
