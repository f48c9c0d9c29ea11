"""The page of a change in a browser: it waits, shows the result by itself, and draws its bars."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from metrics import tasks
from tests.browser.conftest import drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_result_comes_by_itself(
    scheme: str,
    project: Any,
    rated: Any,
    open_page: Any,
) -> None:
    page = open_page(f"/projects/{project.pk}/change/", color_scheme=scheme)
    expect(page.get_by_text("being computed")).to_be_visible()
    assert Axe().run(page).response["violations"] == []
    tasks.sweep_all()
    expect(page.get_by_role("heading", name="How much each explains")).to_be_visible()
    drawn(page)
    assert page.locator(".chart svg .mark-rect.role-mark path").count() >= 3
    assert Axe().run(page).response["violations"] == []
    page.locator(".chart svg .mark-rect.role-mark path").first.hover()
    expect(page.locator("#vg-tooltip-element")).to_be_visible()


def test_it_fits_a_phone(
    project: Any,
    rated: Any,
    open_page: Any,
) -> None:
    page = open_page(f"/projects/{project.pk}/change/", viewport={"width": 390, "height": 800})
    tasks.sweep_all()
    expect(page.get_by_role("heading", name="How much each explains")).to_be_visible()
    drawn(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
