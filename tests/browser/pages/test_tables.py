"""Tables longer or wider than the window: heads stay visible, and rows wrap on a phone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from metrics.jobs.question_updates import update_question
from projects.models import Member
from quality import tasks
from tests.browser.conftest import check_accessibility, wait_for_charts

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE = {"width": 390, "height": 800}
DESKTOP = {"width": 1440, "height": 600}
# The position of the head when the tenth row of the table is the first below it.
HEAD_POSITION_SCRIPT = """(table) => {
    const row = table.querySelectorAll("tbody tr")[9];
    row.scrollIntoView({ block: "start" });
    const head = table.querySelector("thead th").getBoundingClientRect();
    return [head.top, head.bottom, row.getBoundingClientRect().top];
}"""
# Visible cells that are not within the window.
OUT_OF_SIGHT_SCRIPT = """(table) => [...table.querySelectorAll("th, td")].filter((cell) => {
    const box = cell.getBoundingClientRect();
    return box.width && (box.left < 0 || box.right > window.innerWidth);
}).map((cell) => cell.textContent.trim())"""

# For each visible frame of a table: whether it scrolls, and whether it is a tab stop.
FRAMES_SCRIPT = """() => {
    const seen = [...document.querySelectorAll(".table-scroll[tabindex]")].filter((one) => one.clientWidth);
    return [
        seen.map((one) => {
            const margin = getComputedStyle(one).overflowX === "visible" ? 8 : 0;
            return one.scrollWidth > one.clientWidth + margin || one.scrollHeight > one.clientHeight + 8;
        }),
        seen.map((one) => one.tabIndex === 0),
    ];
}"""


def check_head_stays(page: Page, table: str) -> None:
    wait_for_charts(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    top, bottom, row = page.locator(table).evaluate(HEAD_POSITION_SCRIPT)
    assert 0 <= top < bottom <= row + 1
    # Other content that stays at the top ends where the head begins.
    assert top == page.evaluate(
        "parseFloat(document.documentElement.style.getPropertyValue('--over'))"
    )
    assert sum(page.evaluate("window.moved")) < 0.05


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_head_of_the_items_stays_visible(
    size: Any, project: Any, rated_question: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/items/", viewport=size)
    check_head_stays(page, ".table--items")
    assert page.locator(".table--items").evaluate(OUT_OF_SIGHT_SCRIPT) == []
    # Actions on ticked items appear once one is ticked.
    request_button = page.get_by_role("button", name="Request another rating")
    expect(request_button).to_be_hidden()
    page.get_by_role("checkbox", name="Item i").first.check()
    expect(request_button).to_be_enabled()


@pytest.fixture
def question_with_many_raters(rated_question: Any, rate: Any) -> Any:
    """Return the rated question, with 20 more raters of two ratings each."""
    for number in range(20):
        rate(rated_question, "i1", f"more-{number:02}", "minor")
        rate(rated_question, "i2", f"more-{number:02}", "none")
    update_question(rated_question.pk)
    tasks.sweep_raters()
    return rated_question


def test_head_of_the_raters_stays_under_the_filter(
    project: Any, question_with_many_raters: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/statistics/", viewport=DESKTOP)
    check_head_stays(page, "#raters table")
    # A frame is a tab stop where it scrolls, and nowhere else.
    scrolls, stops = page.evaluate(FRAMES_SCRIPT)
    assert stops == scrolls
    page.set_viewport_size(PHONE)
    page.wait_for_function(
        f"() => {{ const [a, b] = ({FRAMES_SCRIPT})(); return `${{a}}` === `${{b}}`; }}"
    )
    assert any(page.evaluate(FRAMES_SCRIPT)[0])
    # A row leads where its name leads.
    page.locator("#raters tbody tr", has_text="r1").locator("td").first.click()
    expect(page).to_have_url(re.compile("/raters/r1/"))


def test_frames_are_checked_after_times_are_rewritten(
    project: Any, rated_question: Any, open_page: Any
) -> None:
    """Times are rewritten in the reader's zone after the page is laid out, with other widths."""
    page = open_page(f"/projects/{project.pk}/items/i1/", viewport=DESKTOP)
    wait_for_charts(page)
    scrolls, stops = page.evaluate(FRAMES_SCRIPT)
    assert stops == scrolls and not any(scrolls)
    page.evaluate(
        """() => {
            const cell = document.querySelector(".table-scroll td:has(> time[data-moment])");
            cell.append("w".repeat(300)); // as if the moment were long to write
            document.dispatchEvent(new Event("htmx:load"));
        }"""
    )
    scrolls, stops = page.evaluate(FRAMES_SCRIPT)
    assert stops == scrolls and any(scrolls)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_raters_page_shows_names_and_intervals_at_any_width(
    size: Any, scheme: str, project: Any, question_with_many_raters: Any, open_page: Any
) -> None:
    page = open_page(
        f"/projects/{project.pk}/raters/?sort=-ratings", viewport=size, color_scheme=scheme
    )
    check_head_stays(page, ".table--triage")
    table = page.locator(".table--triage")
    assert table.evaluate(OUT_OF_SIGHT_SCRIPT) == []
    first_row = table.locator("tbody tr").first.inner_text()
    assert first_row.split()[0].startswith("r")
    assert "[" in first_row, "the interval of kappa"
    check_accessibility(page)


def test_wide_table_in_an_open_fold_scrolls_in_its_frame(
    project: Any, question_with_many_raters: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/pairs/?a=r1&b=r2", viewport=PHONE)
    for summary in page.locator("main summary").all():
        if summary.is_visible():
            summary.click()
    expect(page.locator("#pair-table-table")).to_be_visible()
    page.locator("#tests td").first.scroll_into_view_if_needed()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_without_scripts_a_wide_table_scrolls_in_its_frame(
    project: Any, question_with_many_raters: Any, open_page: Any
) -> None:
    page = open_page(
        f"/projects/{project.pk}/statistics/", viewport=PHONE, java_script_enabled=False
    )
    frame = page.locator("#raters .table-scroll")
    full_width, visible_width = frame.evaluate("(frame) => [frame.scrollWidth, frame.clientWidth]")
    assert full_width > visible_width
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_heads_make_no_table_wider_than_its_cells_on_a_phone(
    project: Any, question_with_many_raters: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/raters/r1/", viewport=PHONE)
    frame = page.locator(".table-scroll[aria-labelledby=pairs-title]")
    assert frame.locator("table").evaluate(OUT_OF_SIGHT_SCRIPT) == []
    # If a table is wider all the same, a shade shows it.
    assert "gradient" in frame.evaluate("(frame) => getComputedStyle(frame).backgroundImage")


def test_raters_of_all_projects_wrap_on_a_phone(
    project: Any, question_with_many_raters: Any, open_page: Any
) -> None:
    page = open_page("/raters/", viewport=PHONE)
    wait_for_charts(page)
    assert page.locator("table").evaluate(OUT_OF_SIGHT_SCRIPT) == []
    line = page.locator("tbody tr").first
    name, last_cell = line.locator("th"), line.locator("td").last
    # Below the name, and as wide as the line: not a column of single words.
    assert last_cell.bounding_box()["y"] > name.bounding_box()["y"]
    assert last_cell.bounding_box()["width"] == line.bounding_box()["width"]


def test_selected_member_is_removed_and_restored(
    project: Any, question_with_many_raters: Any, open_page: Any, make_user: Any
) -> None:
    Member.objects.create(project=project, user=make_user("mia"), role="viewer")
    page = open_page(f"/projects/{project.pk}/people/", viewport=PHONE)
    check_head_stays(page, ".table--people")
    assert page.locator(".table--people").evaluate(OUT_OF_SIGHT_SCRIPT) == []
    remove = page.get_by_role("button", name="Remove")
    expect(remove).to_be_hidden()
    box = page.get_by_role("checkbox", name="Select mia")
    box.check()
    expect(page.get_by_text("1 selected:")).to_be_visible()
    box.scroll_into_view_if_needed()
    check_accessibility(page)
    remove.click()
    expect(page.get_by_text("Removed: mia.")).to_be_visible()
    expect(box).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    expect(box).to_have_count(1)
    page.get_by_role("checkbox", name="Select all on this page").check()
    expect(page.get_by_role("checkbox", name="Select r1")).to_be_checked()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_people_are_accessible(
    scheme: str, project: Any, question_with_many_raters: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/people/", viewport=DESKTOP, color_scheme=scheme)
    check_head_stays(page, ".table--people")
    check_accessibility(page)
