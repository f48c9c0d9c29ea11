"""The list of items, navigated by keyboard with an item open beside it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import check_accessibility

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_items_are_navigated_by_keyboard(project: Any, open_page: Any, rated_question: Any) -> None:
    page = open_page(f"/projects/{project.pk}/items/?answers=differ", color_scheme="dark")
    title, rows = page.locator("#pane-title"), page.locator("#item-list tbody tr")
    names = [row.locator("[data-open]").inner_text() for row in rows.all()[:3]]
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("select the item")
    expect(keys).to_contain_text("Overview")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(title).to_have_text(names[0])
    page.keyboard.press("j")
    expect(title).to_have_text(names[1])
    page.keyboard.press("j")
    expect(title).to_have_text(names[2])
    page.keyboard.press("k")
    expect(title).to_have_text(names[1])
    assert "item=" in page.url  # it can be shared
    check_accessibility(page)
    page.keyboard.press("x")
    expect(page.locator("#n-ticked")).to_have_text("1")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.reload()
    expect(title).to_have_text(names[1])
    page.keyboard.press("Escape")
    expect(title).to_have_count(0)
    assert "item=" not in page.url
    page.locator("[data-tick-all]").check()
    expect(page.locator("#n-ticked")).to_have_text(str(rows.count()))
