"""All coefficients, and the statistics of two raters, through the API."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.agreement import report
from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from tests.cast import rate_many

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")
CODES = {"ann": [0, 1, 2, 3, 1, 2, 0, 1], "ben": [0, 1, 2, 2, 1, 3, 0, 0]}


@pytest.fixture
def address(question: Any) -> str:
    rate_many(
        question,
        (
            (f"i{item}", rater, LABELS[code])
            for rater, codes in CODES.items()
            for item, code in enumerate(codes)
        ),
    )
    update_question(question.pk)
    return f"/api/v1/projects/{question.project_id}/agreement/"


def test_coefficients_are_pending_until_a_worker_computed_them(api: Any, address: str) -> None:
    response = api.get(f"{address}coefficients/")
    assert (response.status_code, response["Retry-After"]) == (202, "1")
    assert response.json() == {"computed_at": None}
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    answer = api.get(f"{address}coefficients/").json()
    expected = report(list(zip(*CODES.values(), strict=True)), 4)
    assert answer["computed_at"]
    assert (answer["raters"], answer["items"], answer["ratings"], answer["complete"]) == (
        2,
        8,
        16,
        8,
    )
    values = answer["coefficients"]
    assert values["conger_kappa"]["value"] == pytest.approx(expected["conger_kappa"])
    assert values["kendall_w"]["value"] == pytest.approx(expected["kendall_w"])
    assert [rule["name"] for rule in answer["policies"]] == [
        "available", "by_item", "complete", "paired",
    ]  # fmt: skip


def test_statistics_of_two_raters(api: Any, address: str) -> None:
    answer = api.get(f"{address}pair/?rater_a=ben&rater_b=ann").json()
    rows = list(zip(CODES["ben"], CODES["ann"], strict=True))
    expected = report(rows, 4, values=[0, 1, 2, 3])
    assert answer["table"][3] == [0, 0, 1, 0]
    for name in ("scott_pi", "pabak", "spearman", "kappa_max"):
        assert answer["coefficients"][name]["value"] == pytest.approx(expected[name]), name
    tests = {test["name"]: test for test in answer["tests"]}
    assert tests["bowker"]["p"] == pytest.approx(expected["bowker.p"])
    kappa = answer["kappas"]["quadratic"]["value"]
    assert kappa == pytest.approx(expected["weighted_kappa_quadratic"])
    assert len(answer["categories"]) == 4


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 400), ("rater_a=ann&rater_b=nobody", 400), ("rater_a=ann&rater_b=ann", 400)],
)
def test_two_different_raters_are_required(api: Any, address: str, query: str, status: int) -> None:
    assert api.get(f"{address}pair/?{query}").status_code == status


def test_agreement_on_scores(api: Any, address: str) -> None:
    """Kappa with quadratic weights on scores equals Lin's concordance."""
    api.get(f"{address}coefficients/?scores=values")
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    scored = api.get(f"{address}coefficients/?scores=values").json()["scored"]
    values = {name: estimate["value"] for name, estimate in scored["coefficients"].items()}
    assert values["cohen_kappa_custom"] == pytest.approx(values["lin_ccc"])
    assert scored["scores"] == [0, 1, 2, 3]
    response = api.get(f"{address}coefficients/?scores=colour")
    assert (response.status_code, "item." in response.json()["error"]["fields"]["scores"]) == (
        400,
        True,
    )
