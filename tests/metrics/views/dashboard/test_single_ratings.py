"""Ratings without another rating of the same item, in a project that is still collecting."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question

pytestmark = pytest.mark.django_db


def get_section_text(page: str, section_id: str) -> str:
    """Return the text of the section with this id."""
    section = page.split(f'id="{section_id}"', 1)[1].split("</section>", 1)[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", section)).split())


def rate_by_two(rate: Any, question: Any, items: int, *, n_different: int) -> None:
    """Rate items as ann and bea: both answer "none", but bea answers "minor" for the first few."""
    for number in range(items):
        rate(question, f"i{number}", "ann", "none")
        rate(question, f"i{number}", "bea", "minor" if number < n_different else "none")


def test_single_ratings_explain_difference_of_kappa_and_alpha(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    """Both rated 17 items and ann 13 more, which kappa uses for chance agreement.

    The items are not reported as harder.
    """
    rate_by_two(rate, question, 17, n_different=9)
    for number in range(13):
        rate(question, f"single {number}", "ann", "minor")
    update_question(question.pk)
    page = client_for(lead).get(f"/projects/{project.pk}/statistics/").text
    findings = get_section_text(page, "findings")
    assert "13 items with one rating are used only to estimate chance agreement" in findings
    assert "used only to estimate chance agreement" in findings
    assert "Harder items" not in findings
    assert "Krippendorff’s alpha" in get_section_text(page, "beside")


def test_category_without_comparable_ratings_has_no_value(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    rate_by_two(rate, question, 12, n_different=4)
    rate(question, "single", "ann", "critical")
    update_question(question.pk)
    client, address = client_for(lead), f"/projects/{project.pk}/statistics/"

    def get_row() -> str:
        section = client.get(address).text.split('id="categories"', 1)[1].split("</section>", 1)[0]
        (row,) = (row for row in section.split("<tr>") if ">critical</th>" in row)
        return row

    assert "no item has comparable ratings" in get_row()
    assert "1.00" not in get_row()
    assert "<svg" not in get_row()
    rate(question, "single", "bea", "critical")
    update_question(question.pk)
    assert "1.00" in get_row()


def test_project_list_counts_stored_ratings(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    """It counts all ratings, not only those that can be compared."""
    for number in range(7):
        rate(question, f"i{number}", "ann", "none")
    update_question(question.pk)
    client = client_for(lead)
    (row,) = client.get("/").context["rows"]
    assert (row.n_ratings, row.questions[0].n_ratings, row.n_items) == (7, 7, 7)
    assert row.attention[0] == "No item has two ratings yet."
    assert "No ratings yet." not in row.attention


@pytest.mark.parametrize("raters", [("ann", "bea"), ("ann", "bea", "cleo")])
def test_unweighted_kappa_is_beside_the_weighted_headline_of_an_ordinal_question(
    raters: tuple[str, ...],
    project: Any,
    question: Any,
    rate: Any,
    lead: Any,
    client_for: Any,
) -> None:
    labels = ["none", "minor", "major", "critical"]
    for number in range(20):
        for index, rater in enumerate(raters):
            step = index == 1 and number % 3 == 0 and number % 4 < 3
            rate(question, f"i{number}", rater, labels[number % 4 + step])
    update_question(question.pk)
    context = client_for(lead).get(f"/projects/{project.pk}/statistics/").context
    beside = dict(context["beside"])
    assert context["headline_name"].endswith("_quadratic")
    assert beside["fleiss_kappa"]["value"] < context["headline"]["value"]


def test_single_ratings_that_enter_chance_are_counted_beside_the_value(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    """Of people, as the value is; alpha leaves them out, and nobody mentions none."""
    project.raters.create(key="bot", kind="model")
    for number in range(10):
        for rater in ("ann", "bea", "cleo")[: 3 if number < 6 else 2]:
            rate(question, f"i{number}", rater, "minor" if (number + len(rater)) % 4 else "none")
    rate(question, "i0", "bot", "none")
    client, address = client_for(lead), f"/projects/{project.pk}/"

    def read_headline(path: str = "statistics/") -> str:
        client.get(f"{address}{path}")
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        return get_section_text(client.get(f"{address}{path}").text, "headline")

    update_question(question.pk)
    assert "26 ratings of 10 items. 95% CI" in read_headline()
    rate(question, "by a model", "bot", "none")
    for number in range(3):
        rate(question, f"single {number}", "ann", "minor")
    update_question(question.pk)
    expected = (
        "26 ratings of 10 items. "
        "3 items with one rating are used only to estimate chance agreement."
    )
    assert expected in read_headline()
    assert expected.replace(".", " ·", 1) in read_headline("")
    assert expected in read_headline("statistics/?exclude=bot")
    alpha = read_headline("statistics/?coefficient=krippendorff_alpha_ordinal")
    assert "26 ratings of 10 items. 95% CI" in alpha
