"""Pages on a phone: what a desktop shows in columns stays readable, and no keys are offered."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from projects.models import Project, Rater
from quality.rater_status.recomputation import sweep as sweep_rater_comparisons

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}
IS_CUT = "e => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1"


@pytest.mark.parametrize("name", ["sxs_mqm_zhen", "Translation quality"])
def test_header_shows_the_name_of_the_project(
    name: str, project: Project, question: Any, open_page: Any
) -> None:
    """Regression: the header cut names to "sxs…"."""
    Project.objects.filter(pk=project.pk).update(name=name)
    page = open_page(f"/projects/{project.pk}/people/", **PHONE)
    assert not page.locator(".switcher__name").evaluate(IS_CUT)
    page.locator(".switcher").click()
    expect(page.get_by_role("link", name="All projects")).to_be_visible()


def test_rater_list_keeps_impact_and_bias(
    project: Project, rated_question: Any, open_page: Any
) -> None:
    sweep_rater_comparisons()
    page = open_page(f"/projects/{project.pk}/raters/", **PHONE)
    row = page.locator(".table--triage tbody tr").first
    for name in (".impact", ".bias", ".below"):
        expect(row.locator(name)).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    boxes = [row.locator(name).bounding_box() for name in (".impact", ".bias")]
    assert all(box and box["x"] + box["width"] <= 390 for box in boxes)


def test_recent_disagreements_show_their_date(
    project: Project, rated_question: Any, open_page: Any
) -> None:
    rater = project.raters.order_by("key").last()
    assert rater is not None
    page = open_page(f"/projects/{project.pk}/raters/{rater.key}/", **PHONE)
    times = page.locator("#differences time")
    assert times.count()
    for index in range(times.count()):
        box = times.nth(index).bounding_box()
        assert box and box["x"] + box["width"] <= 390


def test_inbox_has_no_keys_and_no_empty_column(
    project: Project, question: Any, make_alert: Any, open_page: Any
) -> None:
    make_alert(question, Rater.objects.create(project=project, key="dan"))
    page = open_page("/inbox/", **PHONE)
    expect(page.locator(".inbox__keys")).to_be_hidden()
    expect(page.locator("th.choose")).to_be_visible()
    project.members.update(role="viewer")
    page.reload()
    expect(page.get_by_role("rowheader", name="dan")).to_be_visible()
    expect(page.locator(".choose")).to_have_count(0)
