"""Ratings that have no other of the same item to be compared with: a project that is being
collected."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from metrics.jobs.question_updates import update_question

pytestmark = pytest.mark.django_db


def said(page: str, of: str) -> str:
    """The words of the card with this id."""
    card = page.split(f'id="{of}"', 1)[1].split("</section>", 1)[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", card)).split())


def two_rate(rate: Any, question: Any, items: int, *, differ: int) -> None:
    """Ann says "none" of each item, and so does bea but of the first few."""
    for number in range(items):
        rate(question, f"i{number}", "ann", "none")
        rate(question, f"i{number}", "bea", "minor" if number < differ else "none")


def test_single_ratings_are_told_as_what_sets_kappa_and_alpha_apart(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    """Two rated 17 items, one of them 13 more: chance is taken from these, too. No harder items."""
    two_rate(rate, question, 17, differ=9)
    for number in range(13):
        rate(question, f"single {number}", "ann", "minor")
    update_question(question.pk)
    page = client_for(lead).get(f"/projects/{project.pk}/").text
    told = said(page, "findings")
    assert "13 items have one rating: they tell how often a category is used" in told
    assert "alpha leaves them out" in told
    assert "Harder items" not in told
    assert "Krippendorff’s alpha" in said(page, "beside")


def test_a_category_that_nobody_else_was_asked_about_has_no_number(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    two_rate(rate, question, 12, differ=4)
    rate(question, "single", "ann", "critical")
    update_question(question.pk)
    client, address = client_for(lead), f"/projects/{project.pk}/"

    def line() -> str:
        card = client.get(address).text.split('id="categories"', 1)[1].split("</section>", 1)[0]
        (row,) = (row for row in card.split("<tr>") if ">critical</th>" in row)
        return row

    assert "no item has two ratings that could be compared" in line()
    assert "1.00" not in line()
    assert "<svg" not in line()
    rate(question, "single", "bea", "critical")
    update_question(question.pk)
    assert "1.00" in line()


def test_the_list_counts_what_is_stored(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    """Not what can be compared."""
    for number in range(7):
        rate(question, f"i{number}", "ann", "none")
    update_question(question.pk)
    client = client_for(lead)
    (row,) = client.get("/").context["rows"]
    assert (row.n_ratings, row.questions[0].n_ratings, row.n_items) == (7, 7, 7)
    assert row.attention[0] == "No item has two ratings, so nothing can be compared."
    assert "No ratings yet." not in row.attention
