"""Exports to files in a browser: the progress is live, or a link shows it without JavaScript."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from projects.models import Project, Question
from ratings import tasks
from ratings.exports import services
from ratings.models import ExportRun
from tests.browser.conftest import check_accessibility

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def large_project(
    project: Project, question: Question, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> Project:
    """Return a project that has more ratings than a direct download should have."""
    for number in range(3):
        rate(question, f"i{number}", "ann", "major")
    monkeypatch.setattr(services, "MAX_DIRECT_ROWS", 2)
    return project


def start_export(page: Page) -> None:
    page.get_by_role("button", name="CSV").first.click()
    expect(page.get_by_role("progressbar")).to_be_visible()


def download(page: Page) -> str:
    with page.expect_download() as event:
        page.get_by_role("link", name="reviews-").click()
    return event.value.path().read_text()


@pytest.mark.parametrize("width", [390, 1440])
def test_progress_is_live(open_page: Any, large_project: Project, width: int) -> None:
    page = open_page(
        f"/projects/{large_project.pk}/data/", viewport={"width": width, "height": 900}
    )
    start_export(page)
    ExportRun.objects.update(state="writing", rows_done=412_000, rows_total=1_000_000)
    expect(page.get_by_text("41%: 412,000 of 1,000,000 rows")).to_be_visible()
    check_accessibility(page)
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    ExportRun.objects.update(rows_done=0, rows_total=0)
    tasks.resume_stalled()
    expect(page.get_by_text("3 rows")).to_be_visible()
    check_accessibility(page)
    assert len(download(page).splitlines()) == 4
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("link", name="reviews-")).not_to_be_visible()


def test_without_javascript_a_link_shows_the_progress(
    open_page: Any, large_project: Project
) -> None:
    page = open_page(f"/projects/{large_project.pk}/data/", java_script_enabled=False)
    start_export(page)
    tasks.resume_stalled()
    page.get_by_role("link", name="Refresh").click()
    assert len(download(page).splitlines()) == 4
    start_export(page)
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("progressbar")).not_to_be_visible()
