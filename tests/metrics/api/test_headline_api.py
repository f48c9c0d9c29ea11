"""The headline through the API: coefficient, reason, and agreement of people and models."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean
from typing import Any

import pytest

from metrics.agreement import report
from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from metrics.models import FilteredResult
from metrics.results.refresh import recompute_deferred_results
from projects.models import Rater
from tests.cast import rate_many

pytestmark = pytest.mark.django_db
CODES = {"ann": [0, 1, 2, 3, 1, 2, 0, 1], "ben": [0, 1, 2, 2, 1, 3, 0, 0]}
LABELS = ("none", "minor", "major", "critical")


@pytest.fixture
def two_raters_question(question: Any) -> Any:
    rate_many(
        question,
        (
            (f"i{item}", rater, LABELS[code])
            for rater, codes in CODES.items()
            for item, code in enumerate(codes)
        ),
    )
    update_question(question.pk)
    return question


def get_agreement(api: Any, question: Any, query: str = "") -> dict[str, Any]:
    response = api.get(f"/api/v1/projects/{question.project_id}/agreement/{query}")
    assert response.status_code == 200, response.content
    agreement: dict[str, Any] = response.json()
    return agreement


def test_two_raters_on_an_ordinal_scale(api: Any, two_raters_question: Any) -> None:
    agreement = get_agreement(api, two_raters_question)
    headline = agreement["headline"]
    expected = report(list(zip(*CODES.values(), strict=True)), 4)
    assert (headline["name"], headline["why"], headline["population"], headline["note"]) == (
        "cohen_kappa_quadratic", "two_raters", "people", "",
    )  # fmt: skip
    assert headline["value"] == pytest.approx(expected["weighted_kappa_quadratic"])
    assert headline["low"] == pytest.approx(expected["weighted_kappa_quadratic.low"])
    assert headline["unweighted"]["value"] == pytest.approx(expected["cohen_kappa"])
    assert agreement["people"]["value"] == headline["value"]
    assert (agreement["models"]["value"], agreement["models"]["reason"]) == (
        None,
        "no_pairable_items",
    )
    assert agreement["people_models"]["value"] is None


def test_model_is_reported_separately_from_people(api: Any, two_raters_question: Any) -> None:
    before = get_agreement(api, two_raters_question)
    Rater.objects.create(project=two_raters_question.project, key="gpt", kind="model")
    rate_many(
        two_raters_question,
        ((f"i{item}", "gpt", LABELS[3 - CODES["ann"][item]]) for item in range(8)),
    )
    update_question(two_raters_question.pk)
    agreement = get_agreement(api, two_raters_question)
    assert agreement["headline"]["value"] == before["headline"]["value"]
    assert agreement["people_models"]["value"] < 0 < agreement["people"]["value"]
    codes = list(zip(*CODES.values(), strict=True))
    pooled = get_agreement(api, two_raters_question, "?population=all")
    with_model = [[*row, 3 - row[0]] for row in codes]
    for body, rows in ((agreement, codes), (pooled, with_model)):
        values = {name: value["value"] for name, value in body["coefficients"].items()}
        assert values["fleiss_kappa"] == pytest.approx(report(rows, 4)["fleiss_kappa"])
        pairs = combinations(zip(*rows, strict=True), 2)
        kappas = [report(list(zip(*pair, strict=True)), 4)["cohen_kappa"] for pair in pairs]
        assert values["mean_pairwise_kappa"] == pytest.approx(fmean(kappas))


@pytest.mark.parametrize("population", ["", "population=all&"])
def test_filter_of_all_ratings_changes_no_number(
    population: str, api: Any, two_raters_question: Any
) -> None:
    """The coefficients of a filter are those of people where a model rates, too, as without it."""
    Rater.objects.create(project=two_raters_question.project, key="gpt", kind="model")
    rate_many(two_raters_question, ((f"i{item}", "gpt", LABELS[item % 4]) for item in range(6)))
    update_question(two_raters_question.pk)
    unfiltered = get_agreement(api, two_raters_question, f"?{population}")
    address = f"/api/v1/projects/{two_raters_question.project_id}/agreement/"
    assert api.get(f"{address}?{population}from=2020-01-01").status_code == 202
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    filtered = get_agreement(api, two_raters_question, f"?{population}from=2020-01-01")
    assert filtered["coefficients"].keys() == unfiltered["coefficients"].keys()
    for name, value in unfiltered["coefficients"].items():
        if "bootstrap" not in value:
            assert filtered["coefficients"][name] == pytest.approx(value), name
        else:
            assert filtered["coefficients"][name]["value"] == pytest.approx(value["value"]), name
    for name in ("ratings", "items", "people", "models", "people_models"):
        assert filtered[name] == pytest.approx(unfiltered[name]), name


def test_numbers_of_raters_and_items_are_of_people(
    api: Any, two_raters_question: Any, rate: Any
) -> None:
    """Pairs and disputed items of people stay as they are when a model rates, with a filter, too."""
    address = f"/api/v1/projects/{two_raters_question.project_id}/agreement"
    filtered = "from=2020-01-01"

    def get_all() -> list[Any]:
        bodies = []
        for path in ("raters/?", f"raters/?{filtered}", "disputed/?", f"disputed/?{filtered}"):
            if api.get(f"{address}/{path}").status_code == 202:
                filtered_jobs.FILTERED_RESULT_JOB.sweep()
            body = api.get(f"{address}/{path}").json()
            rows = body.get("items") or body["results"]
            bodies.append([row for row in rows if row.get("rater") != "gpt"])
        return bodies

    recompute_deferred_results(two_raters_question.pk)
    before = get_all()
    Rater.objects.create(project=two_raters_question.project, key="gpt", kind="model")
    for item, code in enumerate(CODES["ann"]):
        rate(two_raters_question, f"i{item}", "gpt", LABELS[3 - code])
    update_question(two_raters_question.pk)
    recompute_deferred_results(two_raters_question.pk)
    FilteredResult.objects.all().delete()
    raters, filtered_raters, items, filtered_items = get_all()
    for rows, old_rows in ((raters, before[0]), (filtered_raters, before[1])):
        for row, old_row in zip(rows, old_rows, strict=True):
            mean, old_mean = row["mean_pairwise_kappa"], old_row["mean_pairwise_kappa"]
            assert (mean["value"], mean["n_pairs"]) == (pytest.approx(old_mean["value"]), 1)
    assert items == filtered_items == before[2] == before[3]


def test_population_is_chosen_by_a_parameter(api: Any, two_raters_question: Any, rate: Any) -> None:
    """Without models, people's numbers are the stored ones; otherwise a worker selects ratings."""
    default = get_agreement(api, two_raters_question)
    assert get_agreement(api, two_raters_question, "?population=people") == default
    for key in ("gpt", "claude"):
        Rater.objects.create(project=two_raters_question.project, key=key, kind="model")
        for item in range(6):
            rate(two_raters_question, f"i{item}", key, LABELS[item % 4])
    update_question(two_raters_question.pk)
    address = f"/api/v1/projects/{two_raters_question.project_id}/agreement/"
    populations = {"people": default["headline"]["value"], "models": 1.0}
    for population, expected in populations.items():
        assert api.get(f"{address}?population={population}").status_code == 202
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        agreement = get_agreement(api, two_raters_question, f"?population={population}")
        assert agreement["headline"]["value"] == pytest.approx(expected)
    for query, field in (
        ("population=robots", "population"), ("population=all&kind=model", "kind"),
    ):  # fmt: skip
        response = api.get(f"{address}?{query}")
        assert response.status_code == 400
        assert field in response.json()["error"]["fields"]
    n_ratings, most_raters = {}, {}
    for population in ("people", "models", "all"):
        for tail in ("categories/", "disputed/", "coefficients/"):
            assert api.get(f"{address}{tail}?population={population}").status_code in (200, 202)
            filtered_jobs.FILTERED_RESULT_JOB.sweep()
        coefficients = api.get(f"{address}coefficients/?population={population}").json()
        assert (coefficients["population"], coefficients["raters"]) == (
            population,
            4 if population == "all" else 2,
        )
        categories = api.get(f"{address}categories/?population={population}").json()["categories"]
        n_ratings[population] = sum(category["ratings"] for category in categories)
        items = api.get(f"{address}disputed/?population={population}").json()["items"]
        most_raters[population] = max((item["ratings"] for item in items), default=0)
    assert most_raters == {"people": 2, "models": 0, "all": 4}, "the models differ nowhere"
    assert n_ratings == {"people": 16, "models": 12, "all": 28}
    status = f"/api/v1/projects/{two_raters_question.project_id}/raters/status/"
    rows = {
        population: api.get(f"{status}?population={population}").json()["results"]
        for population in ("people", "models", "all")
    }
    keys = {population: sorted(row["rater"] for row in rows[population]) for population in rows}
    assert keys == {
        "people": ["ann", "ben"], "models": ["claude", "gpt"],
        "all": ["ann", "ben", "claude", "gpt"],
    }  # fmt: skip
    assert {row["status"] for row in rows["models"]} == {"unknown"}


def test_complete_ratings_on_interval_scale_use_icc(api: Any, question: Any, rate: Any) -> None:
    type(question).objects.update(scale="interval")
    rate_many(
        question,
        (
            (f"i{item}", rater, LABELS[code])
            for rater, codes in CODES.items()
            for item, code in enumerate(codes)
        ),
    )
    rate_many(question, ((f"i{item}", "cleo", LABELS[CODES["ann"][item]]) for item in range(8)))
    update_question(question.pk)
    rows = list(zip(*CODES.values(), CODES["ann"], strict=True))
    expected = report(rows, 4, values=[0, 1, 2, 3])
    headline = get_agreement(api, question)["headline"]
    assert (headline["name"], headline["why"]) == ("icc2", "complete")
    assert headline["value"] == pytest.approx(expected["icc2"])
    assert headline["low"] == pytest.approx(expected["icc2.ci_low"])
    rate(question, "i9", "ann", "none")
    update_question(question.pk)
    headline = get_agreement(api, question)["headline"]
    assert (headline["name"], headline["why"]) == ("krippendorff_alpha_interval", "incomplete")


def test_headline_before_first_count_is_the_default(api: Any, question: Any) -> None:
    headline = get_agreement(api, question)["headline"]
    assert (headline["name"], headline["reason"]) == ("fleiss_kappa_quadratic", "not_counted")
