"""What pages and API ask of the database does not grow with the project, and lists stay whole
however long they are."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from metrics import tasks
from metrics.counting import store
from metrics.jobs.question_updates import update_question
from metrics.models import PairTally, Slice
from metrics.results.pairs import pair_results
from metrics.scale import QuestionScale
from metrics.views.common.trends import trend_points
from metrics.views.items import item_rows
from ratings.items import item_search
from tests.query_counts import journeys


def asking(client: Any, path: str) -> dict[str, str]:
    """What an open page sends that asks after numbers moved (metrics/views/common/live_updates.py), with the
    places that it has."""
    return {"X-Shown": "", "X-Places": client.get(path).context["places"]}


# Address -> queries of one request. A query more is paid by every request: raise a number only for
# a reason.
PINNED = {
    "/": 19,
    "/projects/{project}/": 33,
    "/projects/{project}/?period=day": 31,
    "/projects/{project}/?sort=vs_peers": 33,
    "/projects/{project}/ asks": 33,
    "/projects/{project}/charts/trend.json?period=day": 8,
    "/projects/{project}/charts/pairs.json": 8,
    "/projects/{project}/charts/rater-trend.json?rater=a": 11,
    "/projects/{project}/charts/rater-trend.json?rater=a&period=day": 10,
    "/projects/{project}/charts/rater-bias.json?rater=a": 10,
    "/projects/{project}/charts/rater-confusion.json?rater=a": 7,
    "/projects/{project}/charts/pair-table.json?a=a&b=b": 8,
    "/projects/{project}/charts/change.json": 9,
    "/projects/{project}/raters/a/": 25,
    "/projects/{project}/raters/a/?period=day": 24,
    "/projects/{project}/coefficients/": 14,
    "/projects/{project}/pairs/": 15,
    "/projects/{project}/pairs/?sort=kappa": 15,
    "/projects/{project}/pairs/?a=a&b=b": 19,
    "/projects/{project}/items/": 16,
    "/projects/{project}/items/?ratings=2": 16,
    "/projects/{project}/items/?search=i": 19,
    "/projects/{project}/items/i1/": 13,
    "/projects/{project}/change/": 14,
    "/healthz": 11,
    "/api/v1/projects/": 6,
    "/api/v1/projects/{project}/": 4,
    "/api/v1/projects/{project}/ratings/": 5,
    "/api/v1/projects/{project}/agreement/": 7,
    "/api/v1/projects/{project}/agreement/coefficients/": 7,
    "/api/v1/projects/{project}/agreement/pair/?rater_a=a&rater_b=b": 7,
    "/api/v1/projects/{project}/agreement/pairs/": 5,
    "/api/v1/projects/{project}/agreement/raters/": 5,
    "/api/v1/projects/{project}/agreement/trend/": 6,
    "/api/v1/projects/{project}/agreement/raters/a/trend/": 6,
    "/api/v1/projects/{project}/agreement/raters/a/trend/?period=day": 6,
}


@pytest.fixture
def rated(question: Any, rate: Any, utc: Any) -> Any:
    """Three raters on four items, in two weeks; counted, and the change between the weeks is
    computed."""
    grow(question, rate, utc, raters="abc", items=4)
    return question


def grow(question: Any, rate: Any, utc: Any, *, raters: str, items: int) -> None:
    for number in range(1, items + 1):
        for place, rater in enumerate(raters):
            label = ("minor", "none")[(number + place) % 3 == 0]
            rate(question, f"i{number}", rater, label, rated_at=utc(2026, 3, 7 + number % 14, 12))
    update_question(question.pk)
    tasks.sweep_all()


def test_queries_are_pinned(
    project: Any, rated: Any, rate: Any, utc: Any, lead: Any, client_for: Any, api_for: Any
) -> None:
    pages, api = client_for(lead), api_for(lead)

    def answer(address: str) -> int:
        path, _, asks = address.format(project=project.pk).partition(" ")
        client = api if path.startswith("/api/") else pages
        return queries_of(client, path, **(asking(client, path) if asks else {}))

    def queries() -> dict[str, int]:
        Slice.objects.update(rests_until=None)  # whatever its last computation took
        # the first visit may ask a worker for something, or note when a token was used
        for address in PINNED:
            answer(address)
        tasks.sweep_all()
        return {address: answer(address) for address in PINNED}

    expected = {address: number - one_journey(address) for address, number in PINNED.items()}
    if connection.vendor == "postgresql":
        expected["/healthz"] += 5  # a bound on each statement, and a row that it writes
    assert queries() == expected
    grow(rated, rate, utc, raters="abcdefg", items=9)
    assert queries() == expected


def one_journey(address: str) -> bool:
    """Whether token and project are asked for on one journey to the database."""
    return connection.vendor == "postgresql" and address.startswith("/api/v1/projects/{project}/")


def queries_of(client: Any, path: str, **headers: str) -> int:
    with journeys() as taken:
        assert client.get(path, headers=headers).status_code == 200
    return taken()


# --- lists whose order in the database is not that of the keys


@pytest.fixture
def backwards(question: Any, rate: Any) -> Any:
    """Five raters who met each other, the first one made being the last by key."""
    for rater in "edcba":
        for item, label in (("i1", "minor"), ("i2", "none"), (f"own-{rater}", "major")):
            rate(question, item, rater, label)
    rate(question, "i2", "a", "minor")
    update_question(question.pk)
    return question


@pytest.mark.parametrize(("name", "number"), [("pairs", 10), ("raters", 5)])
def test_pages_by_cursor_hold_every_row_once(
    name: str, number: int, backwards: Any, project: Any, lead: Any, api_for: Any
) -> None:
    client, found = api_for(lead), []
    address = f"/api/v1/projects/{project.pk}/agreement/{name}/?page_size=3"
    while address:
        answer = client.get(address).json()
        found += [
            (row.get("rater_a") or row["rater"], row.get("rater_b")) for row in answer["results"]
        ]
        address = answer["next"]
    assert len(found) == len(set(found)) == number


def test_a_new_scale_reaches_every_pair(backwards: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = dict(PairTally.objects.values_list("pk", "kappa_quadratic"))
    assert len(exact) == 10
    PairTally.objects.update(kappa_quadratic=-0.5)
    monkeypatch.setattr(store, "ROWS_AT_ONCE", 3)
    store.recompute_pair_kappas(backwards.pk, QuestionScale.for_question(backwards))
    assert dict(PairTally.objects.values_list("pk", "kappa_quadratic")) == exact


# --- lists that show a part


@pytest.fixture
def uneven(question: Any, rate: Any) -> Any:
    """Pairs a-b, a-c, b-c share 3, 2 and 2 items, all pairs with d one."""
    for item, raters in (("i1", "abcd"), ("i2", "abc"), ("i3", "ab")):
        for place, rater in enumerate(raters):
            rate(question, item, rater, ("none", "minor", "major")[(int(item[1]) + place // 2) % 3])
    update_question(question.pk)
    return question


def shown(client: Any, address: str) -> list[tuple[str, str]]:
    return [(pair.rater_a.key, pair.rater_b.key) for pair in client.get(address).context["pairs"]]


def test_list_of_pairs_holds_those_with_most_items(
    uneven: Any, project: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_results, "MAX_LISTED_PAIRS", 3)
    client, address = client_for(lead), f"/projects/{project.pk}/pairs/"
    most = [("a", "b"), ("a", "c"), ("b", "c")]
    assert shown(client, address) == most
    assert shown(client, f"{address}?sort=items") == most[::-1]
    # the best of these, not of those that met once
    assert sorted(shown(client, f"{address}?sort=kappa")) == most
    assert "The 3 pairs with the most items in common" in client.get(address).content.decode()


def test_whole_list_of_pairs_says_nothing_of_a_part(
    uneven: Any, project: Any, lead: Any, client_for: Any
) -> None:
    client, address = client_for(lead), f"/projects/{project.pk}/pairs/"
    by_kappa = shown(client, f"{address}?sort=kappa")
    assert len(by_kappa) == 6
    values = [
        pair.reading["value"] for pair in client.get(f"{address}?sort=kappa").context["pairs"]
    ]
    known = [value for value in values if value is not None]
    assert known == sorted(known)
    assert values[len(known) :] == [None] * (len(values) - len(known))
    down = [pair.reading["value"] for pair in client.get(f"{address}?sort=-kappa").context["pairs"]]
    assert down[: len(known)] == known[::-1]
    assert "are listed here" not in client.get(address).content.decode()


def test_items_by_ratings_are_searched_in_parts(
    uneven: Any, project: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_search, "MAX_ITEMS_SCANNED", 2)
    client, address = client_for(lead), f"/projects/{project.pk}/items/"
    first = client.get(f"{address}?ratings=2")
    assert first.context["rows"] == []
    assert "No item fits among the 2 that were looked at." in first.content.decode()
    second = client.get(f"{address}?ratings=2&after={first.context['next_after']}")
    assert [row.item.key for row in second.context["rows"]] == ["i3"]
    assert second.context["next_after"] is None


def test_items_by_ratings_go_on_behind_a_full_page(
    uneven: Any, project: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_rows, "ITEMS_PER_PAGE", 1)
    monkeypatch.setattr(item_search, "MAX_ITEMS_SCANNED", 2)
    client, address = client_for(lead), f"/projects/{project.pk}/items/?ratings="
    found, after = [], 0
    while after is not None:
        page = client.get(f"{address}3&after={after}").context
        found += [row.item.key for row in page["rows"]]
        after = page["next_after"]
    assert found == ["i2"]


def test_table_of_a_long_trend_shows_its_newest_part(
    rated: Any, project: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trend_points, "TABLE_PERIODS", 3)
    text = client_for(lead).get(f"/projects/{project.pk}/?period=day").content.decode()
    table = text[text.index('id="trend-table"') :]
    assert [f"2026-03-{day:02}" in table for day in (8, 9, 10, 11)] == [False, True, True, True]
    assert "1 older period is in the CSV file." in table


def test_period_of_a_trend_follows_its_newest_part(
    question: Any, rate: Any, utc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three items a day at first, then one: single days no longer carry a point, however many
    did."""
    for day in range(1, 13):
        for number in range(3 if day < 9 else 1):
            for rater in "ab":
                rate(question, f"i{day}-{number}", rater, "minor", rated_at=utc(2026, 3, day, 12))
    update_question(question.pk)
    monkeypatch.setattr(trend_points, "MIN_MEDIAN_ITEMS", 2)
    assert trend_points.choose_project_period(question) == "day"
    monkeypatch.setattr(trend_points, "RECENT_PERIODS", 3)
    assert trend_points.choose_project_period(question) == "week"
