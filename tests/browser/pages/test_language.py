"""The language of a page and of its charts in a browser, and the switch between languages."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
import time_machine
from django.utils import timezone, translation
from playwright.sync_api import Browser, expect

from core.web.dates import format_relative
from tests.browser.conftest import check_accessibility, wait_for_charts

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_page_and_charts_change_their_language_together(
    project: Any,
    rated_question: Any,
    open_page: Any,
) -> None:
    page = open_page(
        f"/projects/{project.pk}/", locale="zh-CN", viewport={"width": 390, "height": 800}
    )
    wait_for_charts(page)
    trend = page.locator(".chart[data-chart*='trend'] svg")
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(trend).to_contain_text(re.compile(r"\d{4}-\d\d-\d\d"))
    expect(trend).to_contain_text("Fleiss Kappa")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    check_accessibility(page)
    page.locator(".site-person").click()
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    wait_for_charts(page)
    expect(trend).to_contain_text(re.compile(r"\d{4}-\d\d-\d\d"))
    expect(trend).to_contain_text("Fleiss’ kappa")


# The formatting that site.js applies to each (unit, number).
RELATIVE_TIME_SCRIPT = """([language, all]) => {
    const ago = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
    return all.map(([unit, number]) => ago.format(number, unit)
        .replace(/(\\d)(?=[\\u4e00-\\u9fff])/, "$1 "));
}"""
UNITS = {"minute": range(-59, 60), "hour": range(-23, 24), "day": range(-6, 7)}


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_server_formats_relative_times_like_browsers(language: str, browser: Browser) -> None:
    """Otherwise the page would move when site.js rewrites the times.

    It leaves "just now" as it is: browsers say "this minute".
    """
    offsets = [(unit, n) for unit, numbers in UNITS.items() for n in numbers if n]
    with browser.new_context() as context:
        browser_texts = context.new_page().evaluate(RELATIVE_TIME_SCRIPT, [language, offsets])
    now = datetime.datetime(2026, 11, 22, 16, 41, tzinfo=datetime.UTC)
    with time_machine.travel(now, tick=False), translation.override(language):
        server_texts = [
            format_relative(timezone.now() + datetime.timedelta(**{f"{unit}s": n}))
            for unit, n in offsets
        ]
    assert server_texts == browser_texts
