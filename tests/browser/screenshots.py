"""`make screenshots`: the pictures of README and docs, of the example project. No test: it is run
by its name alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, ViewportSize, expect

from metrics import tasks
from metrics.example import loader
from projects.models import Member, Project

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FOLDER = Path(__file__).parents[2] / "docs" / "images"
LARGEST = 220_000  # bytes of one picture
DESK: ViewportSize = {"width": 1440, "height": 960}
PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture
def example(lead: User) -> Project:
    loader.load_examples(owner=lead)
    project = loader.find_example(lead)
    assert project is not None
    return project


def ada(project: Project) -> User:
    """The example's rater of this name, with an account."""
    user = User.objects.create_user("ada")
    Member.objects.create(project=project, user=user, role=Member.Role.ANNOTATOR)
    project.raters.filter(user=user).delete()  # the example has her already
    project.raters.filter(key="ada").update(user=user)
    return user


def drawn(page: Page) -> None:
    for chart in page.locator(".chart:visible").all():
        expect(chart).to_have_attribute("data-state", "drawn")


PICTURES: dict[str, tuple[str, str, ViewportSize, Literal["light", "dark"]]] = {
    # name: who, address below the project, size of the window, colours
    "dashboard": ("lead", "", DESK, "light"),
    "dashboard-phone": ("lead", "", PHONE, "dark"),
    "rater": ("lead", "raters/goro/", DESK, "dark"),
    "desk": ("ada", "rate/", {"width": 1440, "height": 720}, "light"),
    "desk-phone": ("ada", "rate/", PHONE, "light"),
    "guidelines": ("lead", "guidelines/", {"width": 1440, "height": 900}, "light"),
}


def test_pictures(
    browser: Browser,
    live_server: Any,
    client_for: Callable[[User], Client],
    lead: User,
    example: Project,
) -> None:
    people = {"lead": lead, "ada": ada(example)}
    client_for(lead).get(f"/projects/{example.pk}/")  # asks for what a worker makes
    tasks.sweep_all()
    for name, (who, path, size, scheme) in PICTURES.items():
        with browser.new_context(
            viewport=size, color_scheme=scheme, reduced_motion="reduce"
        ) as context:
            cookie = client_for(people[who]).cookies["sessionid"]
            context.add_cookies(
                [{"name": "sessionid", "value": cookie.value, "url": live_server.url}]
            )
            page = context.new_page()
            page.goto(f"{live_server.url}/projects/{example.pk}/{path}")
            drawn(page)
            for details in page.locator("main details:has(.changed-lines)").all():
                details.evaluate("element => { element.open = true; }")
            file = FOLDER / f"{name}.png"
            page.screenshot(path=file)
            assert file.stat().st_size <= LARGEST, f"{file.name} has {file.stat().st_size} bytes"
