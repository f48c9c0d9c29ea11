"""The lead's pages in a browser: charts under the strict policy, accessibility and live numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from metrics.jobs.question_updates import update_question
from tests.browser.conftest import check_accessibility, wait_for_charts

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SCHEMES = ["light", "dark"]
PAGES = {
    "projects": "/",
    "dashboard": "/projects/{}/",
    "rater": "/projects/{}/raters/r1/",
    "pairs": "/projects/{}/pairs/",
    "pair": "/projects/{}/pairs/?a=r1&b=r2",
    "coefficients": "/projects/{}/coefficients/",
    "words": "/glossary/",
    "items": "/projects/{}/items/",
    "item": "/projects/{}/items/i7/",
    "nothing there": "/projects/{}/items/none/",
}


BYTES_SCRIPT = """() => [
    ...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")
].filter((entry) => !entry.name.includes("vega-bundle")).reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""
# A layout shift score: a chart that makes room for itself is 0.09, a line of text that wraps 0.005.
MAX_LAYOUT_SHIFT = 0.05
MAX_BYTES = 400_000  # at the first visit, without the charts' bundle; here without compression


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", list(PAGES))
def test_page_is_accessible(
    name: str, scheme: str, project: Any, rated_question: Any, open_page: Any
) -> None:
    page = open_page(PAGES[name].format(project.pk), color_scheme=scheme)
    wait_for_charts(page)
    assert sum(page.evaluate("window.moved")) < MAX_LAYOUT_SHIFT
    assert 0 < page.evaluate(BYTES_SCRIPT) < MAX_BYTES
    check_accessibility(page)


@pytest.mark.parametrize("name", list(PAGES))
def test_page_fits_a_phone(name: str, project: Any, rated_question: Any, open_page: Any) -> None:
    page = open_page(PAGES[name].format(project.pk), viewport={"width": 390, "height": 800})
    wait_for_charts(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert sum(page.evaluate("window.moved")) < MAX_LAYOUT_SHIFT


@pytest.mark.parametrize("scheme", SCHEMES)
def test_dashboard_draws_its_charts(
    scheme: str, project: Any, rated_question: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/", color_scheme=scheme)
    wait_for_charts(page)
    assert page.locator(".chart svg .mark-line path").count() >= 2
    check_accessibility(page)
    page.get_by_role("link", name="All statistics").click()
    page.locator("#pairs > summary").click()
    wait_for_charts(page)
    # five raters, both halves
    assert page.locator(".chart svg .mark-rect.role-mark path").count() == 20
    page.locator(".chart svg .mark-text.role-mark text").first.hover()
    expect(page.locator("#vg-tooltip-element")).to_be_visible()
    check_accessibility(page)


def test_a_fold_draws_when_it_opens_and_stays_open(
    project: Any, rated_question: Any, open_page: Any
) -> None:
    """Details are folded at first; a choice inside reloads the page, which keeps the fold open."""
    page = open_page(f"/projects/{project.pk}/statistics/")
    fold = page.locator("#pairs")
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


def test_chart_follows_the_colour_scheme(project: Any, rated_question: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/", color_scheme="light")
    wait_for_charts(page)
    axis_label = page.locator(".chart svg .role-axis-label text").first
    before = axis_label.get_attribute("fill")
    page.emulate_media(color_scheme="dark")
    expect(axis_label).not_to_have_attribute("fill", before or "")


def test_selected_colours_override_the_system(
    project: Any, rated_question: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/", color_scheme="light")
    background_script = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background_script)
    wait_for_charts(page)
    before = page.locator(".chart svg .role-axis-label text").first.get_attribute("fill")
    page.get_by_role("button", name="lead").click()
    page.get_by_role("button", name="Dark", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    wait_for_charts(page)  # a page that is still loading has no background yet
    dark = page.evaluate(background_script)
    assert dark != light
    axis_label = page.locator(".chart svg .role-axis-label text").first
    expect(axis_label).not_to_have_attribute("fill", before or "")
    page.get_by_role("button", name="lead").click()
    check_accessibility(page)
    page.goto(page.url + "raters/")
    assert page.evaluate(background_script) == dark


def test_colours_are_selected_without_scripts(project: Any, open_page: Any) -> None:
    page = open_page("/tokens/", color_scheme="dark", java_script_enabled=False)
    background_script = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background_script)
    page.locator("main").get_by_role("button", name="Light", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert page.evaluate(background_script) != dark


@pytest.mark.parametrize("form", ["SVG", "PNG"])
def test_chart_is_downloaded(form: str, project: Any, rated_question: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/")
    wait_for_charts(page)
    page.locator(".chart__tools summary").first.click()
    with page.expect_download() as download:
        page.get_by_role("button", name=form).first.click()
    assert download.value.suggested_filename == f"concord-trend.{form.lower()}"


def test_cell_leads_to_its_pair(project: Any, rated_question: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/statistics/")
    page.locator("#pairs > summary").click()
    wait_for_charts(page)
    page.locator(".chart svg .mark-text.role-mark text").first.click()
    page.wait_for_url("**/pairs/?*")
    expect(page.get_by_role("heading", level=1)).to_contain_text(" and ")


def test_changed_rating_appears_without_reload(
    project: Any, rated_question: Any, rate: Callable[..., Any], open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/")
    wait_for_charts(page)
    page.evaluate("() => { window.sameDocument = true }")
    before = page.locator("#headline .stat__value--big").inner_text()
    line = page.locator(".chart").first.locator("svg .mark-line path").first
    path_before = line.get_attribute("d")
    for n in range(60):
        rate(rated_question, f"i{n}", "r1", "none")
        rate(rated_question, f"i{n}", "r2", "none")
    rate(rated_question, "brand new", "r1", "none")
    rate(rated_question, "brand new", "r2", "none")
    expect(page.locator("#as-of")).to_contain_text("pending")
    update_question(rated_question.pk)
    expect(page.locator("#headline .stat__value--big")).not_to_have_text(before)
    expect(page.locator("#as-of")).to_contain_text("up to date")
    expect(line).not_to_have_attribute("d", path_before or "")
    assert page.evaluate("() => window.sameDocument")


def test_first_rating_appears_without_reload(
    project: Any, question: Any, rate: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/")
    rate(question, "i1", "a", "minor")
    rate(question, "i1", "b", "major")
    rate(question, "i2", "a", "none")
    rate(question, "i2", "b", "none")
    update_question(question.pk)
    expect(page.locator("#headline .stat__value--big")).to_be_visible()
    wait_for_charts(page)


def test_help_opens_by_keyboard_and_without_scripts(
    project: Any, rated_question: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/statistics/", java_script_enabled=False)
    button = page.get_by_role("button", name="About: Gwet’s AC1")
    text = page.locator("[id^=help-gwet_ac1]")  # of this number
    expect(text).to_be_hidden()
    button.press("Enter")
    expect(text).to_contain_text("stable if one category prevails")
    expect(text).to_contain_text("Limits:")
    expect(text.locator(".band-scale circle")).to_be_visible()
    page.keyboard.press("Escape")
    expect(text).to_be_hidden()
    button.click()
    text.get_by_role("link", name="Glossary").click()
    expect(page.locator("dt#gwet_ac1")).to_be_visible()


@pytest.mark.parametrize("height", [420, 900])
def test_help_stays_inside_the_window(
    project: Any, rated_question: Any, open_page: Any, height: int
) -> None:
    page = open_page(f"/projects/{project.pk}/statistics/", java_script_enabled=False)
    page.set_viewport_size({"width": 1280, "height": height})
    for name in ("Gwet’s AC1", "Fleiss’ kappa"):
        button = page.get_by_role("button", name=f"About: {name}").first
        button.click()
        box = page.locator("[popover]:popover-open").bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height
        page.keyboard.press("Escape")


def test_tables_replace_charts_without_javascript(
    project: Any, rated_question: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/", java_script_enabled=False)
    expect(page.locator(".chart__canvas").first).to_be_hidden()
    page.locator("summary", has_text="As a table").first.click()
    expect(page.locator("#trend-table tbody tr").first).to_be_visible()
    page.get_by_role("link", name="All statistics").click()
    page.get_by_role("link", name="Bias", exact=True).click()
    page.wait_for_url("**sort=**")
