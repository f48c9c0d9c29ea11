"""A filtered page in a browser: live numbers, a filter that works by keyboard, and page weights."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Response, expect

from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from projects.models import Item, Rater
from tests.browser.conftest import check_accessibility, wait_for_charts

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MAX_BYTES = 400_000  # bytes of a first load, without the bundle of the charts


@pytest.fixture
def question_in_two_languages(rated_question: Any) -> Any:
    """Return a question with items in two languages, a model, and stored choices of the filter."""
    for item in Item.objects.filter(key__endswith="0"):
        item.attributes = {"language": "de"}
        item.save()
    Item.objects.exclude(key__endswith="0").update(attributes={"language": "en"})
    Rater.objects.filter(key="r5").update(kind="model")
    filtered_jobs.get_or_request_filtered_result(
        rated_question,
        filtered_jobs.FilteredRequest("choices", filtered_jobs.RatingFilter()),
        version=0,
    )
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    return rated_question


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_filter_is_selected_and_its_numbers_appear(
    scheme: str,
    project: Any,
    question_in_two_languages: Any,
    open_page: Any,
) -> None:
    page = open_page(f"/projects/{project.pk}/", color_scheme=scheme)
    wait_for_charts(page)
    page.locator(".filters summary").press("Enter")
    page.locator("[name='item.language']").focus()
    page.keyboard.press("e")  # the option that begins with it
    page.get_by_role("button", name="Apply").press("Enter")
    page.wait_for_url("**item.language=en**")
    expect(page.locator("main")).to_contain_text("Computing …")
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    expect(page.locator("#headline .stat__value--big")).to_be_visible()
    wait_for_charts(page)
    check_accessibility(page)
    page.get_by_role("link", name="language: en").press("Enter")
    page.wait_for_url(lambda address: "item.language" not in address)
    expect(page.locator(".chip")).to_have_count(0)


def test_selects_and_the_selection_fit_on_one_line(
    project: Any, question_in_two_languages: Any, open_page: Any
) -> None:
    attributes = [{"language": "de", "source": "shop"}, {"language": "en", "source": "chat"}]
    for index, item in enumerate(Item.objects.filter(project=project)):
        item.attributes = attributes[index % 2]
        item.save()
    type(project).objects.filter(pk=project.pk).increment_items_and_raters_version()
    filtered_jobs.FilteredResult.objects.all().delete()
    filtered_jobs.get_or_request_filtered_result(
        question_in_two_languages,
        filtered_jobs.FilteredRequest("choices", filtered_jobs.RatingFilter()),
        version=0,
    )
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    viewport = {"width": 1440, "height": 900}
    for query in ("", "?item.language=de&from=2020-01-01"):
        page = open_page(f"/projects/{project.pk}/{query}", viewport=viewport)
        assert page.locator(".filters").bounding_box()["height"] < 56
        page.locator(".filters summary").press("Enter")
        expect(page.locator(".filters select")).to_have_count(2)
        tops = page.locator(".filters__field, .filters__form button").evaluate_all(
            "found => found.map((one) => Math.round(one.getBoundingClientRect().top / 20))"
        )
        assert len(set(tops)) == 1, tops
    expect(page.locator(".filters summary")).to_contain_text("2")
    expect(page.get_by_role("link", name="language: de")).to_have_count(1)


def test_filter_unfolds_on_a_phone(
    project: Any, question_in_two_languages: Any, open_page: Any
) -> None:
    page = open_page(f"/projects/{project.pk}/", viewport={"width": 390, "height": 800})
    expect(page.locator("[name='item.language']")).to_be_hidden()
    page.locator(".filters summary").press("Enter")
    expect(page.locator("[name='item.language']")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_pair_page_shows_new_ratings_without_reload(
    project: Any,
    rated_question: Any,
    rate: Any,
    open_page: Any,
) -> None:
    page = open_page(f"/projects/{project.pk}/pairs/?a=r1&b=r2")
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    expect(page.locator("#pair-trend-table")).to_be_attached()
    wait_for_charts(page)
    page.evaluate("() => { window.sameDocument = true }")
    before = page.locator("#pair-title").inner_text()
    for n in range(5):
        rate(rated_question, f"new{n}", "r1", "none")
        rate(rated_question, f"new{n}", "r2", "critical")
    expect(page.locator("#as-of")).to_contain_text("pending")
    update_question(rated_question.pk)
    expect(page.locator("#pair-title")).not_to_have_text(before)
    assert page.evaluate("() => window.sameDocument")


@pytest.mark.parametrize(
    "path", ["", "raters/r1/", "pairs/?a=r1&b=r2", "pairs/", "items/", "items/i7/"]
)
def test_first_load_is_light(
    path: str, project: Any, question_in_two_languages: Any, open_page: Any
) -> None:
    page = open_page("/healthz")
    sizes: dict[str, int] = {}

    def weigh(response: Response) -> None:
        if "vega-bundle" not in response.url and response.status == 200:
            sizes[response.url] = len(response.body())

    page.on("response", weigh)
    page.goto(page.url.replace("/healthz", f"/projects/{project.pk}/{path}"))
    wait_for_charts(page)
    page.remove_listener("response", weigh)
    assert 0 < sum(sizes.values()) <= MAX_BYTES, sizes
