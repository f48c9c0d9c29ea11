"""A filtered page in a browser: its numbers come by themselves, its filter works by keyboard; and
what pages weigh."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Response, expect

from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from projects.models import Item, Rater
from tests.browser.conftest import drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HEAVIEST = 400_000  # bytes of a first load, without the bundle of the charts


@pytest.fixture
def in_languages(rated: Any) -> Any:
    """Items in two languages, a model among the raters; what there is to choose is known."""
    for item in Item.objects.filter(key__endswith="0"):
        item.attributes = {"language": "de"}
        item.save()
    Item.objects.exclude(key__endswith="0").update(attributes={"language": "en"})
    Rater.objects.filter(key="r5").update(kind="model")
    filtered_jobs.get_or_request_filtered_result(
        rated, filtered_jobs.FilteredRequest("choices", filtered_jobs.RatingFilter()), version=0
    )
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    return rated


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_filter_is_chosen_and_its_numbers_appear(
    scheme: str,
    project: Any,
    in_languages: Any,
    open_page: Any,
) -> None:
    page = open_page(f"/projects/{project.pk}/", color_scheme=scheme)
    drawn(page)
    page.locator("[name='item.language']").focus()
    page.keyboard.press("e")  # the option that begins with it
    page.get_by_role("button", name="Apply").press("Enter")
    page.wait_for_url("**item.language=en**")
    expect(page.locator("main")).to_contain_text("being computed")
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    expect(page.locator("#headline .stat__value--big")).to_be_visible()
    drawn(page)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.get_by_role("link", name="language: en").press("Enter")
    page.wait_for_url(lambda address: "item.language" not in address)
    expect(page.locator(".chip")).to_have_count(0)


def test_three_selects_and_what_is_chosen_stand_on_one_line(
    project: Any, in_languages: Any, open_page: Any
) -> None:
    attributes = [{"language": "de", "source": "shop"}, {"language": "en", "source": "chat"}]
    for place, item in enumerate(Item.objects.filter(project=project)):
        item.attributes = attributes[place % 2]
        item.save()
    type(project).objects.filter(pk=project.pk).increment_catalogue_version()
    filtered_jobs.Slice.objects.all().delete()
    filtered_jobs.get_or_request_filtered_result(
        in_languages,
        filtered_jobs.FilteredRequest("choices", filtered_jobs.RatingFilter()),
        version=0,
    )
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    wide = {"width": 1440, "height": 900}
    for query in ("", "?item.language=de&from=2020-01-01"):
        page = open_page(f"/projects/{project.pk}/{query}", viewport=wide)
        expect(page.locator(".filters select")).to_have_count(3)
        tops = page.locator(".filters__field, .filters__form button").evaluate_all(
            "found => found.map((one) => Math.round(one.getBoundingClientRect().top / 20))"
        )
        assert len(set(tops)) == 1, tops
        assert page.locator(".filters").bounding_box()["height"] < 56
    expect(page.locator(".filters__cross")).to_have_count(2)
    expect(page.get_by_role("link", name="language: de")).to_have_count(1)  # not a chip, too


def test_on_a_phone_the_filter_opens(project: Any, in_languages: Any, open_page: Any) -> None:
    page = open_page(f"/projects/{project.pk}/", viewport={"width": 390, "height": 800})
    expect(page.locator("[name='item.language']")).to_be_hidden()
    page.locator(".filters summary").press("Enter")
    expect(page.locator("[name='item.language']")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_the_page_of_a_pair_takes_over_what_is_new(
    project: Any,
    rated: Any,
    rate: Any,
    open_page: Any,
) -> None:
    page = open_page(f"/projects/{project.pk}/pairs/?a=r1&b=r2")
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    expect(page.locator("#pair-trend-table")).to_be_attached()
    drawn(page)
    page.evaluate("() => { window.sameDocument = true }")
    before = page.locator("#pair-title").inner_text()
    for n in range(5):
        rate(rated, f"new{n}", "r1", "none")
        rate(rated, f"new{n}", "r2", "critical")
    expect(page.locator("#as-of")).to_contain_text("not counted yet")
    update_question(rated.pk)
    expect(page.locator("#pair-title")).not_to_have_text(before)
    assert page.evaluate("() => window.sameDocument")


@pytest.mark.parametrize(
    "path", ["", "raters/r1/", "pairs/?a=r1&b=r2", "pairs/", "items/", "items/i7/"]
)
def test_first_load_is_light(path: str, project: Any, in_languages: Any, open_page: Any) -> None:
    page = open_page("/healthz")
    sizes: dict[str, int] = {}

    def weigh(response: Response) -> None:
        if "vega-bundle" not in response.url and response.status == 200:
            sizes[response.url] = len(response.body())

    page.on("response", weigh)
    page.goto(page.url.replace("/healthz", f"/projects/{project.pk}/{path}"))
    drawn(page)
    page.remove_listener("response", weigh)
    assert 0 < sum(sizes.values()) <= HEAVIEST, sizes
