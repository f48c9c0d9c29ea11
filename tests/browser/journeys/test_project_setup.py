"""A lead's first day in a browser: sign in, create a project, set weights, and invite a guest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Dialog, Page, expect

from projects.models import Project
from tests.browser.conftest import check_accessibility
from tests.cast import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SECRET = "a fine long secret"


@pytest.fixture
def open_browser(browser: Browser, live_server: Any) -> Iterator[Callable[..., Page]]:
    """``open_browser(...)`` opens a page with its own cookies; the console must show no errors."""
    contexts, complaints = [], []

    def open_page(**options: Any) -> Page:
        context = browser.new_context(
            **{"base_url": live_server.url, "reduced_motion": "reduce", **options}
        )
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in complaints if "status of 400" not in text] == []


def sign_in(page: Page, username: str = "lead", password: str = PASSWORD) -> None:
    page.goto("/sign-in/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")


def test_another_template_keeps_the_project_fields(open_browser, lead):
    page = open_browser()
    sign_in(page)
    page.goto("/projects/new/")
    page.get_by_label("Name", exact=True).fill("Häuser & Gärten")
    page.get_by_label("Description").fill("two\nlines")
    page.get_by_role("link", name="Severity").click()
    page.wait_for_url("**template=severity**")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Häuser & Gärten")
    expect(page.get_by_label("Description")).to_have_value("two\nlines")
    expect(page.get_by_label("Label 1")).not_to_have_value("")
    page.get_by_role("link", name="Yes or no").click()
    page.wait_for_url("**template=yes**")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Häuser & Gärten")


def test_lead_creates_a_project_and_a_guest_joins(open_browser, lead):
    page = open_browser(timezone_id="Europe/Berlin")
    sign_in(page)
    page.goto("/projects/new/")
    expect(page.locator("[name=time_zone]")).to_have_value("Europe/Berlin")
    page.get_by_label("Name", exact=True).fill("Reviews")
    page.get_by_label("Question", exact=True).fill("How bad is it?")
    value = page.get_by_role("columnheader", name="Value")
    page.get_by_label("Scale").select_option("nominal")
    expect(value).to_be_hidden()  # answers without an order have no values
    page.get_by_label("Scale").select_option("ordinal")
    expect(value).to_be_visible()
    for number, label in enumerate(("none", "minor", "major"), start=1):
        page.get_by_label(f"Label {number}").fill(label)
    page.get_by_role("button", name="Add row").click()
    page.keyboard.type("critical")
    page.get_by_role("textbox", name="Guidelines").fill("# Take care")
    expect(page.locator("#guidelines-preview h2")).to_have_text("Take care")
    page.get_by_role("button", name="Create project").click()
    expect(page.get_by_text("Project created")).to_be_visible()
    project = Project.objects.get()
    labels = [category.label for category in project.questions.get().active_categories()]
    assert labels == ["none", "minor", "major", "critical"]

    page.goto(f"/projects/{project.pk}/people/")
    page.get_by_label("Name", exact=True).fill("guest")
    page.get_by_role("button", name="Add", exact=True).click()
    link = page.get_by_label("Invitation link").input_value()
    guest = open_browser()
    guest.goto(link)
    guest.get_by_label("New password", exact=True).fill(SECRET)
    guest.get_by_label("Confirm new password").fill(SECRET)
    guest.get_by_role("button", name="Set password").click()
    welcome = guest.get_by_text("Password saved. You’re signed in.")
    expect(welcome).to_be_visible()
    # It is a toast over the annotation page, like every message, and goes with the first answer.
    assert welcome.evaluate("said => said.closest('.desk__notices') !== null")
    assert project.raters.get().user == User.objects.get(username="guest")


def test_categories_move_by_keyboard(open_browser, project, question):
    page = open_browser()
    sign_in(page)
    page.goto(f"/projects/{project.pk}/settings/questions/severity/")
    page.get_by_label("Label 3").focus()
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("[data-categories-said]")).to_have_text("major moved to position 1.")
    page.get_by_role("button", name="Move none down").press("Enter")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("saved.")).to_be_visible()
    assert [category.label for category in question.active_categories()] == [
        "major",
        "minor",
        "none",
        "critical",
    ]


def test_hotkey_placeholders_follow_the_input(open_browser, lead):
    page = open_browser()
    sign_in(page)
    page.goto("/projects/new/")
    keys = page.locator('input[name$="-hotkey"]')
    hints = "(keys) => keys.map((key) => key.placeholder)"
    assert keys.evaluate_all(hints) == ["1", "2", "3"]
    keys.nth(0).fill("2")
    assert keys.evaluate_all(hints)[1:] == ["1", "3"]
    page.get_by_role("button", name="Add row").click()
    assert keys.evaluate_all(hints)[1:] == ["1", "3", "4"]
    keys.nth(0).fill("")
    assert keys.evaluate_all(hints) == ["1", "2", "3", "4"]


def test_a_matrix_is_mirrored_and_checked_while_it_is_typed(open_browser, project, question):
    page = open_browser()
    sign_in(page)
    page.goto(f"/projects/{project.pk}/settings/questions/severity/")
    expect(page.get_by_label("Weight of none and minor")).to_be_hidden()
    page.get_by_label("custom").check()
    cell = page.get_by_label("Weight of none and minor")
    cell.fill("7")
    expect(page.locator("#matrix-check")).to_contain_text("row 1, column 2 must be 0–1, not 7")
    cell.fill("0.25")
    expect(page.get_by_label("Weight of minor and none")).to_have_value("0.25")
    expect(page.locator("#matrix-check td.heat__cell--2").first).to_have_text("0.25")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("saved.")).to_be_visible()
    question.refresh_from_db()
    assert (question.weights, question.weight_matrix[1][0]) == ("custom", 0.25)


def test_a_project_is_set_up_without_javascript(open_browser, project, question):
    page = open_browser(java_script_enabled=False)
    sign_in(page)
    page.goto(f"/projects/{project.pk}/settings/questions/severity/")
    page.get_by_label("Order 4").fill("0")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("saved.")).to_be_visible()
    assert question.active_categories()[0].label == "critical"


def test_leaving_unsaved_changes_is_warned_of(open_browser, project):
    page = open_browser()
    sign_in(page)
    page.goto(f"/projects/{project.pk}/settings/")
    state = page.locator("[data-unsaved]")
    expect(state).to_have_text("")
    page.get_by_label("Name", exact=True).fill("Films")
    expect(state).to_have_text("Unsaved changes")
    shown_dialogs: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        shown_dialogs.append(dialog.type)
        dialog.dismiss()

    page.once("dialog", dismiss)
    page.get_by_role("link", name="Quality checks").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Films")
    assert shown_dialogs == ["beforeunload"]
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("saved.")).to_be_visible()
    page.get_by_role("link", name="Quality checks").click()
    expect(page.get_by_label("Hidden gold")).to_be_visible()
    assert len(shown_dialogs) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_are_accessible_and_fit_a_phone(open_browser, project, scheme):
    page = open_browser(
        color_scheme=scheme, bypass_csp=True, viewport={"width": 390, "height": 844}
    )
    page.goto("/sign-in/")
    check_accessibility(page)
    sign_in(page)
    base = f"/projects/{project.pk}"
    addresses = [
        "settings/", "settings/new-question/", "settings/questions/severity/", "settings/checks/",
        "exams/", "alerts/settings/", "people/",
    ]  # fmt: skip
    for address in [
        "/projects/new/",
        "/tokens/",
        "/password/",
        *(f"{base}/{path}" for path in addresses),
    ]:
        page.goto(address)
        check_accessibility(page)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), address


def test_owner_of_an_account_accepts_an_offer_and_joins(open_browser, project, question, make_user):
    make_user("guest")
    page = open_browser()
    sign_in(page)
    page.goto(f"/projects/{project.pk}/people/")
    page.get_by_label("Name", exact=True).fill("guest")
    page.get_by_label("Existing account").check()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("If “guest” exists")).to_be_visible()
    expect(page.get_by_role("button", name="Withdraw guest")).to_be_visible()
    check_accessibility(page)
    guest = open_browser(viewport={"width": 390, "height": 844})
    sign_in(guest, "guest")
    expect(guest.get_by_role("heading", name="Project invitations")).to_be_visible()
    check_accessibility(guest)
    guest.get_by_role("button", name=f"Join {project.name}").click()
    expect(guest.get_by_text(f"You joined {project.name}.")).to_be_visible()
    assert project.raters.get(user__username="guest").key == "guest"
