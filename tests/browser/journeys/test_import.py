"""The import wizard in a browser: with JavaScript the page goes on by itself, without it by a
link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from ratings import tasks
from tests.ratings.imports.wizard_client import said

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ROWS = "item,rater,label\ni1,ann,minor\ni1,ben,major\ni1,ben,minor\ni2,ann,none\n"
BAD = "item,rater,label\ni1,ann,mjor\ni1,ben\n"


@pytest.fixture
def open_page(
    browser: Browser, live_server: Any, client_for: Callable[[User], Client], lead: User
) -> Iterator[Any]:
    """``open_page(path, ...)`` for the lead. Afterwards the policy has refused nothing and no
    script has failed."""
    contexts, complaints = [], []

    def do(path: str, **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        cookie = client_for(lead).cookies["sessionid"]
        context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": live_server.url}])
        page = context.new_page()
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text) if "Security Policy" in message.text else None
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{live_server.url}{path}")
        return page

    yield do
    for context in contexts:
        context.close()
    assert complaints == []


def upload(page: Page, content: str) -> None:
    page.get_by_label("File", exact=True).set_input_files(
        {"name": "r.csv", "mimeType": "text/csv", "buffer": content.encode()}
    )
    page.get_by_role("button", name="Upload and look at it").click()
    expect(page.get_by_role("heading", name="What the columns mean")).to_be_visible()


def work() -> None:
    tasks.resume_stalled()


def no_violation(page: Page) -> None:
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_page_goes_on_by_itself(open_page: Any, project: Any, question: Any) -> None:
    page = open_page(f"/projects/{project.pk}/data/import/")
    no_violation(page)
    upload(page, ROWS)
    no_violation(page)
    page.get_by_role("button", name="Check the whole file").click()
    expect(page.get_by_role("heading", name="Checking the whole file")).to_be_visible()
    no_violation(page)
    work()
    expect(page.get_by_text("has no problem")).to_be_visible()
    no_violation(page)
    page.get_by_label("the first row of the file stands").check()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Importing")).to_be_visible()
    work()
    expect(page.get_by_text("The file is imported.")).to_be_visible()
    no_violation(page)
    assert said(question)["i1", "ben"] == "major"
    page.get_by_role("link", name="To the data").click()
    no_violation(page)


@pytest.mark.parametrize("width", [390, 1280])
def test_problems_are_shown_on_any_screen(open_page: Any, project: Any, width: int) -> None:
    page = open_page(
        f"/projects/{project.pk}/data/import/",
        viewport={"width": width, "height": 800},
        color_scheme="dark",
    )
    upload(page, BAD)
    page.get_by_role("button", name="Check the whole file").click()
    work()
    expect(
        page.get_by_text(
            "'mjor' is no label of this question; one of none, minor, major, critical."
        )
    ).to_be_visible()
    no_violation(page)
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


def test_without_javascript_a_link_leads_on(open_page: Any, project: Any, question: Any) -> None:
    page = open_page(f"/projects/{project.pk}/data/import/", java_script_enabled=False)
    upload(page, ROWS)
    page.get_by_role("button", name="Check the whole file").click()
    work()
    page.get_by_role("link", name="Refresh").click()
    page.get_by_role("button", name="Import", exact=True).click()
    work()
    page.get_by_role("link", name="Refresh").click()
    expect(page.get_by_text("The file is imported.")).to_be_visible()
    assert len(said(question)) == 3


def test_only_the_fields_of_the_layout_are_shown(open_page: Any, project: Any) -> None:
    page = open_page(f"/projects/{project.pk}/data/import/")
    upload(page, ROWS)
    expect(page.get_by_label("Comment")).to_be_visible()
    expect(page.get_by_label("Columns that are no raters")).to_be_hidden()
    page.get_by_label("a column for each rater").check()
    expect(page.get_by_label("Comment")).to_be_hidden()
    expect(page.get_by_label("Columns that are no raters")).to_be_visible()
    where = page.get_by_role("heading", name="Where it belongs")
    expect(where).to_be_visible()
    page.get_by_label("one row for each item, without ratings").check()
    expect(where).to_be_hidden()  # there is nothing under it


DROP = """([box, names]) => {
  const carried = new DataTransfer();
  for (const name of names) carried.items.add(new File(["item,rater,label\\ni1,ann,minor"], name));
  const event = new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true });
  return document.querySelector(box).dispatchEvent(event);
}"""
NAMES = "() => [...document.querySelector('[data-drop] [type=file]').files].map((f) => f.name)"


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("data/import/", ["a.csv"]),
        ("new-item/", ["a.csv"]),
        ("data/media/", ["a.csv", "b.csv"]),
    ],
)
def test_a_file_is_dropped_into_the_box(
    open_page: Any, project: Any, question: Any, path: str, taken: list[str]
) -> None:
    page = open_page(f"/projects/{project.pk}/{path}")
    expect(page.get_by_text("in this box.")).to_be_visible()
    # Beside the box it is refused, and the page stays.
    assert page.evaluate(DROP, ["h1", ["a.csv"]]) is False
    assert page.evaluate(NAMES) == []
    page.evaluate(DROP, ["[data-drop]", ["a.csv", "b.csv"]])
    assert page.evaluate(NAMES) == taken
    expect(page.locator("[data-drop-said]")).to_have_text(", ".join(taken))
    no_violation(page)


def test_a_dropped_file_is_uploaded(open_page: Any, project: Any, question: Any) -> None:
    page = open_page(f"/projects/{project.pk}/new-item/")
    page.evaluate(DROP, ["[data-drop]", ["a.csv"]])
    page.get_by_role("button", name="Upload and look at it").click()
    expect(page.get_by_role("heading", name="What the columns mean")).to_be_visible()
    expect(page.get_by_role("heading", name="a.csv")).to_be_visible()
    narrow = page.get_by_label("Seconds spent").bounding_box()
    assert narrow["width"] > 200
