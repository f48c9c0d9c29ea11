"""Both people's day, in two browsers at once: a lead makes a project, imports and invites; the
guest comes by the link and rates thirty items by keyboard; the lead sees it on the page that stands
open, and looks closer."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, FilePayload, Page, expect

from metrics.jobs.question_updates import update_question
from projects.models import Project
from ratings import tasks
from ratings.models import Rating
from tests.browser.conftest import becomes, drawn
from tests.cast import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LABELS = ("none", "minor", "major")
N_ITEMS = 36
N_RATED = 30
FIRST = 2  # before the lead opens the dashboard, so that its page has a place for the new rater
SECRET = "a fine long secret"


@pytest.fixture
def person(browser: Browser, live_server: Any) -> Iterator[Callable[[], Page]]:
    """``person()``: somebody with a browser of their own. Afterwards nothing was refused, and no
    script had failed."""
    contexts, complaints = [], []

    def come() -> Page:
        context = browser.new_context(base_url=live_server.url, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda said: (
                complaints.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield come
    for context in contexts:
        context.close()
    assert complaints == []


def accessible(page: Page) -> None:
    """axe finds nothing, light and dark."""
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        drawn(page)
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def ratings_of_two() -> bytes:
    """Two raters who say the same about every item but each sixth, in two weeks of March; nobody
    said "none" twice."""
    lines = io.StringIO()
    lines.write("item,text,rater,label,timestamp\n")
    for number in range(N_ITEMS):
        said = LABELS[number % 3]
        other = LABELS[(number + 1) % 3] if number % 6 == 0 else said
        for rater, label in (("ann", said), ("ben", other)):
            day = f"2026-03-{2 + number // 3:02}T09:00:00Z"
            lines.write(f"text-{number:02},text-{number:02},{rater},{label},{day}\n")
    return lines.getvalue().encode()


def test_a_day_of_both(person: Callable[[], Page], lead: Any) -> None:
    desk = person()
    sign_in(desk)
    make_project(desk)
    project = Project.objects.get()
    question = project.questions.get()
    import_ratings(desk, project)
    link = invite(desk, project)
    guest = person()
    join(guest, link)
    rate_by_keyboard(guest, range(FIRST))
    update_question(question.pk)  # what the worker does, seconds later

    desk.goto(f"/projects/{project.pk}/?period=week")
    accessible(desk)
    desk.evaluate("() => { window.sameDocument = true }")
    headline = desk.locator("#headline .stat__value--big")
    before = headline.inner_text()
    line = desk.locator(".chart").first.locator("svg .mark-line path").first
    shape = line.get_attribute("d")
    hers = desk.locator("#raters").get_by_role("row", name=re.compile("maria"))
    expect(hers).to_contain_text(str(FIRST))

    rate_by_keyboard(guest, range(FIRST, N_RATED))
    look_back(guest, project)
    becomes(Rating.objects.filter(rater__key="maria").count, N_RATED)
    update_question(question.pk)
    expect(headline).not_to_have_text(before)
    expect(desk.locator("#as-of")).to_contain_text("up to date")
    expect(hers).to_contain_text(str(N_RATED))
    expect(line).not_to_have_attribute("d", shape or "")
    assert desk.evaluate("() => window.sameDocument")
    look_closer(desk, project)


def sign_in(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Name").fill("lead")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    accessible(page)


def make_project(page: Page) -> None:
    page.goto("/projects/new/")
    page.get_by_label("Name", exact=True).fill("Reviews")
    page.get_by_label("Question", exact=True).fill("How bad is it?")
    page.get_by_label("Scale").select_option("ordinal")
    for number, label in enumerate(LABELS, start=1):
        page.get_by_label(f"Label {number}").fill(label)
        page.get_by_label(f"Hotkey {number}").fill(str(number))
    page.get_by_role("textbox", name="Guidelines").fill("# Take care\n\nRead twice.")
    page.get_by_role("button", name="Make the project").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("How bad is it?")


def import_ratings(page: Page, project: Project) -> None:
    page.get_by_role("link", name="Data", exact=True).click()
    page.get_by_role("link", name="Import a file").click()
    file: FilePayload = {"name": "march.csv", "mimeType": "text/csv", "buffer": ratings_of_two()}
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Upload and look at it").click()
    page.get_by_role("button", name="Check the whole file").click()
    expect(page.get_by_role("heading", name="Checking the whole file")).to_be_visible()
    tasks.resume_stalled()
    expect(page.get_by_text("has no problem")).to_be_visible()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Importing")).to_be_visible()
    tasks.resume_stalled()
    expect(page.get_by_text("The file is imported.")).to_be_visible()


def invite(page: Page, project: Project) -> str:
    page.goto(f"/projects/{project.pk}/people/")
    page.get_by_label("Name", exact=True).fill("maria")
    page.get_by_label("make a new account").check()
    page.get_by_role("button", name="Add", exact=True).click()
    link = page.get_by_label("Invitation link").input_value()
    accessible(page)
    return link


def join(page: Page, link: str) -> None:
    page.goto(link)
    expect(page.get_by_role("heading", name="Welcome to Concord")).to_be_visible()
    accessible(page)
    for field in page.locator("input[type=password]").all():
        field.fill(SECRET)
    page.get_by_role("button", name="Set the password and sign in").click()
    # who only annotates, in one project, begins at its desk
    expect(page.locator(".sheet")).to_be_visible()

    accessible(page)
    page.keyboard.press("g")
    expect(page.get_by_role("dialog")).to_contain_text("Read twice.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()  # and the focus is where it was


def rate_by_keyboard(page: Page, numbers: range) -> None:
    """Two keys an item. Always the middle answer, which moves the agreement."""
    for number in numbers:
        expect(page.locator(".item-body__text")).to_have_text(f"text-{number:02}")
        page.keyboard.press("2")
        page.keyboard.press("Enter")
    expect(page.locator(".sheet__progress")).to_contain_text(f"{numbers.stop} today")


def look_back(page: Page, project: Project) -> None:
    """Her own ratings, and nothing of the others."""
    page.goto(f"/projects/{project.pk}/my-ratings/")
    expect(page.locator(".own__row")).to_have_count(N_RATED)
    assert not {"ann", "ben"} & set(page.locator("main").inner_text().split())
    accessible(page)


def look_closer(page: Page, project: Project) -> None:
    """From the dashboard to the rater, the pair and the item, by what there is to click."""
    page.locator("#raters").get_by_role("link", name="maria").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("maria")
    accessible(page)
    page.get_by_role("link", name=re.compile("Compare.*ann")).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("maria")
    accessible(page)
    item = page.locator(".key-cell a").first
    key = item.inner_text()
    item.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(key)
    expect(page.get_by_role("row", name=re.compile("^maria"))).to_contain_text("minor")
    page.get_by_role("row", name=re.compile("^maria")).locator("summary").click()
    expect(page.get_by_role("row", name=re.compile("^maria"))).to_contain_text("guidelines 1")
    accessible(page)
