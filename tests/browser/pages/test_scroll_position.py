"""A control that shows the same page otherwise leaves the reader where they are."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_sorting_the_raters_does_not_throw_the_page_to_its_top(open_page, rated):
    page = open_page(f"/projects/{rated.project_id}/")
    head = page.locator("#raters th a, th a[id^='sort-']").first
    head.scroll_into_view_if_needed()
    before = page.evaluate("window.scrollY")
    assert before > 300
    head.click()
    page.wait_for_url("**sort=**")
    expect(page.locator("th[aria-sort]").first).to_be_visible()
    after = page.evaluate("window.scrollY")
    assert abs(after - before) < 300
