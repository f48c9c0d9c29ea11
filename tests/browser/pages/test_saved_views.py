"""A view under a name, and a link to it, in a browser."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def accessible(page: Page) -> None:
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_lead_keeps_a_view_and_a_stranger_reads_it(
    scheme: Literal["light", "dark"], browser: Browser, project: Any, rated: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/?period=day", color_scheme=scheme)
    drawn(page)
    page.locator(".views > summary").focus()
    where = page.locator(".views > summary").bounding_box()
    page.locator(".views > summary").press("Enter")
    assert page.locator(".views > summary").bounding_box() == where  # what is pressed stays
    accessible(page)
    page.get_by_label("Keep this view as").fill("By day")
    page.get_by_role("button", name="Keep", exact=True).press("Enter")
    expect(page.get_by_text("The view is kept as “By day”.")).to_be_visible()
    page.locator(".views > summary").click()
    page.get_by_role("link", name="All views, and links to them").click()
    page.get_by_role("button", name="Make the link").click()
    accessible(page)
    link = page.get_by_label("New link").input_value()
    with browser.new_context(
        viewport={"width": 390, "height": 800},
        color_scheme=scheme,
    ) as context:
        other = context.new_page()
        other.goto(link)
        drawn(other)
        assert other.evaluate("() => document.documentElement.scrollWidth") <= 390
        accessible(other)
        page.get_by_role("button", name="End it now").click()
        other.goto(link)
        expect(other.get_by_role("heading", name="This link has ended")).to_be_visible()
        accessible(other)
