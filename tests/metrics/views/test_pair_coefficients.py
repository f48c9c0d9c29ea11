"""The page of two raters shows all their statistics."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.agreement import report
from metrics.jobs.question_updates import update_question
from projects.models import Question

pytestmark = pytest.mark.django_db
CODES = ([0, 1, 2, 3, 1, 2, 0, 1, 3, 2], [0, 1, 2, 2, 1, 3, 0, 0, 3, 2])
LABELS = ("none", "minor", "major", "critical")


def get_pair_page(client: Any, question: Any) -> Any:
    return client.get(f"/projects/{question.project_id}/pairs/?a=a&b=b")


@pytest.fixture
def rated_question(question: Any, rate: Any) -> Any:
    for rater, codes in zip("ab", CODES, strict=True):
        for item, code in enumerate(codes):
            rate(question, f"i{item}", rater, LABELS[code])
    update_question(question.pk)
    return question


def test_ordinal_pair_matches_library(rated_question: Any, lead: Any, client_for: Any) -> None:
    estimates = (
        get_pair_page(client_for(lead), rated_question).context["details"].other_coefficients
    )
    expected = report(list(zip(*CODES, strict=True)), 4, values=[0, 1, 2, 3])
    for name in ("scott_pi", "pabak", "kappa_max", "spearman", "kendall_tau_b"):
        assert estimates[name]["value"] == pytest.approx(expected[name]), name
    assert estimates["prevalence_index"]["reason"] == "needs_2x2"


def test_nominal_pair_has_no_correlation(rated_question: Any, lead: Any, client_for: Any) -> None:
    Question.objects.update(scale="nominal")
    response = get_pair_page(client_for(lead), rated_question)
    assert "scott_pi" in response.context["details"].other_coefficients
    assert "spearman" not in response.context["details"].other_coefficients
    assert "Scott’s pi" in response.content.decode()


def test_nominal_pair_has_no_rank_weighted_kappa(
    rated_question: Any, lead: Any, client_for: Any
) -> None:
    weights = '<th scope="row">quadratic</th>'
    client = client_for(lead)
    assert weights in get_pair_page(client, rated_question).content.decode()
    Question.objects.update(scale="nominal")
    text = get_pair_page(client, rated_question).content.decode()
    assert weights not in text
    assert '<th scope="row">none</th>' in text
