"""The page of a change in a browser: it waits, shows the result by itself, and draws its bars."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from metrics import tasks
from tests.browser.conftest import check_accessibility, wait_for_charts

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_result_appears_without_reload(
    scheme: str,
    project: Any,
    rated_question: Any,
    open_page: Any,
) -> None:
    page = open_page(f"/projects/{project.pk}/change/", color_scheme=scheme)
    expect(page.get_by_text("Being computed")).to_be_visible()
    check_accessibility(page)
    tasks.sweep_all()
    expect(page.get_by_role("heading", name="Contributions")).to_be_visible()
    wait_for_charts(page)
    assert page.locator(".chart svg .mark-rect.role-mark path").count() >= 3
    check_accessibility(page)
    page.locator(".chart svg .mark-rect.role-mark path").first.hover()
    expect(page.locator("#vg-tooltip-element")).to_be_visible()


def test_change_page_fits_a_phone(
    project: Any,
    rated_question: Any,
    open_page: Any,
) -> None:
    page = open_page(f"/projects/{project.pk}/change/", viewport={"width": 390, "height": 800})
    tasks.sweep_all()
    expect(page.get_by_role("heading", name="Contributions")).to_be_visible()
    wait_for_charts(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
