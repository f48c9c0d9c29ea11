"""`make screenshots`: the pictures of README and docs, from the example project.

Not a test of the suite: run it by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, ViewportSize, expect

from metrics import tasks
from metrics.example import example_projects
from projects.models import Member, Project
from quality import tasks as quality_tasks

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FOLDER = Path(__file__).parents[2] / "docs" / "images"
MAX_BYTES = 220_000  # bytes of one picture
DESKTOP: ViewportSize = {"width": 1440, "height": 960}
PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture
def example(lead: User) -> Project:
    example_projects.create_missing_examples(owner=lead)
    project = example_projects.find_example(lead)
    assert project is not None
    # As a project of the lead's own: examples are read-only.
    Project.objects.update(is_example=False)
    project.refresh_from_db()
    return project


def create_ada(project: Project) -> User:
    """Create an account for the example's rater of this name."""
    user = User.objects.create_user("ada")
    Member.objects.create(project=project, user=user, role=Member.Role.ANNOTATOR)
    project.raters.filter(user=user).delete()  # the example has her already
    project.raters.filter(key="ada").update(user=user)
    return user


def wait_for_charts(page: Page) -> None:
    for chart in page.locator(".chart:visible").all():
        expect(chart).to_have_attribute("data-state", "drawn")


SCREENSHOTS: dict[str, tuple[str, str, ViewportSize, Literal["light", "dark"]]] = {
    # name: (user, path below the project, window size, colour scheme)
    "dashboard": ("lead", "", DESKTOP, "light"),
    "dashboard-phone": ("lead", "", PHONE, "dark"),
    "rater": ("lead", "raters/goro/", DESKTOP, "dark"),
    "desk": ("ada", "rate/", {"width": 1440, "height": 720}, "light"),
    "desk-phone": ("ada", "rate/", PHONE, "light"),
    "guidelines": ("lead", "guidelines/", {"width": 1440, "height": 900}, "light"),
}


def test_screenshots_are_saved(
    browser: Browser,
    live_server: Any,
    client_for: Callable[[User], Client],
    lead: User,
    example: Project,
) -> None:
    people = {"lead": lead, "ada": create_ada(example)}
    client_for(lead).get(f"/projects/{example.pk}/")  # requests results from a worker
    tasks.sweep_all()
    # Gold answers, alerts and rater statuses, as a running worker computes them.
    quality_tasks.sweep_gold_and_repeats()
    quality_tasks.sweep_labels_and_queues()
    quality_tasks.sweep_alerts()
    quality_tasks.sweep_raters()
    for name, (username, path, size, scheme) in SCREENSHOTS.items():
        with browser.new_context(
            viewport=size, color_scheme=scheme, reduced_motion="reduce"
        ) as context:
            cookie = client_for(people[username]).cookies["sessionid"]
            context.add_cookies(
                [{"name": "sessionid", "value": cookie.value, "url": live_server.url}]
            )
            page = context.new_page()
            page.goto(f"{live_server.url}/projects/{example.pk}/{path}")
            wait_for_charts(page)
            for details in page.locator("main details:has(.changed-lines)").all():
                details.evaluate("element => { element.open = true; }")
            file = FOLDER / f"{name}.png"
            page.screenshot(path=file)
            assert file.stat().st_size <= MAX_BYTES, f"{file.name} has {file.stat().st_size} bytes"
