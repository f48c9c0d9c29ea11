"""The lead's pages in a browser: charts under the strict policy, accessibility, and numbers that
move by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from metrics.jobs.question_updates import update_question
from tests.browser.conftest import drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SCHEMES = ["light", "dark"]
PAGES = {
    "projects": "/",
    "dashboard": "/projects/{}/",
    "rater": "/projects/{}/raters/r1/",
    "pairs": "/projects/{}/pairs/",
    "pair": "/projects/{}/pairs/?a=r1&b=r2",
    "coefficients": "/projects/{}/coefficients/",
    "words": "/words/",
    "items": "/projects/{}/items/",
    "item": "/projects/{}/items/i7/",
    "nothing there": "/projects/{}/items/none/",
}


BYTES = """() => [
    ...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")
].filter((entry) => !entry.name.includes("vega-bundle")).reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""
# as layout shift is measured: a chart that makes its own room is 0.09, a line of text that wraps
# 0.005
JUMP = 0.05
MOST_BYTES = 400_000  # at the first visit, apart from the charts' bundle; here without compression


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", list(PAGES))
def test_page_is_accessible(
    name: str, scheme: str, project: Any, rated: Any, open_page: Any
) -> None:
    page = open_page(PAGES[name].format(project.pk), color_scheme=scheme)
    drawn(page)
    assert sum(page.evaluate("window.moved")) < JUMP
    assert 0 < page.evaluate(BYTES) < MOST_BYTES
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("name", list(PAGES))
def test_page_fits_a_phone(name: str, project: Any, rated: Any, open_page: Any) -> None:
    page = open_page(PAGES[name].format(project.pk), viewport={"width": 390, "height": 800})
    drawn(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert sum(page.evaluate("window.moved")) < JUMP


@pytest.mark.parametrize("scheme", SCHEMES)
def test_dashboard_draws_its_charts(scheme: str, project: Any, rated: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/", color_scheme=scheme)
    drawn(page)
    assert page.locator(".chart svg .mark-line path").count() >= 2
    # five raters, both halves
    assert page.locator(".chart svg .mark-rect.role-mark path").count() == 20
    page.locator(".chart svg .mark-text.role-mark text").first.hover()
    expect(page.locator("#vg-tooltip-element")).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_a_fold_draws_when_it_opens_and_stays_open(
    project: Any, rated: Any, open_page: Any
) -> None:
    """What is read in doubt is closed at first; a choice inside reloads the page, which keeps it."""
    page = open_page(f"/projects/{project.pk}/")
    fold = page.locator("#pairs")
    expect(page.locator(".chart").first).to_have_attribute("data-state", "drawn")
    expect(fold.locator(".chart")).not_to_be_visible()
    assert not fold.locator(".chart").get_attribute("data-state")
    fold.locator("> summary").click()
    expect(fold.locator(".chart")).to_have_attribute("data-state", "drawn")
    page.locator("#sensitivity-fold > summary").click()
    fold.get_by_role("link", name="Linear").click()
    page.wait_for_url("**weights=linear**")
    expect(fold.locator(".chart")).to_have_attribute("data-state", "drawn")
    expect(page.locator("#sensitivity")).to_be_visible()
    expect(page.locator("#missing")).not_to_be_visible()


def test_chart_follows_the_colour_scheme(project: Any, rated: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/", color_scheme="light")
    drawn(page)
    words = page.locator(".chart svg .role-axis-label text").first
    before = words.get_attribute("fill")
    page.emulate_media(color_scheme="dark")
    expect(words).not_to_have_attribute("fill", before or "")


def test_colours_that_were_chosen_beat_the_system(project: Any, rated: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/", color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    drawn(page)
    before = page.locator(".chart svg .role-axis-label text").first.get_attribute("fill")
    page.get_by_role("button", name="lead").click()
    page.get_by_role("button", name="Dark", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    drawn(page)  # a page that is only coming has no ground yet
    dark = page.evaluate(ground)
    assert dark != light
    words = page.locator(".chart svg .role-axis-label text").first
    expect(words).not_to_have_attribute("fill", before or "")
    page.get_by_role("button", name="lead").click()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.goto(page.url + "raters/")
    assert page.evaluate(ground) == dark


def test_colours_are_chosen_without_scripts(project: Any, open_page: Any) -> None:
    page = open_page("/tokens/", color_scheme="dark", java_script_enabled=False)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.locator("main").get_by_role("button", name="Light", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert page.evaluate(ground) != dark


@pytest.mark.parametrize("form", ["SVG", "PNG"])
def test_chart_downloads(form: str, project: Any, rated: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/")
    drawn(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name=form).first.click()
    assert waiting.value.suggested_filename == f"concord-trend.{form.lower()}"


def test_cell_leads_to_its_pair(project: Any, rated: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/")
    drawn(page)
    page.locator(".chart svg .mark-text.role-mark text").first.click()
    page.wait_for_url("**/pairs/?*")
    expect(page.get_by_role("heading", level=1)).to_contain_text(" and ")


def test_changed_rating_appears_without_reload(
    project: Any, rated: Any, rate: Callable[..., Any], open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/")
    drawn(page)
    page.evaluate("() => { window.sameDocument = true }")
    before = page.locator("#headline .stat__value--big").inner_text()
    line = page.locator(".chart").first.locator("svg .mark-line path").first
    shape = line.get_attribute("d")
    for n in range(60):
        rate(rated, f"i{n}", "r1", "none")
        rate(rated, f"i{n}", "r2", "none")
    rate(rated, "brand new", "r1", "none")
    rate(rated, "brand new", "r2", "none")
    expect(page.locator("#as-of")).to_contain_text("not counted yet")
    update_question(rated.pk)
    expect(page.locator("#headline .stat__value--big")).not_to_have_text(before)
    expect(page.locator("#as-of")).to_contain_text("up to date")
    expect(line).not_to_have_attribute("d", shape or "")
    assert page.evaluate("() => window.sameDocument")


def test_first_rating_appears_without_a_hand(
    project: Any, question: Any, rate: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/")
    rate(question, "i1", "a", "minor")
    rate(question, "i1", "b", "major")
    rate(question, "i2", "a", "none")
    rate(question, "i2", "b", "none")
    update_question(question.pk)
    expect(page.locator("#headline .stat__value--big")).to_be_visible()
    drawn(page)


def test_help_opens_by_keyboard_and_without_scripts(
    project: Any, rated: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/", java_script_enabled=False)
    button = page.get_by_role("button", name="About: Gwet’s AC1")
    text = page.locator("[id^=help-gwet_ac1]")  # of this number
    expect(text).to_be_hidden()
    button.press("Enter")
    expect(text).to_contain_text("nearly all items are in one category")
    expect(text).to_contain_text("When to distrust it:")
    expect(text.locator(".band-scale circle")).to_be_visible()
    page.keyboard.press("Escape")
    expect(text).to_be_hidden()
    button.click()
    text.get_by_role("link", name="All words").click()
    expect(page.locator("dt#gwet_ac1")).to_be_visible()


def test_without_javascript_the_tables_stand_in(project: Any, rated: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/", java_script_enabled=False)
    expect(page.locator(".chart__canvas").first).to_be_hidden()
    page.locator("summary", has_text="As a table").first.click()
    expect(page.locator("#trend-table tbody tr").first).to_be_visible()
    page.get_by_role("link", name="Bias", exact=True).click()
    assert "sort=" in page.url
