"""Pages of a question whose first results are being computed say so, in one wording."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.jobs.question_updates import update_question
from quality.rater_status.recomputation import sweep as sweep_rater_comparisons

pytestmark = pytest.mark.django_db

PENDING_POLL = {"X-Shown-Version": "pending"}


@pytest.fixture
def rated_question(question: Any, rate: Any) -> Any:
    """Return a question with uncounted ratings by three raters."""
    for number in range(40):
        for rater in "abc":
            rate(question, f"i{number}", rater, "none" if number % 3 else "minor")
    return question


def get_section(page: Any, name: str) -> str:
    return page.text.split(f'id="{name}"')[1].split("</section>")[0]


@pytest.mark.parametrize("path", ["", "statistics/", "raters/a/"])
def test_uncounted_ratings_are_being_counted(
    rated_question: Any, client_for: Any, lead: Any, path: str
) -> None:
    """Regression: "Undefined: not counted yet", "No item has two ratings yet", "Export labels"."""
    base = f"/projects/{rated_question.project_id}/"
    text = client_for(lead).get(base + path).text
    main = text.split('<main id="main"')[1].split("</main>")[0]
    assert "Counting …" in main
    for untrue in ("ot counted yet", "two ratings", "Export labels", "Undefined", "No ratings"):
        assert untrue not in main, untrue


def test_list_of_projects_says_that_ratings_are_being_counted(
    rated_question: Any, client_for: Any, lead: Any
) -> None:
    main = client_for(lead).get("/").text.split('<main id="main"')[1]
    assert "Counting …" in main and "Setup:" not in main


def test_raters_and_next_actions_wait_for_the_first_statuses(
    rated_question: Any, client_for: Any, lead: Any
) -> None:
    """Regression: first "Export labels, no open tasks", and "Not enough data" of each rater."""
    update_question(rated_question.pk)
    client, base = client_for(lead), f"/projects/{rated_question.project_id}/"
    page = client.get(base)
    assert page.context["headline"]["value"] == 1
    for name in ("do-next", "raters"):
        section = get_section(page, name)
        assert "Counting …" in section
        assert "Export labels" not in section and "Not enough data" not in section
    assert client.get(base, headers=PENDING_POLL).status_code == 204
    sweep_rater_comparisons()
    assert client.get(base, headers=PENDING_POLL).headers["HX-Refresh"] == "true"
    assert "Counting …" not in client.get(base).text


def test_question_without_ratings_is_not_being_counted(
    question: Any, client_for: Any, lead: Any
) -> None:
    assert "Counting …" not in client_for(lead).get(f"/projects/{question.project_id}/").text
