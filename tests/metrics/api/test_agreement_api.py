"""Results through the API."""

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
from tests.query_counts import measure_round_trips

Address = Callable[..., str]
Refused = Callable[..., dict[str, Any]]
ESTIMATE_FIELDS = {
    "value",
    "low",
    "high",
    "se",
    "observed",
    "expected",
    "n_items",
    "n_ratings",
    "reason",
}


@pytest.fixture
def get(api: APIClient, address: Address) -> Callable[[str], Any]:
    def get_answer(tail: str) -> Any:
        response = api.get(address(f"agreement/{tail}"))
        assert response.status_code == 200, response.content
        return response.json()

    return get_answer


@pytest.fixture
def rated_question(
    question: Question, rate: Callable[..., Any], utc: Callable[..., Any]
) -> Question:
    """Return a counted question with one uncounted rating.

    ann and ben agree on 3 of 4 items, cleo rated one of them; the ratings lie in two weeks.
    """
    first_week, second_week = utc(2026, 3, 2, 9), utc(2026, 3, 10, 9)
    for item, ann, ben, moment in (
        ("i1", "minor", "minor", first_week),
        ("i2", "major", "major", first_week),
        ("i3", "major", "minor", second_week),
        ("i4", "none", "none", second_week),
    ):
        rate(question, item, "ann", ann, rated_at=moment)
        rate(question, item, "b/en", ben, rated_at=moment)
    rate(question, "i1", "cleo", "minor", rated_at=first_week)
    rate(question, "i5", "cleo", "minor", rated_at=first_week)
    update_question(question.pk)
    rate(question, "i6", "cleo", "minor", rated_at=first_week)
    return question


def test_agreement_of_project(get: Callable[[str], Any], rated_question: Question) -> None:
    answer = get("")
    assert answer["question"] == "severity"
    assert answer["counted_at"].endswith("Z")
    assert (answer["ratings"], answer["uncounted"]) == (10, 1)
    assert answer["items"] == {"total": 6, "rated": 5, "with_two_or_more": 4}
    estimates = answer["coefficients"]
    assert {
        "fleiss_kappa",
        "krippendorff_alpha_nominal",
        "gwet_ac1",
        "percent_agreement",
        "mean_pairwise_kappa",
    } <= set(estimates)
    assert all(set(estimate) >= ESTIMATE_FIELDS for estimate in estimates.values())
    assert estimates["percent_agreement"]["value"] == pytest.approx(3 / 4)
    # Shares pooled over all 10 ratings, with that of i5: none 2, minor 5, major 3.
    expected = (4 + 25 + 9) / 100
    assert estimates["fleiss_kappa"]["expected"] == pytest.approx(expected)
    assert estimates["fleiss_kappa"]["value"] == pytest.approx((0.75 - expected) / (1 - expected))
    assert estimates["fleiss_kappa"]["n_items"] == 4


def test_ratings_counted_without_results_are_uncounted(
    get: Callable[[str], Any], rated_question: Question, rate: Callable[..., Any]
) -> None:
    rate(rated_question, "i7", "ann", "major")
    while count_items(rated_question.pk).has_more:
        pass
    answer = get("")
    assert (answer["ratings"], answer["uncounted"]) == (10, 2)
    update_question(rated_question.pk)
    answer = get("")
    assert (answer["ratings"], answer["uncounted"]) == (12, 0)


def test_answer_before_first_count(
    get: Callable[[str], Any], question: Question, rate: Callable[..., Any]
) -> None:
    rate(question, "i1", "ann", "minor")
    answer = get("")
    assert (answer["counted_at"], answer["ratings"], answer["uncounted"]) == (None, 0, 1)
    assert answer["items"] == {"total": 1, "rated": 0, "with_two_or_more": 0}
    assert {"fleiss_kappa", "mean_pairwise_kappa", "krippendorff_alpha_ordinal"} <= set(
        answer["coefficients"]
    )
    for estimate in answer["coefficients"].values():
        assert estimate["reason"] == "not_counted"
        assert estimate["value"] is estimate["low"] is estimate["high"] is None
    for tail in ("trend/", "raters/ann/trend/"):
        assert get(tail) == {"next": None, "results": []}


def test_lists_are_pending_until_the_first_counting(
    api: APIClient, address: Address, question: Question, rate: Callable[..., Any]
) -> None:
    paths = [
        address(f"agreement/{tail}/") for tail in ("pairs", "raters", "categories", "disputed")
    ]
    assert {api.get(path).status_code for path in paths} == {200}  # nothing will be computed
    rate(question, "i1", "ann", "minor")
    assert {api.get(path).status_code for path in paths} == {202}
    update_question(question.pk)
    assert {api.get(path).status_code for path in paths} == {200}


def test_default_weights_are_those_of_the_headline(
    get: Callable[[str], Any], rated_question: Question
) -> None:
    assert get("")["headline"]["name"] == "fleiss_kappa_quadratic"
    assert get("pairs/") == get("pairs/?weights=quadratic")
    assert get("pairs/")["results"][0]["weights"] == get("disputed/")["weights"] == "quadratic"


def test_coefficient_names_are_same_before_and_after_counting(
    get: Callable[[str], Any], question: Question, rate: Callable[..., Any]
) -> None:
    before = set(get("")["coefficients"])
    rate(question, "i1", "ann", "minor")
    update_question(question.pk)
    assert set(get("")["coefficients"]) == before


def test_pairs_of_raters(get: Callable[[str], Any], rated_question: Question) -> None:
    pairs = get("pairs/?weights=none")["results"]
    assert [(pair["rater_a"], pair["rater_b"], pair["n_items"]) for pair in pairs] == [
        ("ann", "b/en", 4),
        ("ann", "cleo", 1),
        ("b/en", "cleo", 1),
    ]
    assert all(
        set(pair) == ESTIMATE_FIELDS | {"rater_a", "rater_b", "weights", "table"} for pair in pairs
    )
    # Order: none, minor, major, critical; rows: ann.
    assert pairs[0]["table"] == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    expected = (1 * 1 + 1 * 2 + 2 * 1) / 16
    assert pairs[0]["value"] == pytest.approx((0.75 - expected) / (1 - expected))
    assert pairs[0]["low"] < pairs[0]["value"] < pairs[0]["high"] <= 1
    assert pairs[1]["value"] is None
    assert pairs[1]["reason"] == "single_category"


def test_pair_tables_follow_category_order(
    get: Callable[[str], Any], rated_question: Question
) -> None:
    for position, label in enumerate(("critical", "major", "minor", "none")):
        rated_question.categories.filter(label=label).update(position=position)
    assert get("pairs/")["results"][0]["table"] == [
        [0, 0, 0, 0],
        [0, 1, 1, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_pairs_are_weighted_on_demand(
    get: Callable[[str], Any],
    api: APIClient,
    address: Address,
    refused: Refused,
    rated_question: Question,
) -> None:
    values = {
        weights: get(f"pairs/?weights={weights}")["results"][0]["value"]
        for weights in ("none", "linear", "quadratic")
    }
    assert values["none"] < values["linear"] < values["quadratic"]
    error = refused(api.get, address("agreement/pairs/?weights=custom"))
    assert error["fields"]["weights"] == "unknown weights 'custom'; one of none, linear, quadratic"
    identity_matrix = [[float(i == j) for j in range(4)] for i in range(4)]
    Question.objects.filter(pk=rated_question.pk).update(weight_matrix=identity_matrix)
    assert get("pairs/?weights=custom")["results"][0]["value"] == values["none"]


def test_pairs_are_paged(
    get: Callable[[str], Any], api: APIClient, rated_question: Question
) -> None:
    all_pairs = get("pairs/")["results"]
    first = get("pairs/?page_size=2")
    second = api.get(first["next"]).json()
    assert first["results"] + second["results"] == all_pairs
    assert second["next"] is None


def test_raters(get: Callable[[str], Any], rated_question: Question) -> None:
    raters = get("raters/")["results"]
    assert [(row["rater"], row["ratings"]) for row in raters] == [
        ("ann", 4),
        ("b/en", 4),
        ("cleo", 2),
    ]
    for row in raters:
        assert set(row["vs_peers"]) >= ESTIMATE_FIELDS
        assert set(row["mean_pairwise_kappa"]) >= ESTIMATE_FIELDS
    assert raters[0]["vs_peers"]["n_items"] == 4
    assert get("raters/?page_size=1")["results"] == raters[:1]


def test_trend(get: Callable[[str], Any], rated_question: Question) -> None:
    weeks = get("trend/?period=week&coefficient=percent_agreement")["results"]
    assert [(week["start"], week["end"], week["n_items"]) for week in weeks] == [
        ("2026-03-02", "2026-03-09", 2),
        ("2026-03-09", "2026-03-16", 2),
    ]
    assert [week["value"] for week in weeks] == [1.0, 0.5]
    assert [week["cumulative"]["value"] for week in weeks] == pytest.approx([1.0, 0.75])
    assert all(
        set(week) == ESTIMATE_FIELDS | {"start", "end", "coefficient", "cumulative"}
        for week in weeks
    )
    assert set(weeks[0]["cumulative"]) == ESTIMATE_FIELDS
    assert [day["start"] for day in get("trend/?period=day")["results"]] == [
        "2026-03-02",
        "2026-03-10",
    ]
    assert [month["start"] for month in get("trend/?period=month")["results"]] == ["2026-03-01"]
    explicit = get("trend/?period=week&question=severity&coefficient=fleiss_kappa_quadratic")
    assert get("trend/")["results"] == explicit["results"]


def test_trend_is_paged(
    get: Callable[[str], Any], api: APIClient, rated_question: Question
) -> None:
    first = get("trend/?page_size=1")
    assert first["results"] + api.get(first["next"]).json()["results"] == get("trend/")["results"]


def test_trend_of_a_rater(get: Callable[[str], Any], rated_question: Question) -> None:
    weeks = get("raters/b/en/trend/?period=week&coefficient=vs_peers_percent")["results"]
    assert [(week["start"], week["end"]) for week in weeks] == [
        ("2026-03-02", "2026-03-09"),
        ("2026-03-09", "2026-03-16"),
    ]
    assert [week["value"] for week in weeks] == [1.0, 0.5]
    assert all(set(week) == ESTIMATE_FIELDS | {"start", "end"} for week in weeks)
    assert len(get("raters/ann/trend/")["results"]) == 2


@pytest.mark.parametrize(
    ("tail", "field", "message"),
    [
        ("?question=colour", "question", "unknown question 'colour'; one of severity"),
        ("pairs/?weights=cubic", "weights", "one of none, linear, quadratic"),
        ("trend/?period=year", "period", "one of day, week, month"),
        ("trend/?coefficient=kappa", "coefficient", "fleiss_kappa"),
        ("trend/?coefficient=fleiss_kappa__value", "coefficient", "fleiss_kappa"),
        ("raters/ann/trend/?coefficient=fleiss_kappa", "coefficient", "vs_peers"),
        ("trend/?cursor=WzQwMDAwMDAwMDAwMF0", "cursor", "next"),
        ("raters/?sort=value", "sort", "one of question, population, cursor, page_size"),
        ("?cursor=x", "cursor", "unknown parameter"),
    ],
)
def test_bad_query_is_refused(
    api: APIClient,
    address: Address,
    refused: Refused,
    rated_question: Question,
    tail: str,
    field: str,
    message: str,
) -> None:
    fields = refused(api.get, address(f"agreement/{tail}"))["fields"]
    assert list(fields) == [field]
    assert message in fields[field]


def test_question_is_required_when_there_are_two(
    api: APIClient, address: Address, refused: Refused, rated_question: Question
) -> None:
    Question.objects.create(project=rated_question.project, key="spam", text="?", position=1)
    error = refused(api.get, address("agreement/"))
    assert error["fields"] == {"question": "missing; the project has 2 questions: severity, spam"}
    assert api.get(address("agreement/?question=severity")).status_code == 200


@pytest.mark.parametrize("key", ["nobody", "%00", "a" * 500])
def test_trend_of_unknown_rater_is_404(
    api: APIClient, address: Address, refused: Refused, key: str
) -> None:
    refused(api.get, address(f"agreement/raters/{key}/trend/"), status=404)


def test_answers_contain_only_finite_numbers(
    get: Callable[[str], Any], rated_question: Question
) -> None:
    def list_numbers(value: Any) -> list[float]:
        parts = (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        )
        return (
            [value]
            if isinstance(value, float)
            else [number for part in parts for number in list_numbers(part)]
        )

    for tail in ("", "pairs/", "raters/", "trend/", "raters/cleo/trend/"):
        assert all(math.isfinite(number) for number in list_numbers(get(tail)))


def test_number_of_database_round_trips(
    api: APIClient, address: Address, rated_question: Question, rate: Callable[..., Any], lead: User
) -> None:
    def count_round_trips() -> list[int]:
        counts = []
        for tail in ("", "pairs/", "raters/", "trend/", "raters/ann/trend/"):
            with measure_round_trips() as count_trips:
                assert api.get(address(f"agreement/{tail}")).status_code == 200
            counts.append(count_trips())
        return counts

    api.get(
        address("agreement/")
    )  # the first use of the token writes, and the first answer counts the items
    before = count_round_trips()
    is_combined = connection.vendor == "postgresql"  # token and project in one round trip
    assert before == [number - is_combined for number in (7, 6, 5, 6, 6)]
    for number in range(8):
        rate(rated_question, "i1", f"rater{number}", "minor")
        rate(rated_question, f"other{number}", "ann", "minor")
    update_question(rated_question.pk)
    assert Rater.objects.count() == 11
    assert count_round_trips() == before


def test_rank_weighted_means_need_an_ordered_scale(
    get: Callable[[str], Any], rated_question: Question
) -> None:
    by_rank = {"mean_pairwise_kappa_linear", "mean_pairwise_kappa_quadratic"}
    assert by_rank <= set(get("")["coefficients"])
    rated_question.scale = "nominal"
    rated_question.save()
    assert not by_rank & set(get("")["coefficients"])
    assert "mean_pairwise_kappa" in get("")["coefficients"]
