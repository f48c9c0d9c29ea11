"""Fixtures and helpers of the browser tests of the annotation page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from projects.models import Category, Item, Question
from ratings.models import Rating

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}
GUIDELINES = "# What to look for\n\n* **minor**: a slip\n* **major**: the meaning is lost\n"


@pytest.fixture
def items(project: Any) -> list[Item]:
    project.guidelines = GUIDELINES
    project.save()
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number:02}", body={"text": f"Text number {number}"})
        for number in range(14)
    )


@pytest.fixture
def open_annotation(
    browser: Browser, live_server: Any, client_for: Callable[[User], Client], project: Any
) -> Iterator[Any]:
    """Yield ``open_annotation(user, ...)``, which opens the annotation page with its own cookies.

    No script may fail or break the policy.
    """
    contexts, complaints = [], []

    # A card that slides in is not yet where its box says: measure it without motion.
    def open_path(user: User, path: str = "rate/", **options: Any) -> Page:
        context = browser.new_context(**{"reduced_motion": "reduce", **options})
        contexts.append(context)
        cookie = client_for(user).cookies["sessionid"]
        context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": live_server.url}])
        page = context.new_page()
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text) if "Security Policy" in message.text else None
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{live_server.url}/projects/{project.pk}/{path}")
        return page

    yield open_path
    for context in contexts:
        context.close()
    assert complaints == []


def expect_item(page: Page, number: int) -> None:
    expect(page.locator(".item-body__text")).to_have_text(f"Text number {number}")


def get_stored_codes() -> dict[str, int]:
    return {rating.item.key: rating.code for rating in Rating.objects.select_related("item")}


def set_option(page: Page, name: str, value: str) -> None:
    page.evaluate(
        "([name, value]) => localStorage.setItem(`concord:desk:${name}`, value)", [name, value]
    )


def add_second_question(project: Any, hotkeys: str) -> None:
    question = Question.objects.create(
        project=project, key="fluent", text="Is it fluent?", position=1
    )
    Category.objects.bulk_create(
        Category(question=question, code=code, label=label, position=code, hotkey=hotkeys[code])
        for code, label in enumerate(("yes", "no"))
    )


def wait_until_ready(page: Page, n_sheets: int) -> None:
    """Wait until so many items after the shown one are ready in the browser."""
    expect(page.locator("#desk")).to_have_attribute("data-ahead", str(n_sheets))
