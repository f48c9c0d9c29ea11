"""Printed pages show the selection, and no controls."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from metrics.filtered import filtered_jobs
from tests.browser.conftest import wait_for_charts

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Controls that are useless on paper, without the button that shows the project’s name.
CONTROLS = "button:not(.switcher), select, input, textarea, .button, .chart__tools, summary:not(.fold > *), .filters, .pager"
LINK_TEXTS = (
    "Change",
    "Choice of coefficient",
    "All coefficients",
    "All pairs",
    "All raters",
)
VISIBLE_SCRIPT = """(selector) => [...document.querySelectorAll(selector)]
    .filter((element) => element.checkVisibility()).map((element) => element.outerHTML)"""


def test_printed_dashboard_names_its_project_and_filter(
    project: Any, rated_question: Any, open_page: Any
) -> None:
    address = f"/projects/{project.pk}/?from=2020-01-01&to=2030-12-31"
    open_page(address)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    page = open_page(address)
    wait_for_charts(page)
    print_header = page.locator(".only-printed")
    expect(print_header).to_be_hidden()
    page.emulate_media(media="print")
    expect(print_header).to_contain_text("kappa")
    expect(print_header).to_contain_text("from 2020-01-01, to 2030-12-31")
    expect(page.get_by_text(project.name).first).to_be_visible()
    assert page.evaluate(VISIBLE_SCRIPT, CONTROLS) == []
    assert page.evaluate(VISIBLE_SCRIPT, "details:not([open])") == []
    main_text = page.locator("main").inner_text()
    assert [link_text for link_text in LINK_TEXTS if link_text in main_text] == []
    assert page.locator(".chart svg").first.is_visible()


@pytest.mark.parametrize(
    "address",
    ["", "statistics/", "raters/", "raters/r1/", "pairs/", "pairs/?a=r1&b=r2", "items/", "people/"],
)
def test_no_controls_are_printed(
    address: str, project: Any, rated_question: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/{address}")
    wait_for_charts(page)
    page.emulate_media(media="print")
    assert page.evaluate(VISIBLE_SCRIPT, CONTROLS) == []
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_unfiltered_page_is_printed_as_all_ratings(
    project: Any, rated_question: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/")
    page.emulate_media(media="print")
    expect(page.locator(".only-printed")).to_contain_text("all ratings")
