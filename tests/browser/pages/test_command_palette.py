"""The command palette, the keyboard shortcuts and the style page, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import check_accessibility

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(browser: Any, live_server: Any, client_for: Any, admin: Any) -> Iterator[Any]:
    """Yield a page of a staff user, whose console must show no errors."""
    context = browser.new_context(base_url=live_server.url, reduced_motion="reduce")
    cookie = client_for(admin).cookies["sessionid"]
    context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": live_server.url}])
    page = context.new_page()
    complaints: list[str] = []
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []


def test_palette_and_shortcuts_work_by_keyboard(
    page: Any, project: Any, question: Any, rate: Any
) -> None:
    """Ctrl+K, a name and Enter; g and a letter; no shortcut while typing, nor when switched off."""
    rate(question, "post-7", "w1", "minor")
    page.goto("/style-guide/")
    check_accessibility(page)

    page.goto(f"/projects/{project.pk}/people/")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("link", name="Overview Page")).to_be_visible()
    check_accessibility(page)
    page.keyboard.type("post")
    expect(page.locator(".palette__found").get_by_role("link")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")  # with the last search
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/projects/{project.pk}/items/post-7/")

    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Overview")
    check_accessibility(page)
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("n")
    page.wait_for_url(f"**/projects/{project.pk}/rate/")
    page.goto(f"/projects/{project.pk}/alerts/")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url(f"**/projects/{project.pk}/raters/")
    page.get_by_role("navigation", name="Raters").get_by_role("link", name="Members").click()
    page.wait_for_url(f"**/projects/{project.pk}/people/")
    field = page.get_by_label("Name", exact=True)
    field.focus()
    page.keyboard.type("gi?")
    expect(field).to_have_value("gi?")

    page.get_by_role("heading", level=1).click()
    page.evaluate("() => localStorage.setItem('concord:desk:keys', 'off')")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_palette_and_key_list_work_in_the_admin(page: Any, project: Any) -> None:
    """Django's own pages have the same palette and list of keys as all others."""
    page.goto("/admin/auth/user/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Show this list")
    check_accessibility(page, "#keys-help")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type(project.name)
    expect(page.locator(".palette__found").get_by_role("link")).to_have_count(1)
    check_accessibility(page, "#palette")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/projects/{project.pk}/")
