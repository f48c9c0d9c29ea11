"""A control that reloads the same page keeps the scroll position."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_sorting_the_raters_keeps_the_scroll_position(open_page, rated_question):
    page = open_page(f"/projects/{rated_question.project_id}/statistics/")
    sort_link = page.locator("#raters th a, th a[id^='sort-']").first
    sort_link.scroll_into_view_if_needed()
    before = page.evaluate("window.scrollY")
    assert before > 300
    sort_link.click()
    page.wait_for_url("**sort=**")
    expect(page.locator("th[aria-sort]").first).to_be_visible()
    after = page.evaluate("window.scrollY")
    assert abs(after - before) < 300
