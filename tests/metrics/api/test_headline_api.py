"""What is read first, through the API: which coefficient, why, of whom, and of people and models."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.agreement import report
from metrics.jobs.question_updates import update_question
from projects.models import Rater

pytestmark = pytest.mark.django_db
CODES = {"ann": [0, 1, 2, 3, 1, 2, 0, 1], "ben": [0, 1, 2, 2, 1, 3, 0, 0]}
LABELS = ("none", "minor", "major", "critical")


@pytest.fixture
def two(question: Any, rate: Any) -> Any:
    for rater, codes in CODES.items():
        for item, code in enumerate(codes):
            rate(question, f"i{item}", rater, LABELS[code])
    update_question(question.pk)
    return question


def asked(api: Any, question: Any) -> dict[str, Any]:
    answer = api.get(f"/api/v1/projects/{question.project_id}/agreement/")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_two_raters_on_an_ordinal_scale(api: Any, two: Any) -> None:
    found = asked(api, two)
    first = found["headline"]
    expected = report(list(zip(*CODES.values(), strict=True)), 4)
    assert (first["name"], first["why"], first["of"], first["note"]) == (
        "cohen_kappa_quadratic", "two_raters", "people", "",
    )  # fmt: skip
    assert first["value"] == pytest.approx(expected["weighted_kappa_quadratic"])
    assert first["low"] == pytest.approx(expected["weighted_kappa_quadratic.ci_low"])
    assert found["people"]["value"] == first["value"]
    assert (found["models"]["value"], found["models"]["reason"]) == (None, "no_pairable_items")
    assert found["people_models"]["value"] is None


def test_a_model_is_beside_the_people_and_not_among_them(api: Any, two: Any, rate: Any) -> None:
    before = asked(api, two)
    Rater.objects.create(project=two.project, key="gpt", kind="model")
    for item in range(8):
        rate(two, f"i{item}", "gpt", LABELS[3 - CODES["ann"][item]])
    update_question(two.pk)
    found = asked(api, two)
    assert found["headline"]["value"] == before["headline"]["value"]
    assert found["people_models"]["value"] < 0 < found["people"]["value"]
    # The list of coefficients stays that of all ratings.
    pooled = [[*row, 3 - row[0]] for row in zip(*CODES.values(), strict=True)]
    expected = report(pooled, 4)["fleiss_kappa"]
    assert found["coefficients"]["fleiss_kappa"]["value"] == pytest.approx(expected)


def test_everybody_on_numbers_is_an_icc(api: Any, question: Any, rate: Any) -> None:
    type(question).objects.update(scale="interval")
    for rater, codes in CODES.items():
        for item, code in enumerate(codes):
            rate(question, f"i{item}", rater, LABELS[code])
    for item in range(8):
        rate(question, f"i{item}", "cleo", LABELS[CODES["ann"][item]])
    update_question(question.pk)
    rows = list(zip(*CODES.values(), CODES["ann"], strict=True))
    expected = report(rows, 4, values=[0, 1, 2, 3])
    first = asked(api, question)["headline"]
    assert (first["name"], first["why"]) == ("icc2", "complete")
    assert first["value"] == pytest.approx(expected["icc2"])
    assert first["low"] == pytest.approx(expected["icc2.ci_low"])
    rate(question, "i9", "ann", "none")
    update_question(question.pk)
    first = asked(api, question)["headline"]
    assert (first["name"], first["why"]) == ("krippendorff_alpha_interval", "incomplete")


def test_before_anything_is_counted_the_table_answers(api: Any, question: Any) -> None:
    first = asked(api, question)["headline"]
    assert (first["name"], first["reason"]) == ("fleiss_kappa_quadratic", "not_counted")
