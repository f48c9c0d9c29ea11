"""The day of a lead and a guest, in two browsers at once.

A lead creates a project, imports and invites; the guest joins by the link and rates thirty
items by keyboard; the lead sees it on the page that is open, and looks at the details.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from metrics.jobs.question_updates import update_question
from projects.models import Project
from quality.rater_status.recomputation import recompute_question
from ratings import tasks
from ratings.models import Rating
from tests.browser.conftest import check_accessibility, wait_for_charts, wait_for_value
from tests.cast import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LABELS = ("none", "minor", "major")
N_ITEMS = 36
N_RATED = 30
N_RATED_FIRST = (
    2  # before the lead opens the dashboard, so that its page has a row for the new rater
)
SECRET = "a fine long secret"


@pytest.fixture
def open_browser(browser: Browser, live_server: Any) -> Iterator[Callable[[], Page]]:
    """``open_browser()`` opens a page with its own cookies; the console must show no complaints."""
    contexts, complaints = [], []

    def open_page() -> Page:
        context = browser.new_context(base_url=live_server.url, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def check_both_schemes(page: Page) -> None:
    """Check that axe finds nothing, light and dark."""
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        wait_for_charts(page)
        check_accessibility(page)


def build_ratings_csv() -> bytes:
    """Return a CSV of two raters who disagree on every sixth item, in two weeks of March."""
    lines = io.StringIO()
    lines.write("item,text,rater,label,timestamp\n")
    for number in range(N_ITEMS):
        label_of_ann = LABELS[number % 3]
        label_of_ben = LABELS[(number + 1) % 3] if number % 6 == 0 else label_of_ann
        for rater, label in (("ann", label_of_ann), ("ben", label_of_ben)):
            day = f"2026-03-{2 + number // 3:02}T09:00:00Z"
            lines.write(f"text-{number:02},text-{number:02},{rater},{label},{day}\n")
    return lines.getvalue().encode()


def test_lead_sees_the_ratings_of_an_invited_guest_live(
    open_browser: Callable[[], Page], lead: Any
) -> None:
    lead_page = open_browser()
    sign_in(lead_page)
    create_project(lead_page)
    project = Project.objects.get()
    question = project.questions.get()
    import_ratings(lead_page, project)
    link = invite_maria(lead_page, project)
    guest_page = open_browser()
    join_by_link(guest_page, link)
    rate_by_keyboard(guest_page, range(N_RATED_FIRST))
    # What the worker does, seconds later.
    update_question(question.pk)
    recompute_question(question.pk)

    lead_page.goto(f"/projects/{project.pk}/?period=week")
    check_both_schemes(lead_page)
    lead_page.evaluate("() => { window.sameDocument = true }")
    headline = lead_page.locator("#headline .stat__value--big")
    value_before = headline.inner_text()
    line = lead_page.locator(".chart").first.locator("svg .mark-line path").first
    path_before = line.get_attribute("d")
    maria_row = lead_page.locator("#raters").get_by_role("row", name=re.compile("maria"))
    expect(maria_row).to_be_visible()
    n_rated = lead_page.locator("#headline .stat__note", has_text="ratings")
    note_before = n_rated.inner_text()

    rate_by_keyboard(guest_page, range(N_RATED_FIRST, N_RATED))
    check_own_ratings(guest_page, project)
    wait_for_value(Rating.objects.filter(rater__key="maria").count, N_RATED)
    update_question(question.pk)
    expect(headline).not_to_have_text(value_before)
    expect(lead_page.locator("#as-of")).to_contain_text("up to date")
    expect(n_rated).not_to_have_text(note_before)
    expect(line).not_to_have_attribute("d", path_before or "")
    assert lead_page.evaluate("() => window.sameDocument")
    open_details(lead_page, project)


def sign_in(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Username").fill("lead")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    check_both_schemes(page)


def create_project(page: Page) -> None:
    page.goto("/projects/new/")
    page.get_by_label("Name", exact=True).fill("Reviews")
    page.get_by_label("Question", exact=True).fill("How bad is it?")
    page.get_by_label("Scale").select_option("ordinal")
    for number, label in enumerate(LABELS, start=1):
        page.get_by_label(f"Label {number}").fill(label)
        page.get_by_label(f"Hotkey {number}").fill(str(number))
    page.get_by_role("textbox", name="Guidelines").fill("# Take care\n\nRead twice.")
    page.get_by_role("button", name="Create project").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("How bad is it?")


def import_ratings(page: Page, project: Project) -> None:
    page.get_by_role("navigation", name="Project").get_by_role("link", name="Items").click()
    page.get_by_role("link", name="Import and export", exact=True).click()
    page.get_by_role("link", name="Import file").click()
    file: FilePayload = {"name": "march.csv", "mimeType": "text/csv", "buffer": build_ratings_csv()}
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Upload file").click()
    page.get_by_role("button", name="Check file").click()
    expect(page.get_by_role("heading", name="Checking")).to_be_visible()
    tasks.resume_stalled()
    expect(page.get_by_text("No problems found")).to_be_visible()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Importing")).to_be_visible()
    tasks.resume_stalled()
    expect(page.get_by_text("Import completed.")).to_be_visible()


def invite_maria(page: Page, project: Project) -> str:
    page.goto(f"/projects/{project.pk}/people/")
    page.get_by_label("Name", exact=True).fill("maria")
    page.get_by_label("New account").check()
    page.get_by_role("button", name="Add", exact=True).click()
    link = page.get_by_label("Invitation link").input_value()
    check_both_schemes(page)
    return link


def join_by_link(page: Page, link: str) -> None:
    page.goto(link)
    expect(page.get_by_role("heading", name="Welcome to Concord")).to_be_visible()
    check_both_schemes(page)
    for field in page.locator("input[type=password]").all():
        field.fill(SECRET)
    page.get_by_role("button", name="Set password").click()
    # an annotator of a single project starts on its annotation page
    expect(page.locator(".sheet")).to_be_visible()

    check_both_schemes(page)
    page.keyboard.press("g")
    expect(page.get_by_role("dialog")).to_contain_text("Read twice.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()  # and the focus is where it was


def rate_by_keyboard(page: Page, numbers: range) -> None:
    """Rate with two keys an item, always the middle answer, which changes the agreement."""
    for number in numbers:
        expect(page.locator(".item-body__text")).to_have_text(f"text-{number:02}")
        page.keyboard.press("2")
        page.keyboard.press("Enter")
    expect(page.locator(".sheet__progress")).to_contain_text(f"{numbers.stop} today")


def check_own_ratings(page: Page, project: Project) -> None:
    """Check that she sees her own ratings, and nothing of the others."""
    page.goto(f"/projects/{project.pk}/my-ratings/")
    expect(page.locator(".own__row")).to_have_count(N_RATED)
    assert not {"ann", "ben"} & set(page.locator("main").inner_text().split())
    check_both_schemes(page)


def open_details(page: Page, project: Project) -> None:
    """Go from the dashboard to the rater, the pair and the item by clicking."""
    page.locator("#raters").get_by_role("link", name="maria").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("maria")
    check_both_schemes(page)
    page.get_by_role("link", name=re.compile("Compare.*ann")).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("maria")
    check_both_schemes(page)
    item = page.locator(".key-cell a").first
    key = item.inner_text()
    item.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(key)
    expect(page.get_by_role("row", name=re.compile("^maria"))).to_contain_text("minor")
    page.get_by_role("row", name=re.compile("^maria")).locator("summary").click()
    expect(page.get_by_role("row", name=re.compile("^maria"))).to_contain_text("guidelines 1")
    check_both_schemes(page)
