"""The number of queries of pages and API does not grow with the project; lists are complete."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from metrics import tasks
from metrics.counting import store
from metrics.jobs.question_updates import update_question
from metrics.models import FilteredResult, PairTally
from metrics.question_scale import QuestionScale
from metrics.results import pair_results
from metrics.views.common.trends import trend_points
from metrics.views.items import item_rows
from ratings.items import item_search
from tests.cast import rate_many
from tests.query_counts import measure_round_trips


def get_poll_headers(client: Any, path: str) -> dict[str, str]:
    """Return the headers that an open page with these places sends when it polls for updates."""
    return {"X-Shown-Version": "", "X-Fragments": client.get(path).context["fragment_key"]}


# Address -> queries of one request. Every request pays for one more query: raise a number only for
# a reason. Every page of a project counts the uncertain items (for a lead), at most 100, for its
# navigation.
MAX_QUERIES = {
    "/": 19,
    "/projects/{project}/": 32,
    "/projects/{project}/?period=day": 30,
    "/projects/{project}/statistics/": 29,
    "/projects/{project}/statistics/?sort=vs_peers": 29,
    "/projects/{project}/statistics/ asks": 29,
    "/projects/{project}/ asks": 32,
    "/projects/{project}/charts/trend.json?period=day": 8,
    "/projects/{project}/charts/pairs.json": 8,
    "/projects/{project}/charts/rater-trend.json?rater=a": 11,
    "/projects/{project}/charts/rater-trend.json?rater=a&period=day": 10,
    "/projects/{project}/charts/rater-bias.json?rater=a": 10,
    "/projects/{project}/charts/rater-confusion.json?rater=a": 7,
    "/projects/{project}/charts/pair-table.json?a=a&b=b": 8,
    "/projects/{project}/charts/change.json": 9,
    "/projects/{project}/raters/a/": 35,
    "/projects/{project}/raters/a/?period=day": 34,
    "/projects/{project}/coefficients/": 16,
    "/projects/{project}/pairs/": 16,
    "/projects/{project}/pairs/?sort=kappa": 16,
    "/projects/{project}/pairs/?a=a&b=b": 20,
    "/projects/{project}/items/": 17,
    "/projects/{project}/items/?ratings=2": 17,
    "/projects/{project}/items/?search=i": 20,
    "/projects/{project}/items/i1/": 20,
    "/projects/{project}/change/": 15,
    "/healthz": 11,
    "/api/v1/projects/": 5,
    "/api/v1/projects/{project}/": 4,
    "/api/v1/projects/{project}/ratings/": 5,
    "/api/v1/projects/{project}/agreement/": 7,
    "/api/v1/projects/{project}/agreement/coefficients/": 7,
    "/api/v1/projects/{project}/agreement/pair/?rater_a=a&rater_b=b": 7,
    "/api/v1/projects/{project}/agreement/pairs/": 6,
    "/api/v1/projects/{project}/agreement/raters/": 5,
    "/api/v1/projects/{project}/agreement/trend/": 6,
    "/api/v1/projects/{project}/agreement/raters/a/trend/": 6,
    "/api/v1/projects/{project}/agreement/raters/a/trend/?period=day": 6,
}


@pytest.fixture
def rated_question(question: Any, utc: Any) -> Any:
    """Return a counted question with ratings of three raters on four items, in two weeks.

    The change between the weeks is computed.
    """
    add_ratings(question, utc, raters="abc", items=4)
    return question


def add_ratings(question: Any, utc: Any, *, raters: str, items: int) -> None:
    ratings = []
    for number in range(1, items + 1):
        for index, rater in enumerate(raters):
            label = ("minor", "none")[(number + index) % 3 == 0]
            ratings.append((f"i{number}", rater, label, utc(2026, 3, 7 + number % 14, 12)))
    rate_many(question, ratings)
    update_question(question.pk)
    tasks.sweep_all()


def test_query_counts_do_not_grow(
    project: Any, rated_question: Any, utc: Any, lead: Any, client_for: Any, api_for: Any
) -> None:
    pages, api = client_for(lead), api_for(lead)

    def count_queries(address: str) -> int:
        path, _, polls = address.format(project=project.pk).partition(" ")
        client = api if path.startswith("/api/") else pages
        return count_round_trips(client, path, **(get_poll_headers(client, path) if polls else {}))

    def count_all_queries() -> dict[str, int]:
        FilteredResult.objects.update(paused_until=None)  # ends the cooldown
        # the first visit may request work from a worker, or record the use of a token
        for address in MAX_QUERIES:
            count_queries(address)
        tasks.sweep_all()
        return {address: count_queries(address) for address in MAX_QUERIES}

    expected = {
        address: number - is_one_round_trip(address) for address, number in MAX_QUERIES.items()
    }
    if connection.vendor == "postgresql":
        expected["/healthz"] += 5  # a timeout on each statement, and a row that it writes
    assert count_all_queries() == expected
    add_ratings(rated_question, utc, raters="abcdefg", items=9)
    assert count_all_queries() == expected


def is_one_round_trip(address: str) -> bool:
    """Return whether token and project are fetched in one round trip to the database."""
    return connection.vendor == "postgresql" and address.startswith("/api/v1/projects/{project}/")


def count_round_trips(client: Any, path: str, **headers: str) -> int:
    with measure_round_trips() as count_trips:
        # 202: a worker has not computed the result yet
        assert client.get(path, headers=headers).status_code in (200, 202)
    return count_trips()


# --- lists whose order in the database is not that of the keys


@pytest.fixture
def reversed_raters_question(question: Any, rate: Any) -> Any:
    """Return a question with five raters who share items; the first one created has the last key."""
    for rater in "edcba":
        for item, label in (("i1", "minor"), ("i2", "none"), (f"own-{rater}", "major")):
            rate(question, item, rater, label)
    rate(question, "i2", "a", "minor")
    update_question(question.pk)
    return question


@pytest.mark.parametrize(("name", "number"), [("pairs", 10), ("raters", 5)])
def test_cursor_pages_contain_every_row_once(
    name: str, number: int, reversed_raters_question: Any, project: Any, lead: Any, api_for: Any
) -> None:
    client, rows = api_for(lead), []
    address = f"/api/v1/projects/{project.pk}/agreement/{name}/?page_size=3"
    while address:
        response = client.get(address).json()
        rows += [
            (result.get("rater_a") or result["rater"], result.get("rater_b"))
            for result in response["results"]
        ]
        address = response["next"]
    assert len(rows) == len(set(rows)) == number


def test_new_scale_updates_every_pair(
    reversed_raters_question: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kappas = dict(PairTally.objects.values_list("pk", "kappa_quadratic"))
    assert len(kappas) == 10
    PairTally.objects.update(kappa_quadratic=-0.5)
    monkeypatch.setattr(store, "ROWS_AT_ONCE", 3)
    store.recompute_pair_kappas(
        reversed_raters_question.pk, QuestionScale.for_question(reversed_raters_question)
    )
    assert dict(PairTally.objects.values_list("pk", "kappa_quadratic")) == kappas


# --- lists that are cut off


@pytest.fixture
def uneven_pairs_question(question: Any, rate: Any) -> Any:
    """Return a question where pairs a-b, a-c, b-c share 3, 2 and 2 items, and all pairs with d one."""
    for item, raters in (("i1", "abcd"), ("i2", "abc"), ("i3", "ab")):
        for index, rater in enumerate(raters):
            rate(question, item, rater, ("none", "minor", "major")[(int(item[1]) + index // 2) % 3])
    update_question(question.pk)
    return question


def list_shown_pairs(client: Any, address: str) -> list[tuple[str, str]]:
    return [(pair.rater_a.key, pair.rater_b.key) for pair in client.get(address).context["pairs"]]


def test_pair_list_contains_pairs_with_most_items(
    uneven_pairs_question: Any,
    project: Any,
    lead: Any,
    client_for: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pair_results, "MAX_LISTED_PAIRS", 3)
    client, address = client_for(lead), f"/projects/{project.pk}/pairs/"
    largest_pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    assert list_shown_pairs(client, address) == largest_pairs
    assert list_shown_pairs(client, f"{address}?sort=items") == largest_pairs[::-1]
    # the best of these pairs, not of those with one common item
    assert sorted(list_shown_pairs(client, f"{address}?sort=kappa")) == largest_pairs
    assert "3 pairs with most shared items" in client.get(address).content.decode()


def test_complete_pair_list_has_no_cut_off_note(
    uneven_pairs_question: Any, project: Any, lead: Any, client_for: Any
) -> None:
    client, address = client_for(lead), f"/projects/{project.pk}/pairs/"
    by_kappa = list_shown_pairs(client, f"{address}?sort=kappa")
    assert len(by_kappa) == 6
    values = [pair.kappa["value"] for pair in client.get(f"{address}?sort=kappa").context["pairs"]]
    defined_values = [value for value in values if value is not None]
    assert defined_values == sorted(defined_values)
    assert values[len(defined_values) :] == [None] * (len(values) - len(defined_values))
    descending_values = [
        pair.kappa["value"] for pair in client.get(f"{address}?sort=-kappa").context["pairs"]
    ]
    assert descending_values[: len(defined_values)] == defined_values[::-1]
    assert "pairs with most shared items" not in client.get(address).content.decode()


def test_items_by_ratings_are_searched_in_parts(
    uneven_pairs_question: Any,
    project: Any,
    lead: Any,
    client_for: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(item_search, "MAX_ITEMS_SCANNED", 2)
    client, address = client_for(lead), f"/projects/{project.pk}/items/"
    first = client.get(f"{address}?ratings=2")
    assert first.context["rows"] == []
    assert "No match in 2 items." in first.content.decode()
    second = client.get(f"{address}?ratings=2&after={first.context['next_after']}")
    assert [row.item.key for row in second.context["rows"]] == ["i3"]
    assert second.context["next_after"] is None


def test_item_search_continues_after_a_full_page(
    uneven_pairs_question: Any,
    project: Any,
    lead: Any,
    client_for: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(item_rows, "ITEMS_PER_PAGE", 1)
    monkeypatch.setattr(item_search, "MAX_ITEMS_SCANNED", 2)
    client, address = client_for(lead), f"/projects/{project.pk}/items/?ratings="
    keys, after = [], 0
    while after is not None:
        page = client.get(f"{address}3&after={after}").context
        keys += [row.item.key for row in page["rows"]]
        after = page["next_after"]
    assert keys == ["i2"]


def test_table_of_a_long_trend_shows_its_newest_part(
    rated_question: Any, project: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trend_points, "TABLE_PERIODS", 3)
    text = client_for(lead).get(f"/projects/{project.pk}/?period=day").content.decode()
    table = text[text.index('id="trend-table"') :]
    assert [f"2026-03-{day:02}" in table for day in (8, 9, 10, 11)] == [False, True, True, True]
    assert "1 older period in the CSV file." in table


def test_default_period_follows_newest_items(
    question: Any, rate: Any, utc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three items a day at first, then one: the recent days are too sparse, whatever came before."""
    for day in range(1, 13):
        for number in range(3 if day < 9 else 1):
            for rater in "ab":
                rate(question, f"i{day}-{number}", rater, "minor", rated_at=utc(2026, 3, day, 12))
    update_question(question.pk)
    monkeypatch.setattr(trend_points, "MIN_MEDIAN_ITEMS", 2)
    assert trend_points.choose_project_period(question) == "day"
    monkeypatch.setattr(trend_points, "RECENT_PERIODS", 3)
    assert trend_points.choose_project_period(question) == "week"
