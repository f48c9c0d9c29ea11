"""The inbox by keyboard: walk, select, investigate and open."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from projects.models import Rater
from quality.models import Alert, AlertState

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_inbox_is_worked_through_by_keyboard(
    open_page: Any, project: Any, question: Any, make_alert: Any
) -> None:
    alerts = [
        make_alert(question, Rater.objects.create(project=project, key=key), n=n)
        for key, n in (("dan", 900), ("eve", 600), ("fay", 300))
    ]
    page = open_page("/inbox/")
    current = page.locator("tr[aria-current]")
    page.keyboard.press("j")
    expect(current).to_contain_text("dan")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(current).to_contain_text("dan")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_text("2 selected:")).to_be_visible()
    page.keyboard.press("e")
    expect(page.get_by_text("2 alerts assigned to you.")).to_be_visible()
    states = [Alert.objects.get(pk=alert.pk).state for alert in alerts]
    assert states == [AlertState.ACKNOWLEDGED, AlertState.ACKNOWLEDGED, AlertState.OPEN]
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/alerts/*/?from=inbox")
