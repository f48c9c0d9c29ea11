"""Tables that are longer or wider than the window: their heads stay in sight, and on a phone a row
stands on lines."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from metrics.jobs.question_updates import update_question
from projects.models import Member
from quality import tasks
from tests.browser.conftest import drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE = {"width": 390, "height": 800}
DESK = {"width": 1440, "height": 600}
# Where the head stands when the tenth line of the table is the first below it.
HEAD = """(table) => {
    const row = table.querySelectorAll("tbody tr")[9];
    row.scrollIntoView({ block: "start" });
    const head = table.querySelector("thead th").getBoundingClientRect();
    return [head.top, head.bottom, row.getBoundingClientRect().top];
}"""
# Cells that are seen and do not lie within the window.
OUT_OF_SIGHT = """(table) => [...table.querySelectorAll("th, td")].filter((cell) => {
    const box = cell.getBoundingClientRect();
    return box.width && (box.left < 0 || box.right > window.innerWidth);
}).map((cell) => cell.textContent.trim())"""

# Of each frame of a table that is seen: whether it scrolls, and whether one stops at it.
FRAMES = """() => {
    const seen = [...document.querySelectorAll(".table-scroll[tabindex]")].filter((one) => one.clientWidth);
    return [
        seen.map((one) => one.scrollWidth > one.clientWidth + 8 || one.scrollHeight > one.clientHeight + 8),
        seen.map((one) => one.tabIndex === 0),
    ];
}"""


def head_stays(page: Page, table: str) -> None:
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    top, bottom, row = page.locator(table).evaluate(HEAD)
    assert 0 <= top < bottom <= row + 1
    # What else stays at the top ends where the head begins.
    assert top == page.evaluate(
        "parseFloat(document.documentElement.style.getPropertyValue('--over'))"
    )
    assert sum(page.evaluate("window.moved")) < 0.05


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_head_of_the_items_stays_in_sight(
    size: Any, project: Any, rated: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/items/", viewport=size)
    head_stays(page, ".table--items")
    assert page.locator(".table--items").evaluate(OUT_OF_SIGHT) == []
    # What is done with the ticked items waits until one is.
    ask = page.get_by_role("button", name="Ask for one rating more")
    expect(ask).to_be_disabled()
    page.get_by_role("checkbox", name="Item i").first.check()
    expect(ask).to_be_enabled()


@pytest.fixture
def many(rated: Any, rate: Any) -> Any:
    """Beside them 20 raters, of two ratings each."""
    for number in range(20):
        rate(rated, "i1", f"more-{number:02}", "minor")
        rate(rated, "i2", f"more-{number:02}", "none")
    update_question(rated.pk)
    tasks.sweep_raters()
    return rated


def test_head_of_the_raters_stays_under_the_filter(project: Any, many: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/", viewport=DESK)
    head_stays(page, "#raters table")
    # A frame is a stop on the way through the page where it scrolls, and nowhere else.
    scrolls, stops = page.evaluate(FRAMES)
    assert stops == scrolls
    page.set_viewport_size(PHONE)
    page.wait_for_function(
        f"() => {{ const [a, b] = ({FRAMES})(); return `${{a}}` === `${{b}}`; }}"
    )
    assert any(page.evaluate(FRAMES)[0])


def test_a_frame_is_looked_at_once_moments_are_written(
    project: Any, rated: Any, open_page: Any
) -> None:
    """Moments are written in the reader's zone after the page is laid out: with other widths."""
    page = open_page(f"/projects/{project.pk}/items/i1/", viewport=DESK)
    drawn(page)
    scrolls, stops = page.evaluate(FRAMES)
    assert stops == scrolls and not any(scrolls)
    page.evaluate(
        """() => {
            const cell = document.querySelector(".table-scroll td:has(> time[data-moment])");
            cell.append("w".repeat(300)); // as if the moment were long to write
            document.dispatchEvent(new Event("htmx:load"));
        }"""
    )
    scrolls, stops = page.evaluate(FRAMES)
    assert stops == scrolls and any(scrolls)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_raters_page_shows_whom_and_what_at_any_width(
    size: Any, scheme: str, project: Any, many: Any, open_page: Any
) -> None:
    page = open_page(
        f"/projects/{project.pk}/raters/?sort=-ratings", viewport=size, color_scheme=scheme
    )
    head_stays(page, ".table--triage")
    table = page.locator(".table--triage")
    assert table.evaluate(OUT_OF_SIGHT) == []
    first = table.locator("tbody tr").first.inner_text()
    assert first.split()[0].startswith("r")
    assert "[" in first, "the interval of kappa"
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_a_wide_table_that_is_unfolded_scrolls_in_its_frame(
    project: Any, many: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/pairs/?a=r1&b=r2", viewport=PHONE)
    for summary in page.locator("main summary").all():
        if summary.is_visible():
            summary.click()
    expect(page.locator("#pair-table-table")).to_be_visible()
    page.locator("#tests td").first.scroll_into_view_if_needed()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_without_scripts_a_wide_table_scrolls_in_its_frame(
    project: Any, many: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/", viewport=PHONE, java_script_enabled=False)
    frame = page.locator("#raters .table-scroll")
    wide, shown = frame.evaluate("(frame) => [frame.scrollWidth, frame.clientWidth]")
    assert wide > shown
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_on_a_phone_heads_make_no_table_wider_than_its_cells(
    project: Any, many: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/raters/r1/", viewport=PHONE)
    frame = page.locator(".table-scroll[aria-labelledby=pairs-title]")
    assert frame.locator("table").evaluate(OUT_OF_SIGHT) == []
    # Where a table is wider all the same, a shade says so.
    assert "gradient" in frame.evaluate("(frame) => getComputedStyle(frame).backgroundImage")


def test_raters_of_all_projects_stand_on_lines(project: Any, many: Any, open_page: Any) -> None:
    page = open_page("/raters/", viewport=PHONE)
    drawn(page)
    assert page.locator("table").evaluate(OUT_OF_SIGHT) == []
    line = page.locator("tbody tr").first
    name, where = line.locator("th"), line.locator("td").last
    # Below the name, and as wide as the line: not a column of single words.
    assert where.bounding_box()["y"] > name.bounding_box()["y"]
    assert where.bounding_box()["width"] == line.bounding_box()["width"]


def test_who_is_chosen_is_removed_and_comes_back(
    project: Any, many: Any, open_page: Any, make_user: Any
) -> None:
    Member.objects.create(project=project, user=make_user("mia"), role="viewer")
    page = open_page(f"/projects/{project.pk}/people/", viewport=PHONE)
    head_stays(page, ".table--people")
    assert page.locator(".table--people").evaluate(OUT_OF_SIGHT) == []
    remove = page.get_by_role("button", name="Remove")
    expect(remove).to_be_disabled()
    box = page.get_by_role("checkbox", name="Choose mia")
    box.check()
    expect(page.get_by_text("1 chosen:")).to_be_visible()
    top, _bottom, _row = page.locator(".table--people").evaluate(HEAD)
    assert top > 0  # under the bar, which stays in sight now
    box.scroll_into_view_if_needed()
    assert Axe().run(page).violations_count == 0
    remove.click()
    expect(page.get_by_text("Not in this project any more: mia.")).to_be_visible()
    expect(box).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Taken back.")).to_be_visible()
    expect(box).to_have_count(1)
    page.get_by_role("checkbox", name="Choose all of this page").check()
    expect(page.get_by_role("checkbox", name="Choose r1")).to_be_checked()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_people_are_accessible(scheme: str, project: Any, many: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/people/", viewport=DESK, color_scheme=scheme)
    head_stays(page, ".table--people")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
