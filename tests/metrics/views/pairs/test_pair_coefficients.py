"""Everything that is known of two raters stands on their page."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.agreement import report
from metrics.jobs.question_updates import update_question
from projects.models import Question

pytestmark = pytest.mark.django_db
CODES = ([0, 1, 2, 3, 1, 2, 0, 1, 3, 2], [0, 1, 2, 2, 1, 3, 0, 0, 3, 2])
LABELS = ("none", "minor", "major", "critical")


def page(client: Any, question: Any) -> Any:
    return client.get(f"/projects/{question.project_id}/pairs/?a=a&b=b")


@pytest.fixture
def rated(question: Any, rate: Any) -> Any:
    for rater, codes in zip("ab", CODES, strict=True):
        for item, code in enumerate(codes):
            rate(question, f"i{item}", rater, LABELS[code])
    update_question(question.pk)
    return question


def test_an_ordinal_pair_has_all_of_them_as_the_library_has(
    rated: Any, lead: Any, client_for: Any
) -> None:
    found = page(client_for(lead), rated).context["details"].others
    expected = report(list(zip(*CODES, strict=True)), 4, values=[0, 1, 2, 3])
    for name in ("scott_pi", "pabak", "kappa_max", "spearman", "kendall_tau_b"):
        assert found[name]["value"] == pytest.approx(expected[name]), name
    assert found["prevalence_index"]["reason"] == "needs_2x2"


def test_a_nominal_pair_has_no_correlation(rated: Any, lead: Any, client_for: Any) -> None:
    Question.objects.update(scale="nominal")
    answer = page(client_for(lead), rated)
    assert "scott_pi" in answer.context["details"].others
    assert "spearman" not in answer.context["details"].others
    assert "Scott’s pi" in answer.content.decode()


def test_a_nominal_pair_has_no_kappa_under_weights_by_rank(
    rated: Any, lead: Any, client_for: Any
) -> None:
    weights = '<th scope="row">quadratic</th>'
    client = client_for(lead)
    assert weights in page(client, rated).content.decode()
    Question.objects.update(scale="nominal")
    text = page(client, rated).content.decode()
    assert weights not in text
    assert '<th scope="row">none</th>' in text
