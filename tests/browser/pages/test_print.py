"""A page on paper: what was chosen, and nothing to press."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from metrics.filtered import filtered_jobs
from tests.browser.conftest import drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# What the reader of a sheet of paper can do nothing with.
# (The button that holds the project’s name says it.)
PRESSED = "button:not(.switcher), select, input, textarea, .button, .chart__tools, summary:not(.fold > *), .filters, .pager"
LINKS = ("Choose another", "Which coefficient?", "All coefficients", "All pairs", "Whom to look at")
SEEN = """(selector) => [...document.querySelectorAll(selector)]
    .filter((element) => element.checkVisibility()).map((element) => element.outerHTML)"""


def test_a_dashboard_on_paper_says_of_what_it_is(project: Any, rated: Any, open_page: Any) -> None:
    address = f"/projects/{project.pk}/?from=2020-01-01&to=2030-12-31"
    open_page(address)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    page = open_page(address)
    drawn(page)
    said = page.locator(".only-printed")
    expect(said).to_be_hidden()
    page.emulate_media(media="print")
    expect(said).to_contain_text("kappa")
    expect(said).to_contain_text("from 2020-01-01, to 2030-12-31")
    expect(page.get_by_text(project.name).first).to_be_visible()
    assert page.evaluate(SEEN, PRESSED) == []
    assert page.evaluate(SEEN, "details:not([open])") == []
    seen = page.locator("main").inner_text()
    assert [words for words in LINKS if words in seen] == []
    assert page.locator(".chart svg").first.is_visible()


@pytest.mark.parametrize(
    "address", ["", "raters/", "raters/r1/", "pairs/", "pairs/?a=r1&b=r2", "items/", "people/"]
)
def test_nothing_to_press_is_printed(
    address: str, project: Any, rated: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/{address}")
    drawn(page)
    page.emulate_media(media="print")
    assert page.evaluate(SEEN, PRESSED) == []
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_without_a_filter_it_is_of_all_ratings(project: Any, rated: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/")
    page.emulate_media(media="print")
    expect(page.locator(".only-printed")).to_contain_text("all ratings")
