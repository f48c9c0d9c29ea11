"""The lead's pages through HTTP: contents, permissions and number of queries."""

from __future__ import annotations

import datetime
import json
import re
from functools import partial
from typing import Any

import pytest
import time_machine
from django.template.loader import render_to_string
from django.test import Client

from metrics import tasks
from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question, update_question_for_seconds
from metrics.models import CountState
from metrics.results import refresh
from metrics.views import charts
from projects.services.projects import change_project
from tests import cast
from tests.cast import Cast

RATINGS = [
    ("i1", "a", "minor"),
    ("i1", "b", "minor"),
    ("i1", "c", "major"),
    ("i2", "a", "none"),
    ("i2", "b", "none"),
    ("i3", "a", "major"),
    ("i3", "b", "critical"),
    ("i4", "c", "minor"),
]


def create_ratings(setup: Cast) -> None:
    """Create and count ratings of four items, on different days: three ratings, two, two and one."""
    for day, (item, rater, label) in enumerate(RATINGS, start=1):
        moment = datetime.datetime(2026, 3, day, 12, tzinfo=datetime.UTC)
        cast.rate(setup.question, item, rater, label, rated_at=moment)
    update_question(setup.question.pk)


@pytest.fixture(scope="module")
def module_cast(cast_factory: Any) -> Cast:
    return cast_factory(create_ratings)


@pytest.fixture
def rated_question(question: Any) -> Any:
    return question


def get_page_addresses(project: Any) -> dict[str, str]:
    root = f"/projects/{project.pk}/"
    return {
        "dashboard": root,
        "statistics": f"{root}statistics/",
        "rater": f"{root}raters/a/",
        "pairs": f"{root}pairs/",
        "pair": f"{root}pairs/?a=a&b=b",
        "items": f"{root}items/",
        "item": f"{root}items/i1/",
        "trend chart": f"{root}charts/trend.json",
        "pair matrix": f"{root}charts/pairs.json",
        "rater trend": f"{root}charts/rater-trend.json?rater=a",
        "rater bias": f"{root}charts/rater-bias.json?rater=a",
        "rater confusion": f"{root}charts/rater-confusion.json?rater=a",
        "pair table": f"{root}charts/pair-table.json?a=a&b=b",
        "trend rows": f"{root}charts/trend.csv",
    }


PAGES = list(get_page_addresses(type("P", (), {"pk": 0})))


@pytest.mark.parametrize("page", PAGES)
def test_page_works(
    page: str, project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    response = client_for(lead).get(get_page_addresses(project)[page])
    assert response.status_code == 200
    assert not re.search(r"\bnan\b", response.content.decode(), re.IGNORECASE)


@pytest.mark.parametrize("page", PAGES)
def test_viewer_sees_page(
    page: str, project: Any, rated_question: Any, viewer: Any, client_for: Any
) -> None:
    assert client_for(viewer).get(get_page_addresses(project)[page]).status_code == 200


@pytest.mark.parametrize("page", PAGES)
def test_page_is_404_for_stranger(
    page: str, project: Any, rated_question: Any, stranger: Any, client_for: Any
) -> None:
    assert client_for(stranger).get(get_page_addresses(project)[page]).status_code == 404


@pytest.mark.parametrize("page", PAGES)
def test_page_is_403_for_annotator(
    page: str, project: Any, rated_question: Any, annotator: Any, client_for: Any
) -> None:
    assert client_for(annotator).get(get_page_addresses(project)[page]).status_code == 403


@pytest.mark.parametrize("page", PAGES)
def test_page_without_session_asks_to_sign_in(page: str, project: Any, rated_question: Any) -> None:
    response = Client().get(get_page_addresses(project)[page])
    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in/")


@pytest.mark.parametrize("page", PAGES)
def test_page_refuses_post_with_405(
    page: str, project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    assert client_for(lead).post(get_page_addresses(project)[page]).status_code == 405


@pytest.mark.parametrize("page", PAGES)
def test_page_of_missing_project_is_404(
    page: str, project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    class Missing:
        pk = project.pk + 1000

    assert client_for(lead).get(get_page_addresses(Missing)[page]).status_code == 404


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.fresh
def test_page_before_any_rating(
    page: str, project: Any, question: Any, lead: Any, client_for: Any, raters_and_item: Any
) -> None:
    assert client_for(lead).get(get_page_addresses(project)[page]).status_code == 200


@pytest.fixture
def raters_and_item(project: Any) -> None:
    from projects.models import Item, Rater

    for key in "ab":
        Rater.objects.create(project=project, key=key)
    Item.objects.create(project=project, key="i1")


@pytest.mark.parametrize(
    "address",
    [
        "?question=nothing",
        "?period=year",
        "?weights=cubic",
        "?weights=custom",  # this question has no matrix
        "?coefficient=icc",
        "statistics/?sort=password",
        "statistics/?page=0",
        "statistics/?page=2",
        "statistics/?page=99999999999",
        "statistics/?page=x",
        "raters/nobody/",
        "raters/nobody%00/",
        "pairs/?a=a&b=nobody",
        "pairs/?a=a",
        "pairs/?a=a&b=a",
        "pairs/?sort=rater",
        "pairs/?page=2",
        "items/nothing/",
        "items/nothing%00/",
        "pairs/?a=a&b=%00",
        "?question=%00",
        "items/?ratings=11",
        "items/?after=-1",
        "charts/nothing.json",
        "charts/trend.xml",
        "charts/rater-trend.json?rater=nobody",
        "charts/pair-table.json?a=a",
    ],
)
def test_unknown_choice_is_404(
    address: str, project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    assert client_for(lead).get(f"/projects/{project.pk}/{address}").status_code == 404


def get_page_text(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_dashboard_shows_headline_with_interval_and_basis(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    from metrics.models import Result

    text = get_page_text(client_for(lead), f"/projects/{project.pk}/statistics/")
    estimate = Result.objects.get(question=rated_question, period_unit="all").coefficients[
        "fleiss_kappa"
    ]
    assert f"{estimate['value']:.2f}" in text
    assert f"[{estimate['low']:.2f}, {estimate['high']:.2f}]" in text
    overview = get_page_text(client_for(lead), f"/projects/{project.pk}/")
    assert "7 ratings of 3 items" in overview  # i4 has a single rating


def test_statistics_count_missing_ratings(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    from projects.models import Item

    Item.objects.create(project=project, key="unrated")
    text = get_page_text(client_for(lead), f"/projects/{project.pk}/statistics/")
    assert "1 of 5 items have at least 3 ratings" in text
    assert "compare 3 items with two or more ratings" in text
    assert "1 item with one rating is used only to estimate chance agreement" in text
    assert "?ratings=0" in text


@pytest.mark.fresh
def test_dashboard_explains_undefined_value(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    rate(question, "i1", "a", "minor")
    rate(question, "i1", "b", "minor")
    update_question(question.pk)
    text = get_page_text(client_for(lead), f"/projects/{project.pk}/")
    assert "Undefined: all ratings are in one category" in text


@pytest.mark.fresh
def test_dashboard_explains_that_nothing_can_be_compared(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    rate(question, "i1", "a", "minor")
    update_question(question.pk)
    assert "Undefined: no item has comparable ratings" in get_page_text(
        client_for(lead), f"/projects/{project.pk}/"
    )


@pytest.mark.fresh
def test_dashboard_without_question_says_so(
    project: Any, question: Any, lead: Any, client_for: Any
) -> None:
    question.delete()
    assert "No questions yet" in get_page_text(client_for(lead), f"/projects/{project.pk}/")


def test_dashboard_shows_uncounted_ratings(
    project: Any, rated_question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    rate(rated_question, "i4", "a", "major")
    assert "1 rating pending" in get_page_text(client_for(lead), f"/projects/{project.pk}/")


def test_statistics_list_disputed_items(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    text = get_page_text(client_for(lead), f"/projects/{project.pk}/statistics/")
    disputed = text[text.index('id="disputes"') : text.index('id="missing"')]
    assert "i1" in disputed
    assert "i3" in disputed
    assert "i2" not in disputed


def test_statistics_sort_raters(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    raters = {}
    for sort in ("rater", "-rater", "vs_peers", "-vs_peers", "bias", "pairwise", "ratings"):
        response = client_for(lead).get(f"/projects/{project.pk}/statistics/?sort={sort}")
        raters[sort] = [row.rater.key for row in response.context["rater_page"].raters]
        assert sorted(raters[sort]) == ["a", "b", "c"]
    assert raters["rater"] == ["a", "b", "c"]
    assert raters["-rater"] == ["c", "b", "a"]


@pytest.mark.parametrize(
    "sort", ["vs_peers", "-vs_peers", "bias", "-bias", "pairwise", "-pairwise"]
)
def test_statistics_sort_raters_without_a_value_last(
    sort: str, project: Any, rated_question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    rate(rated_question, "own item", "alone", "minor")
    update_question(rated_question.pk)
    response = client_for(lead).get(f"/projects/{project.pk}/statistics/?sort={sort}")
    assert response.context["rater_page"].raters[-1].rater.key == "alone"


@pytest.mark.fresh
def test_raters_of_few_items_come_last_in_either_order(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    """Raters with few items follow the others, ascending and descending.

    In a project of 825 raters, the first page sorted by kappa used to hold raters of three items.
    """
    labels = ("none", "minor", "major")
    ratings = [("own item", "alone", "minor")]
    for number in range(40):
        for index, rater in enumerate("abc"):
            is_shifted = index == 2 and number % 4 == 0
            ratings.append((f"i{number}", rater, labels[(number + is_shifted) % 3]))
    for number in range(5):
        ratings.append((f"i{number}", "best", labels[number % 3]))
        ratings.append((f"i{number}", "worst", labels[(number + 1) % 3]))
    cast.rate_many(question, ratings)
    update_question(question.pk)
    client, orders = client_for(lead), {}
    for column in ("vs_peers", "pairwise", "bias"):
        for sort in (column, f"-{column}"):
            for filter_query in ("", "&from=2020-01-01"):
                client.get(f"/projects/{project.pk}/statistics/?sort={sort}{filter_query}")
                filtered_jobs.FILTERED_RESULT_JOB.sweep()
                response = client.get(
                    f"/projects/{project.pk}/statistics/?sort={sort}{filter_query}"
                )
                keys = [row.rater.key for row in response.context["rater_page"].raters]
                assert set(keys[:3]) == {"a", "b", "c"}, (sort, filter_query)
                assert keys[5] == "alone", (sort, filter_query)
                assert "Last: raters with fewer than 30 shared items" in response.text
                orders[sort, filter_query] = keys
    assert orders["vs_peers", ""][3:5] == ["worst", "best"]
    assert orders["-vs_peers", ""][3:5] == ["best", "worst"]
    assert orders["-vs_peers", ""][2] == "c"
    assert "come last" not in client.get(f"/projects/{project.pk}/statistics/?sort=-ratings").text


@pytest.mark.fresh
def test_rater_without_value_is_no_outlier(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    type(question).objects.update(scale="nominal")
    for number in range(40):
        for rater in "abcd":
            label = ("none", "minor", "major")[(number + (rater == "d") * (number % 2)) % 3]
            rate(question, f"i{number}", rater, label)
    rate(question, "own item", "alone", "minor")
    update_question(question.pk)
    address = f"/projects/{project.pk}/statistics/"
    insights = [insight.text for insight in client_for(lead).get(address).context["insights"]]
    rater_address = f"/projects/{project.pk}/raters/d/?question={question.key}"
    sentence = "agrees less than the others."
    assert insights[0] == f'<a href="{rater_address}">d</a> {sentence}'
    project.questions.create(key="tone", text="Which tone?", position=1)
    for overview in ("/", f"/projects/{project.pk}/"):  # both overviews link to the rater
        assert (
            f'<a href="{rater_address}">d</a> {sentence}'
            in client_for(lead).get(overview).content.decode()
        )


def test_dashboard_query_count_does_not_grow(
    project: Any,
    rated_question: Any,
    rate: Any,
    lead: Any,
    client_for: Any,
    django_assert_num_queries: Any,
) -> None:
    client = client_for(lead)
    client.get(f"/projects/{project.pk}/")  # the first request asks a worker for the filter choices
    tasks.sweep_all()
    with django_assert_num_queries(32):
        client.get(f"/projects/{project.pk}/")
    for rater in "defgh":
        for item in ("i1", "i2", "i5"):
            rate(rated_question, item, rater, "minor")
    update_question(rated_question.pk)
    with django_assert_num_queries(32):
        client.get(f"/projects/{project.pk}/")


def poll_dashboard(client: Client, project: Any, context: Any) -> Any:
    """Return the response to an open dashboard that polls with the version of this context."""
    headers = {"X-Shown-Version": context["fresh"].version, "X-Fragments": context["fragment_key"]}
    return client.get(f"/projects/{project.pk}/", headers=headers)


def test_live_without_news_is_204(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    context = client.get(f"/projects/{project.pk}/").context
    response = poll_dashboard(client, project, context)
    assert response.status_code == 204
    assert response.content == b""


def test_live_uncounted_rating_updates_only_freshness(
    project: Any, rated_question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    context = client.get(f"/projects/{project.pk}/").context
    rate(rated_question, "i4", "a", "major")
    response = poll_dashboard(client, project, context)
    text = response.content.decode()
    assert "1 rating pending" in text
    assert 'id="headline"' not in text
    assert "HX-Trigger" not in response


def test_live_counted_change_sends_fragments(
    project: Any, rated_question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    context = client.get(f"/projects/{project.pk}/").context
    rate(rated_question, "i4", "a", "major")
    update_question(rated_question.pk)
    response = poll_dashboard(client, project, context)
    text = response.content.decode()
    assert response["HX-Trigger"] == "charts-changed"
    assert "9 ratings" in " ".join(text.split())
    assert_fragments_are_on_the_page(response, ("headline-state", "do-next", "raters", "progress"))
    assert "#getting-started" in response.context["live"].fragment_selector
    headers = {"X-Shown-Version": "", "X-Fragments": "3"}
    response = client.get(f"/projects/{project.pk}/statistics/", headers=headers)
    assert response["HX-Trigger"] == "charts-changed"
    names = ("headline", "beside", "findings", "raters", "missing", "categories", "disputes")
    assert_fragments_are_on_the_page(response, (*names, "sensitivity", "pairs-table"))


def assert_fragments_are_on_the_page(response: Any, names: tuple[str, ...]) -> None:
    selectors = response.context["live"].fragment_selector.split(",")
    for name in ("as-of", *names):
        assert f'id="{name}"' in response.text
        assert f"#{name}" in selectors


@pytest.mark.fresh
def test_live_first_count_reloads_page(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    context = client.get(f"/projects/{project.pk}/").context
    rate(question, "i1", "a", "major")
    update_question(question.pk)
    assert poll_dashboard(client, project, context)["HX-Refresh"] == "true"


def test_live_idle_poll_needs_few_queries(
    project: Any, rated_question: Any, lead: Any, client_for: Any, django_assert_num_queries: Any
) -> None:
    client = client_for(lead)
    context = client.get(f"/projects/{project.pk}/").context
    with django_assert_num_queries(7):
        poll_dashboard(client, project, context)


def get_chart(client: Client, project: Any, name: str) -> dict[str, Any]:
    return json.loads(client.get(f"/projects/{project.pk}/charts/{name}").content)


def test_trend_chart_has_one_row_per_day(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    chart = get_chart(
        client_for(lead), project, "trend.json?period=day&coefficient=percent_agreement"
    )
    # An item counts on the day of its second rating: i1 the 2nd, i2 the 5th, i3 the 7th; i4 has no
    # pair.
    assert [row["start"] for row in chart["rows"]] == ["2026-03-02", "2026-03-05", "2026-03-07"]
    assert [row["enough_items"] for row in chart["rows"]] == [False, False, False]
    assert chart["rows"][1]["value"] == 1


@pytest.mark.parametrize(("period", "days"), [("month", 30), ("week", 1), ("day", 1)])
def test_time_axis_ticks_have_distinct_labels(
    period: str, days: int, project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    chart = get_chart(client_for(lead), project, f"trend.json?period={period}")
    axes = [layer["encoding"]["x"]["axis"] for layer in chart["spec"]["layer"]]
    assert {axis["tickMinStep"] for axis in axes if axis} == {days * 24 * 60 * 60 * 1000}
    assert all(axis["labelSeparation"] >= 8 for axis in axes if axis)  # labels do not overlap


def test_pair_chart_is_symmetric(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    rows = get_chart(client_for(lead), project, "pairs.json")["rows"]
    values = {(row["a"], row["b"]): row["value"] for row in rows}
    assert values
    assert all(values[b, a] == value for (a, b), value in values.items())


@pytest.mark.fresh
def test_chart_csv_is_safe_in_a_spreadsheet(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    for item, first_label, second_label in (
        ("i1", "minor", "minor"),
        ("i2", "none", "none"),
        ("i3", "major", "none"),
    ):
        rate(question, item, "=cmd|'/c calc'!A1", first_label)
        rate(question, item, "b", second_label)
    update_question(question.pk)
    text = client_for(lead).get(f"/projects/{project.pk}/charts/pairs.csv").content.decode()
    assert text.splitlines()[0] == "a,b,value,low,high,n_items,wide"
    assert "\n=cmd" not in text
    assert "'=cmd" in text


def test_tests_of_a_pair_are_collapsed(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    text = get_page_text(client_for(lead), f"/projects/{project.pk}/pairs/?a=a&b=b")
    before = text[: text.index('id="tests"')]
    details = before[before.rindex("<details") :]
    assert details.startswith("<details>") and "Agreement beyond chance" in details


def test_rater_page_shows_bias_by_category(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    response = client_for(lead).get(f"/projects/{project.pk}/raters/b/")
    rows = {row.label: row for row in response.context["use"]}
    assert rows["critical"].own > rows["critical"].peers == 0


@pytest.mark.fresh
def test_rater_page_shows_small_differences_of_shares(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    """Shares of 57.5% and 57.0% are shown with a decimal.

    Rounded, 57% beside 58% with a difference of 0 looked like a mistake.
    """
    for number in range(200):
        rate(question, f"i{number}", "a", "none" if number < 115 else "minor")
        rate(question, f"i{number}", "b", "none" if number < 114 else "minor")
    update_question(question.pk)
    text = get_page_text(client_for(lead), f"/projects/{project.pk}/raters/a/")
    section = text[text.index('id="use"') :]
    row = re.findall(r'<td class="num">([^<]*)</td>', section)[:3]
    assert row == ["57.5%", "57.0%", "+0.5"]
    assert "Shares of comparisons." in section
    table = client_for(lead).get(f"/projects/{project.pk}/raters/a/?csv=use-title").text
    assert "none,0.575,0.57,0.005" in table.replace("0.0050000000000000044", "0.005")


@pytest.mark.parametrize("address", ["/projects/{}/statistics/", "/projects/{}/raters/b/"])
def test_no_bias_for_unordered_categories(
    address: str, project: Any, question: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    assert "Bias" in get_page_text(client, address.format(project.pk))
    type(question).objects.filter(pk=question.pk).update(scale="nominal", weights="none")
    assert "Bias" not in get_page_text(client, address.format(project.pk))


def test_rater_page_of_rater_without_ratings(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    assert "No ratings yet." in get_page_text(
        client_for(lead), f"/projects/{project.pk}/raters/ann/"
    )


@pytest.mark.fresh
def test_rater_page_escapes_special_characters_in_key(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    from django.urls import reverse

    key = 'team/<b>"7"?#%'
    rate(question, "i1", key, "minor")
    rate(question, "i1", "b", "major")
    update_question(question.pk)
    text = get_page_text(client_for(lead), reverse("rater", args=[project.pk, key]))
    assert "<b>" not in text
    assert "team/&lt;b&gt;" in text


def test_pair_page_shows_tests_and_differences(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    text = get_page_text(client_for(lead), f"/projects/{project.pk}/pairs/?a=b&b=a")
    assert "3 shared items, 2 rated alike" in text
    assert "Stuart-Maxwell" in text
    differing = text[text.index('id="differing-title"') :]
    assert "i3" in differing
    assert "i1" not in differing


def test_pair_page_with_swapped_raters_is_transposed(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    table, swapped_table = (
        client.get(f"/projects/{project.pk}/pairs/?a={a}&b={b}").context["details"].table
        for a, b in ("ab", "ba")
    )
    assert (table == swapped_table.T).all()
    assert (table != swapped_table).any()


def test_confusion_shades_cells_by_share_of_disagreement() -> None:
    """Cells off the diagonal are shaded by their share of all disagreement; the table has its sums."""
    rows = charts.build_confusion_rows([[90, 6], [2, 0]], ["x", "y"])
    assert [row["disagreement_share"] for row in rows] == [0.0, 0.75, 0.25, 0.0]
    assert [row["share"] for row in rows] == [90 / 96, 6 / 96, 1.0, 0.0]
    diagonal_rows = charts.build_confusion_rows([[3, 0], [0, 1]], ["x", "y"])
    assert [row["disagreement_share"] for row in diagonal_rows] == [0.0, 0.0, 0.0, 0.0]
    table = {"confusion": [("x", [90, 6]), ("y", [2, 0])], "column_sums": [92, 6]}
    text = render_to_string("metrics/common/_confusion_table.html", table)
    assert re.findall(r'<td class="num[ a-z]*">(\d+)</td>', text) == [
        *("90", "6", "96"), *("2", "0", "2"), *("92", "6", "98"),
    ]  # fmt: skip


def test_pair_page_without_common_item(
    project: Any, rated_question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    rate(rated_question, "lonely", "z", "minor")
    update_question(rated_question.pk)
    assert "No shared items." in get_page_text(
        client_for(lead), f"/projects/{project.pk}/pairs/?a=a&b=z"
    )


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("", ["i1", "i2", "i3", "i4"]),
        ("?ratings=2", ["i2", "i3"]),
        ("?ratings=0", []),
        ("?search=4", ["i4"]),
        ("?search=I4", ["i4"]),
        ("?search=%25", []),  # a percent sign is a percent sign
        ("?search=_", []),
    ],
)
def test_item_list_filters(
    query: str, keys: list[str], project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    rows = client_for(lead).get(f"/projects/{project.pk}/items/{query}").context["rows"]
    assert [row.item.key for row in rows] == keys


@pytest.mark.fresh
def test_item_list_has_pages(project: Any, question: Any, lead: Any, client_for: Any) -> None:
    from projects.models import Item

    Item.objects.bulk_create(Item(project=project, key=f"i{number}") for number in range(60))
    client = client_for(lead)
    first = client.get(f"/projects/{project.pk}/items/").context
    second = client.get(f"/projects/{project.pk}/items/?after={first['next_after']}").context
    assert (len(first["rows"]), len(second["rows"]), second["next_after"]) == (50, 10, None)


def test_item_page_shows_history_and_comment(
    project: Any, rated_question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    rate(rated_question, "i1", "a", "critical", comment="<script>alert(1)</script>")
    text = get_page_text(client_for(lead), f"/projects/{project.pk}/items/i1/")
    assert "2 entries" in text
    assert "&lt;script&gt;" in text
    assert "<script>alert" not in text


def test_item_page_shows_withdrawn_rating(
    project: Any, rated_question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    rate(rated_question, "i1", "c", None)
    assert "withdrawn" in get_page_text(client_for(lead), f"/projects/{project.pk}/items/i1/")


def list_flags(chart: Any) -> list[dict[str, str]]:
    """Return the annotations of a trend chart."""
    layer = next(layer for layer in chart["spec"]["layer"] if "data" in layer)
    flags: list[dict[str, str]] = layer["data"]["values"]
    return flags


def test_trend_chart_marks_guideline_versions(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    address = f"/projects/{project.pk}/charts/trend.json?period=day&coefficient=percent_agreement"
    assert "words" not in client.get(address).content.decode()
    # 20:00 UTC on 5 March is already 6 March in Shanghai.
    for day, hour in ((1, 1), (3, 1), (5, 20), (40, 1)):
        with time_machine.travel(
            datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC), tick=False
        ) as clock:
            clock.shift(datetime.timedelta(days=day - 1, hours=hour))
            change_project(
                project=project,
                by=lead,
                guidelines=f"Rules of day {day}",
                time_zone="Asia/Shanghai",
            )
    update_question(rated_question.pk)
    chart = client.get(address).json()
    marks = list_flags(chart)
    assert [mark["words"] for mark in marks] == ["guidelines 2", "guidelines 3"]
    assert [mark["start"] for mark in marks] == ["2026-03-03", "2026-03-06"]
    # Nothing was rated on the 6th: the next period is the first that is based on version 3.
    assert {row["start"]: row["guidelines"] for row in chart["rows"] if row["guidelines"]} == {
        "2026-03-05": "2",
        "2026-03-07": "3",
    }
    html = client.get(f"/projects/{project.pk}/?period=day").content.decode()
    assert html.count(f'/projects/{project.pk}/guidelines/2/">Version 2</a>') == 1
    rater_chart = client.get(
        f"/projects/{project.pk}/charts/rater-trend.json?rater=a&period=day"
    ).json()
    assert next(mark["start"] for mark in list_flags(rater_chart)) == "2026-03-01"


@pytest.mark.fresh
def test_heat_map_begins_with_raters_who_agree_most(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    """Raters zoe and yan always agree, ann agrees with nobody, and bob shares no item with anyone."""
    for number, label in enumerate(["none", "minor", "major", "critical"] * 8):
        for key in ("zoe", "yan"):
            rate(question, f"i{number}", key, label)
        rate(question, f"i{number}", "ann", "none")
    rate(question, "alone", "bob", "none")
    update_question(question.pk)
    client = client_for(lead)
    spec = get_chart(client, project, "pairs.json")["spec"]
    assert spec["encoding"]["x"]["scale"]["domain"] == ["yan", "zoe", "ann", "bob"]
    empty_cells = [layer["data"]["values"] for layer in spec["layer"] if "data" in layer]
    assert {"a": "bob", "b": "zoe", "n_items": 0} in empty_cells[0]
    response = client.get(f"/projects/{project.pk}/statistics/?heat_map=lowest")
    rater_keys = [rater.key for rater in response.context["matrix_raters"]]
    assert rater_keys == ["yan", "zoe", "ann"], "a rater without a value is not among them"
    assert client.get(f"/projects/{project.pk}/?heat_map=x").status_code == 404


def test_unknown_coefficient_is_refused_with_valid_ones(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    response = client_for(lead).get(f"/projects/{project.pk}/?coefficient=odd")
    text = response.content.decode()
    assert response.status_code == 404
    assert "“coefficient” must be one of fleiss_kappa" in text
    assert "Check the address." not in text


def get_statistics_part(client: Any, project: Any, name: str, end: str) -> str:
    """Return the HTML of the statistics from the element with this id to ``end``."""
    html = client.get(f"/projects/{project.pk}/statistics/").text
    return str(html.partition(f'id="{name}"')[2].partition(end)[0])


@pytest.mark.fresh
def test_up_to_date_includes_deferred_results(
    project: Any, question: Any, lead: Any, client_for: Any
) -> None:
    get_freshness = partial(get_statistics_part, client_for(lead), project, "as-of", "</p>")
    for item, rater, label in RATINGS:
        cast.rate(question, item, rater, label)
    update_question(question.pk)
    assert "up to date" in get_freshness()
    CountState.objects.update(sample_is_stale=True)
    assert "up to date" not in get_freshness()
    CountState.objects.update(sample_is_stale=False)
    cast.rate(question, "i4", "b", "minor")
    update_question_for_seconds(question.pk)
    assert "up to date" not in get_freshness()
    assert "Updating …" in get_freshness()
    refresh.recompute_deferred_results(question.pk)
    assert "up to date" in get_freshness()


@pytest.mark.fresh
def test_no_insight_is_shown_before_findings_are_computed(
    project: Any, question: Any, lead: Any, client_for: Any
) -> None:
    get_findings = partial(get_statistics_part, client_for(lead), project, "findings", "</section>")
    for item, rater, label in RATINGS:
        cast.rate(question, item, rater, label)
    update_question_for_seconds(question.pk)
    assert "Computing …" in get_findings()
    refresh.recompute_deferred_results(question.pk)
    assert "Computing …" not in get_findings()
