"""Readings through the API."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from rest_framework.test import APIClient

from metrics.counting.question_counting import count_items
from metrics.jobs.question_updates import update_question
from projects.models import Question, Rater
from tests.query_counts import journeys

Address = Callable[..., str]
Refused = Callable[..., dict[str, Any]]
READING = {"value", "low", "high", "se", "observed", "expected", "n_items", "n_ratings", "reason"}


@pytest.fixture
def get(api: APIClient, address: Address) -> Callable[[str], Any]:
    def do(tail: str) -> Any:
        answer = api.get(address(f"agreement/{tail}"))
        assert answer.status_code == 200, answer.content
        return answer.json()

    return do


@pytest.fixture
def rated(question: Question, rate: Callable[..., Any], utc: Callable[..., Any]) -> Question:
    """ann and ben agree on 3 of 4 items, cleo rated one of them; two weeks; one rating is not
    counted yet."""
    first, second = utc(2026, 3, 2, 9), utc(2026, 3, 10, 9)
    for item, ann, ben, moment in (
        ("i1", "minor", "minor", first),
        ("i2", "major", "major", first),
        ("i3", "major", "minor", second),
        ("i4", "none", "none", second),
    ):
        rate(question, item, "ann", ann, rated_at=moment)
        rate(question, item, "b/en", ben, rated_at=moment)
    rate(question, "i1", "cleo", "minor", rated_at=first)
    rate(question, "i5", "cleo", "minor", rated_at=first)
    update_question(question.pk)
    rate(question, "i6", "cleo", "minor", rated_at=first)
    return question


def test_agreement(get: Callable[[str], Any], rated: Question) -> None:
    found = get("")
    assert found["question"] == "severity"
    assert found["counted_at"].endswith("Z")
    assert (found["ratings"], found["uncounted"]) == (10, 1)
    assert found["items"] == {"total": 6, "rated": 5, "with_two_or_more": 4}
    readings = found["coefficients"]
    assert {
        "fleiss_kappa",
        "krippendorff_alpha_nominal",
        "gwet_ac1",
        "percent_agreement",
        "mean_pairwise_kappa",
    } <= set(readings)
    assert all(set(reading) >= READING for reading in readings.values())
    assert readings["percent_agreement"]["value"] == pytest.approx(3 / 4)
    # p = (2, 5, 3, 0) / 10 would be the shares without i5; pooled over all ratings: none 2, minor
    # 5, major 3.
    expected = (4 + 25 + 9) / 100
    assert readings["fleiss_kappa"]["expected"] == pytest.approx(expected)
    assert readings["fleiss_kappa"]["value"] == pytest.approx((0.75 - expected) / (1 - expected))
    assert readings["fleiss_kappa"]["n_items"] == 4


def test_what_is_counted_but_not_in_the_readings_is_uncounted(
    get: Callable[[str], Any], rated: Question, rate: Callable[..., Any]
) -> None:
    rate(rated, "i7", "ann", "major")
    while count_items(rated.pk).has_more:
        pass
    found = get("")
    assert (found["ratings"], found["uncounted"]) == (10, 2)
    update_question(rated.pk)
    found = get("")
    assert (found["ratings"], found["uncounted"]) == (12, 0)


def test_nothing_counted_yet_is_a_state(
    get: Callable[[str], Any], question: Question, rate: Callable[..., Any]
) -> None:
    rate(question, "i1", "ann", "minor")
    found = get("")
    assert (found["counted_at"], found["ratings"], found["uncounted"]) == (None, 0, 1)
    assert found["items"] == {"total": 1, "rated": 0, "with_two_or_more": 0}
    assert {"fleiss_kappa", "mean_pairwise_kappa", "krippendorff_alpha_ordinal"} <= set(
        found["coefficients"]
    )
    for reading in found["coefficients"].values():
        assert reading["reason"] == "not_counted"
        assert reading["value"] is reading["low"] is reading["high"] is None
    for tail in ("pairs/", "raters/", "trend/", "raters/ann/trend/"):
        assert get(tail) == {"next": None, "results": []}


def test_the_names_are_the_same_before_and_after_counting(
    get: Callable[[str], Any], question: Question, rate: Callable[..., Any]
) -> None:
    before = set(get("")["coefficients"])
    rate(question, "i1", "ann", "minor")
    update_question(question.pk)
    assert set(get("")["coefficients"]) == before


def test_pairs(get: Callable[[str], Any], rated: Question) -> None:
    pairs = get("pairs/")["results"]
    assert [(pair["rater_a"], pair["rater_b"], pair["n_items"]) for pair in pairs] == [
        ("ann", "b/en", 4),
        ("ann", "cleo", 1),
        ("b/en", "cleo", 1),
    ]
    assert all(set(pair) == READING | {"rater_a", "rater_b", "table"} for pair in pairs)
    # Order: none, minor, major, critical; rows: ann.
    assert pairs[0]["table"] == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    expected = (1 * 1 + 1 * 2 + 2 * 1) / 16
    assert pairs[0]["value"] == pytest.approx((0.75 - expected) / (1 - expected))
    assert pairs[0]["low"] < pairs[0]["value"] < pairs[0]["high"] <= 1
    assert pairs[1]["value"] is None
    assert pairs[1]["reason"] == "single_category"


def test_pairs_follow_the_declared_order(get: Callable[[str], Any], rated: Question) -> None:
    for position, label in enumerate(("critical", "major", "minor", "none")):
        rated.categories.filter(label=label).update(position=position)
    assert get("pairs/")["results"][0]["table"] == [
        [0, 0, 0, 0],
        [0, 1, 1, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_pairs_are_weighted_on_demand(
    get: Callable[[str], Any], api: APIClient, address: Address, refused: Refused, rated: Question
) -> None:
    values = {
        weights: get(f"pairs/?weights={weights}")["results"][0]["value"]
        for weights in ("none", "linear", "quadratic")
    }
    assert values["none"] < values["linear"] < values["quadratic"]
    error = refused(api.get, address("agreement/pairs/?weights=custom"))
    assert error["fields"]["weights"] == "unknown weights 'custom'; one of none, linear, quadratic"
    identity = [[float(i == j) for j in range(4)] for i in range(4)]
    Question.objects.filter(pk=rated.pk).update(weight_matrix=identity)
    assert get("pairs/?weights=custom")["results"][0]["value"] == values["none"]


def test_pairs_are_paged(get: Callable[[str], Any], api: APIClient, rated: Question) -> None:
    whole = get("pairs/")["results"]
    first = get("pairs/?page_size=2")
    second = api.get(first["next"]).json()
    assert first["results"] + second["results"] == whole
    assert second["next"] is None


def test_raters(get: Callable[[str], Any], rated: Question) -> None:
    raters = get("raters/")["results"]
    assert [(row["rater"], row["ratings"]) for row in raters] == [
        ("ann", 4),
        ("b/en", 4),
        ("cleo", 2),
    ]
    for row in raters:
        assert set(row["vs_peers"]) >= READING
        assert set(row["mean_pairwise_kappa"]) >= READING
    assert raters[0]["vs_peers"]["n_items"] == 4
    assert get("raters/?page_size=1")["results"] == raters[:1]


def test_trend(get: Callable[[str], Any], rated: Question) -> None:
    weeks = get("trend/?period=week&coefficient=percent_agreement")["results"]
    assert [(week["start"], week["end"], week["n_items"]) for week in weeks] == [
        ("2026-03-02", "2026-03-09", 2),
        ("2026-03-09", "2026-03-16", 2),
    ]
    assert [week["value"] for week in weeks] == [1.0, 0.5]
    assert [week["cumulative"]["value"] for week in weeks] == pytest.approx([1.0, 0.75])
    assert all(
        set(week) == READING | {"start", "end", "coefficient", "cumulative"} for week in weeks
    )
    assert set(weeks[0]["cumulative"]) == READING
    assert [day["start"] for day in get("trend/?period=day")["results"]] == [
        "2026-03-02",
        "2026-03-10",
    ]
    assert [month["start"] for month in get("trend/?period=month")["results"]] == ["2026-03-01"]
    shown = get("trend/?period=week&question=severity&coefficient=fleiss_kappa_quadratic")
    assert get("trend/")["results"] == shown["results"]


def test_trend_is_paged(get: Callable[[str], Any], api: APIClient, rated: Question) -> None:
    first = get("trend/?page_size=1")
    assert first["results"] + api.get(first["next"]).json()["results"] == get("trend/")["results"]


def test_trend_of_a_rater(get: Callable[[str], Any], rated: Question) -> None:
    weeks = get("raters/b/en/trend/?period=week&coefficient=vs_peers_percent")["results"]
    assert [(week["start"], week["end"]) for week in weeks] == [
        ("2026-03-02", "2026-03-09"),
        ("2026-03-09", "2026-03-16"),
    ]
    assert [week["value"] for week in weeks] == [1.0, 0.5]
    assert all(set(week) == READING | {"start", "end"} for week in weeks)
    assert len(get("raters/ann/trend/")["results"]) == 2


@pytest.mark.parametrize(
    ("tail", "place", "words"),
    [
        ("?question=colour", "question", "unknown question 'colour'; one of severity"),
        ("pairs/?weights=cubic", "weights", "one of none, linear, quadratic"),
        ("trend/?period=year", "period", "one of day, week, month"),
        ("trend/?coefficient=kappa", "coefficient", "fleiss_kappa"),
        ("trend/?coefficient=fleiss_kappa__value", "coefficient", "fleiss_kappa"),
        ("raters/ann/trend/?coefficient=fleiss_kappa", "coefficient", "vs_peers"),
        ("trend/?cursor=WzQwMDAwMDAwMDAwMF0", "cursor", "next"),
        ("raters/?sort=value", "sort", "one of question, cursor, page_size"),
        ("?cursor=x", "cursor", "unknown parameter"),
    ],
)
def test_bad_query_is_refused(
    api: APIClient,
    address: Address,
    refused: Refused,
    rated: Question,
    tail: str,
    place: str,
    words: str,
) -> None:
    fields = refused(api.get, address(f"agreement/{tail}"))["fields"]
    assert list(fields) == [place]
    assert words in fields[place]


def test_the_question_must_be_named_where_there_are_two(
    api: APIClient, address: Address, refused: Refused, rated: Question
) -> None:
    Question.objects.create(project=rated.project, key="spam", text="?", position=1)
    error = refused(api.get, address("agreement/"))
    assert error["fields"] == {"question": "missing; the project has 2 questions: severity, spam"}
    assert api.get(address("agreement/?question=severity")).status_code == 200


@pytest.mark.parametrize("key", ["nobody", "%00", "a" * 500])
def test_an_unknown_rater_has_no_trend(
    api: APIClient, address: Address, refused: Refused, key: str
) -> None:
    refused(api.get, address(f"agreement/raters/{key}/trend/"), status=404)


def test_no_answer_holds_a_number_that_is_none(get: Callable[[str], Any], rated: Question) -> None:
    def numbers(value: Any) -> list[float]:
        parts = (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        )
        return (
            [value]
            if isinstance(value, float)
            else [number for part in parts for number in numbers(part)]
        )

    for tail in ("", "pairs/", "raters/", "trend/", "raters/cleo/trend/"):
        assert all(math.isfinite(number) for number in numbers(get(tail)))


def test_number_of_journeys(
    api: APIClient, address: Address, rated: Question, rate: Callable[..., Any], lead: User
) -> None:
    def taken() -> list[int]:
        counted = []
        for tail in ("", "pairs/", "raters/", "trend/", "raters/ann/trend/"):
            with journeys() as begun:
                assert api.get(address(f"agreement/{tail}")).status_code == 200
            counted.append(begun())
        return counted

    api.get(
        address("agreement/")
    )  # the token's first use writes, and the first answer counts the items
    few = taken()
    together = connection.vendor == "postgresql"  # token and project on one journey
    assert few == [number - together for number in (7, 5, 5, 6, 6)]
    for number in range(8):
        rate(rated, "i1", f"rater{number}", "minor")
        rate(rated, f"other{number}", "ann", "minor")
    update_question(rated.pk)
    assert Rater.objects.count() == 11
    assert taken() == few


def test_means_by_ranks_are_of_ordered_scales_alone(
    get: Callable[[str], Any], rated: Question
) -> None:
    by_rank = {"mean_pairwise_kappa_linear", "mean_pairwise_kappa_quadratic"}
    assert by_rank <= set(get("")["coefficients"])
    rated.scale = "nominal"
    rated.save()
    assert not by_rank & set(get("")["coefficients"])
    assert "mean_pairwise_kappa" in get("")["coefficients"]
