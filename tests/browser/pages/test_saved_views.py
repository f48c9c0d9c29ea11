"""A saved view and a link to it, in a browser."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import check_accessibility, wait_for_charts

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lead_saves_a_view_and_a_stranger_opens_its_link(
    scheme: Literal["light", "dark"],
    browser: Browser,
    project: Any,
    rated_question: Any,
    open_page: Any,
) -> None:
    page = open_page(f"/projects/{project.pk}/?period=day", color_scheme=scheme)
    wait_for_charts(page)
    page.locator(".views > summary").first.focus()
    summary_box = page.locator(".views > summary").first.bounding_box()
    page.locator(".views > summary").first.press("Enter")
    assert (
        page.locator(".views > summary").first.bounding_box() == summary_box
    )  # the pressed control does not move
    check_accessibility(page)
    page.get_by_label("Save view as").fill("By day")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    expect(page.get_by_text("saved.")).to_be_visible()
    page.locator(".views > summary").first.click()
    page.get_by_role("link", name="Manage views").click()
    page.get_by_role("button", name="Create link").click()
    check_accessibility(page)
    link = page.get_by_label("New link").input_value()
    with browser.new_context(
        viewport={"width": 390, "height": 800},
        color_scheme=scheme,
    ) as context:
        guest_page = context.new_page()
        guest_page.goto(link)
        wait_for_charts(guest_page)
        assert guest_page.evaluate("() => document.documentElement.scrollWidth") <= 390
        check_accessibility(guest_page)
        page.get_by_role("button", name="Revoke").click()
        guest_page.goto(link)
        expect(guest_page.get_by_role("heading", name="This link has expired")).to_be_visible()
        check_accessibility(guest_page)
