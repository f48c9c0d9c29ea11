"""The page that recommends a coefficient from the question's own facts, by the decision table."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.agreement.headline import ROWS, TABLE, HeadlineFacts, choose_headline
from metrics.agreement.scales import SCALES
from metrics.jobs.question_updates import update_question
from projects.models import Question, Rater

pytestmark = pytest.mark.django_db


def test_every_decision_is_in_the_displayed_table() -> None:
    assert {entry.reason for entry in TABLE} == {row.reason for row in ROWS}
    for scale in SCALES:
        for n_raters in (0, 2, 3):
            for weights in ("none", "linear"):
                for complete in (False, True):
                    why = choose_headline(HeadlineFacts(scale, n_raters, weights, complete)).reason
                    assert any(entry.reason == why and scale in entry.scales for entry in TABLE)


def test_page_shows_recommendation_reason_and_other_purposes(
    question: Any, rate: Any, viewer: Any, client_for: Any
) -> None:
    for item in range(4):
        for rater in "abc":
            rate(question, f"i{item}", rater, ("none", "minor")[item % 2])
    Rater.objects.create(project=question.project, key="gpt", kind="model")
    rate(question, "i1", "gpt", "none")
    update_question(question.pk)
    client, address = (
        client_for(viewer),
        f"/projects/{question.project_id}/coefficients/recommendation/",
    )
    page = client.get(address)
    assert page.context["by_table"].name == "fleiss_kappa_quadratic"
    assert [row["coefficient"] for row in page.context["rows"] if row["mine"]] == [
        "Fleiss’ kappa; quadratic by default"
    ]
    names = {purpose.name for purpose in page.context["purposes"]}
    assert {"kendall_w", "cohen_kappa_quadratic", "groups", "gwet_ac1"} <= names
    assert "icc3" not in names
    text = page.content.decode()
    assert "All raters rated every item" in text
    assert "and 1 model, shown separately" in text
    fields = {"headline": "gwet_ac1", "headline_note": "A rare answer."}
    Question.objects.update(scale="interval", scale_version=2, **fields)
    update_question(question.pk)
    page = client.get(address)
    assert page.context["by_table"].name == "icc2"
    assert "The lead chose Gwet’s AC1: A rare answer." in page.content.decode()


def test_recommendation_before_any_rating_follows_scale(
    question: Any, lead: Any, client_for: Any
) -> None:
    page = client_for(lead).get(f"/projects/{question.project_id}/coefficients/recommendation/")
    assert page.context["by_table"].name == "fleiss_kappa_quadratic"
