"""The import wizard in a browser: pages advance by themselves, or by a link without JavaScript."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from ratings import tasks
from tests.browser.conftest import check_accessibility
from tests.ratings.imports.wizard_client import get_labels

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ROWS = "item,rater,label\ni1,ann,minor\ni1,ben,major\ni1,ben,minor\ni2,ann,none\n"
INVALID_ROWS = "item,rater,label\ni1,ann,mjor\ni1,ben\n"


def upload(page: Page, content: str) -> None:
    page.get_by_label("File", exact=True).set_input_files(
        {"name": "r.csv", "mimeType": "text/csv", "buffer": content.encode()}
    )
    page.get_by_role("button", name="Upload file").click()
    expect(page.get_by_role("heading", name="Meaning of columns")).to_be_visible()


def run_worker() -> None:
    tasks.resume_stalled()


def test_page_advances_by_itself(open_page: Any, project: Any, question: Any) -> None:
    page = open_page(f"/projects/{project.pk}/data/import/")
    check_accessibility(page)
    upload(page, ROWS)
    check_accessibility(page)
    page.get_by_role("button", name="Check file").click()
    expect(page.get_by_role("heading", name="Checking")).to_be_visible()
    check_accessibility(page)
    run_worker()
    expect(page.get_by_text("No problems found")).to_be_visible()
    check_accessibility(page)
    page.get_by_label("keep the first row", exact=True).check()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Importing")).to_be_visible()
    run_worker()
    expect(page.get_by_text("Import completed.")).to_be_visible()
    check_accessibility(page)
    assert get_labels(question)["i1", "ben"] == "major"
    page.get_by_role("link", name="Import and export", exact=True).last.click()
    check_accessibility(page)


@pytest.mark.parametrize("width", [390, 1280])
def test_problems_are_shown_on_any_screen(open_page: Any, project: Any, width: int) -> None:
    page = open_page(
        f"/projects/{project.pk}/data/import/",
        viewport={"width": width, "height": 800},
        color_scheme="dark",
    )
    upload(page, INVALID_ROWS)
    page.get_by_role("button", name="Check file").click()
    run_worker()
    expect(
        page.get_by_text("'mjor' isn't a label. Allowed: none, minor, major, critical.")
    ).to_be_visible()
    check_accessibility(page)
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


def test_without_javascript_a_link_advances(open_page: Any, project: Any, question: Any) -> None:
    page = open_page(f"/projects/{project.pk}/data/import/", java_script_enabled=False)
    upload(page, ROWS)
    page.get_by_role("button", name="Check file").click()
    run_worker()
    page.get_by_role("link", name="Refresh").click()
    page.get_by_role("button", name="Import", exact=True).click()
    run_worker()
    page.get_by_role("link", name="Refresh").click()
    expect(page.get_by_text("Import completed.")).to_be_visible()
    assert len(get_labels(question)) == 3


def test_only_the_fields_of_the_layout_are_shown(open_page: Any, project: Any) -> None:
    page = open_page(f"/projects/{project.pk}/data/import/")
    upload(page, ROWS)
    page.get_by_text("More rating columns").click()
    expect(page.get_by_label("Comment")).to_be_visible()
    expect(page.get_by_label("Columns not imported")).to_be_hidden()
    page.get_by_label("one item per row, one rater per column").check()
    expect(page.get_by_label("Comment")).to_be_hidden()
    expect(page.get_by_label("Columns not imported")).to_be_visible()
    heading = page.get_by_role("heading", name="Destination")
    expect(heading).to_be_visible()
    page.get_by_label("items without ratings").check()
    expect(heading).to_be_hidden()  # there is nothing under it


DROP_SCRIPT = """([box, names]) => {
  const carried = new DataTransfer();
  for (const name of names) carried.items.add(new File(["item,rater,label\\ni1,ann,minor"], name));
  const event = new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true });
  return document.querySelector(box).dispatchEvent(event);
}"""
FILE_NAMES_SCRIPT = (
    "() => [...document.querySelector('[data-drop] [type=file]').files].map((f) => f.name)"
)


@pytest.mark.parametrize(
    ("path", "accepted"),
    [
        ("data/import/", ["a.csv"]),
        ("new-item/", ["a.csv"]),
        ("data/media/", ["a.csv", "b.csv"]),
    ],
)
def test_a_file_is_dropped_into_the_box(
    open_page: Any, project: Any, question: Any, path: str, accepted: list[str]
) -> None:
    page = open_page(f"/projects/{project.pk}/{path}")
    expect(page.get_by_text("Or drop")).to_be_visible()
    # Outside the box it is ignored, and the page stays.
    assert page.evaluate(DROP_SCRIPT, ["h1", ["a.csv"]]) is False
    assert page.evaluate(FILE_NAMES_SCRIPT) == []
    page.evaluate(DROP_SCRIPT, ["[data-drop]", ["a.csv", "b.csv"]])
    assert page.evaluate(FILE_NAMES_SCRIPT) == accepted
    expect(page.locator("[data-drop-said]")).to_have_text(", ".join(accepted))
    check_accessibility(page)


def test_a_dropped_file_is_uploaded(open_page: Any, project: Any, question: Any) -> None:
    page = open_page(f"/projects/{project.pk}/new-item/")
    page.evaluate(DROP_SCRIPT, ["[data-drop]", ["a.csv"]])
    page.get_by_role("button", name="Upload and preview").click()
    expect(page.get_by_role("heading", name="Meaning of columns")).to_be_visible()
    expect(page.get_by_role("heading", name="a.csv")).to_be_visible()
    page.get_by_text("More rating columns").click()
    box = page.get_by_label("Seconds spent").bounding_box()
    assert box["width"] > 200
