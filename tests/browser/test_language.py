"""The language of a page and of its charts in a browser, and the switch between languages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_page_and_charts_speak_one_language_and_change_it(
    project: Any,
    rated: Any,
    open_page: Any,
) -> None:
    page = open_page(
        f"/projects/{project.pk}/", locale="zh-CN", viewport={"width": 390, "height": 800}
    )
    drawn(page)
    trend = page.locator(".chart[data-chart*='trend'] svg")
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(trend).to_contain_text(re.compile(r"3月\d+日"))
    expect(trend).to_contain_text("弗莱斯 Kappa")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert Axe().run(page).response["violations"] == []
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    drawn(page)
    expect(trend).to_contain_text(re.compile(r"\d+ Mar"))
    expect(trend).to_contain_text("Fleiss’ kappa")
