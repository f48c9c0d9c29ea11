"""An item counts in the period of its second rating by the raters that are shown.

Expected numbers come from published reference cases and from loops over the ratings.
"""

from __future__ import annotations

import datetime
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from django.db.migrations import RunPython
from django.db.migrations.loader import MigrationLoader

from metrics.integrity.audit import audit_question
from metrics.jobs.question_updates import sweep_questions
from metrics.models import (
    ALL_DAYS,
    CountState,
    PatternTally,
    PeerTally,
    Population,
    RaterResult,
)
from projects.models import Question, Rater
from ratings.models import Rating
from tests.cast import rate_many
from tests.tools.full_run import choose_number

pytestmark = pytest.mark.django_db

REFERENCE = Path(__file__).parent / "reference"
LABELS = ("none", "minor", "major", "critical")


def read_rows(api: Any, question: Question, **params: str) -> list[dict[str, Any]]:
    address = f"/api/v1/projects/{question.project_id}/agreement/trend/"
    answer = api.get(address, {"question": question.key, **params})
    assert answer.status_code == 200, answer.content
    rows: list[dict[str, Any]] = answer.json()["results"]
    return rows


def compute_fleiss_kappa(items: list[list[int]]) -> float | None:
    """Return Fleiss' kappa of the labels of items with two ratings or more, by loops."""
    labels = [label for item_labels in items for label in item_labels]
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    expected = sum(share**2 for share in shares)
    agreements = []
    for item_labels in items:
        m = len(item_labels)
        equal = sum(
            a == b for i, a in enumerate(item_labels) for j, b in enumerate(item_labels) if i != j
        )
        agreements.append(equal / (m * (m - 1)))
    observed = sum(agreements) / len(agreements)
    return None if expected == 1 else (observed - expected) / (1 - expected)


def compute_months(question: Question, kinds: tuple[str, ...]) -> dict[str, tuple[int, Any]]:
    """Return month -> number of items and kappa of the raters of these kinds, by loops."""
    ratings_by_item: dict[int, list[Rating]] = defaultdict(list)
    ratings = Rating.objects.filter(question=question, code__gte=0, rater__kind__in=kinds)
    for rating in ratings.select_related("rater"):
        ratings_by_item[rating.item_id].append(rating)
    items: dict[str, list[list[int]]] = defaultdict(list)
    for item_ratings in ratings_by_item.values():
        if len(item_ratings) > 1:
            second_day = sorted(rating.day for rating in item_ratings)[1]
            date = datetime.date(1970, 1, 1) + datetime.timedelta(days=second_day)
            items[date.replace(day=1).isoformat()].append([rating.code for rating in item_ratings])
    return {
        month: (len(of_month), compute_fleiss_kappa(of_month))
        for month, of_month in sorted(items.items())
    }


def assert_months(rows: list[dict[str, Any]], months: dict[str, tuple[int, Any]]) -> None:
    assert {row["start"]: row["n_items"] for row in rows} == {
        month: n_items for month, (n_items, _kappa) in months.items()
    }
    for row in rows:
        assert row["value"] == pytest.approx(months[row["start"]][1], abs=1e-9)


def create_reference_ratings(make_project: Any, name: str) -> tuple[Question, Any]:
    case = json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))
    project = make_project(name, labels=tuple(case["categories"]), scale=case["scale"])
    for key in case["models"]:
        Rater.objects.create(project=project, key=key, kind="model")
    question = project.questions.get()
    rate_many(
        question,
        (
            (item, rater, label, datetime.datetime.fromisoformat(rated_at))
            for item, rater, label, rated_at in case["rows"]
        ),
    )
    return question, case


def test_a_model_that_rates_later_changes_no_month_of_people(
    make_project: Any, admin: Any, api_for: Any
) -> None:
    question, case = create_reference_ratings(make_project, "model_rates_later")
    sweep_questions()
    rows = read_rows(api_for(admin), question, period="month", coefficient="fleiss_kappa")
    headline_rows = read_rows(api_for(admin), question, period="month")
    assert [[row["start"], row["n_items"]] for row in headline_rows] == [
        month[:2] for month in case["expected"]["months"]
    ]
    for months in (headline_rows, rows):
        for row, (_start, _n_items, kappa) in zip(months, case["expected"]["months"], strict=True):
            assert row["value"] == pytest.approx(kappa, abs=1e-6)
    assert audit_question(question.pk).differences == []


@pytest.mark.parametrize("seed", range(choose_number(2, full=4)))
@pytest.mark.parametrize("recounted_at_once", [False, True])
def test_any_order_of_counting_gives_the_months_of_the_definition(
    seed: int,
    recounted_at_once: bool,
    question: Question,
    rate: Any,
    utc: Any,
    lead: Any,
    api_for: Any,
) -> None:
    """Ratings come, change and go in any order; models join at any time."""
    rng = random.Random(seed)
    for key in ("m1", "m2"):
        Rater.objects.create(project=question.project, key=key, kind="model")
    steps = [
        (f"i{item}", rater, rng.randrange(1, 7))
        for item in range(30)
        for rater in ("p1", "p2", "p3", "m1", "m2")
        if rng.random() < 0.7
    ]
    rng.shuffle(steps)
    if seed % 2:  # the models come after all people have been counted
        steps.sort(key=lambda step: step[1].startswith("m"))
    for number, (item, rater, month) in enumerate(steps):
        moment = utc(2026, month, rng.randrange(1, 28), 9)
        rate(question, item, rater, rng.choice(LABELS), rated_at=moment)
        if not recounted_at_once and number % 17 == 0:
            sweep_questions()
    for item, rater, _month in rng.sample(steps, 12):
        rate(question, item, rater, rng.choice([None, *LABELS]))
    sweep_questions()
    api = api_for(lead)
    people = read_rows(api, question, period="month")
    assert people[0]["coefficient"] == "fleiss_kappa_quadratic" or people[0]["coefficient"]
    months = compute_months(question, ("human",))
    assert {row["start"]: row["n_items"] for row in people} == {
        month: n_items for month, (n_items, _kappa) in months.items()
    }
    assert audit_question(question.pk).differences == []


@pytest.mark.parametrize("n_people", [2, 3])
def test_a_late_rating_moves_no_item_to_another_month(
    n_people: int, make_project: Any, rate: Any, utc: Any, admin: Any, api_for: Any
) -> None:
    """Neither a third rating nor a model's, also where the headline is Cohen's kappa."""
    question = make_project("late", scale="nominal").questions.get()
    Rater.objects.create(project=question.project, key="gpt", kind="model")
    rng = random.Random(n_people)
    for number in range(40):
        month = 3 + number // 20
        # The second of two people rates a month after the first.
        moments = [utc(2026, month, 5, 9), utc(2026, month + 1, 5, 9), utc(2026, 10, 5, 9)]
        truth = rng.choice(LABELS)
        for rater, moment in zip(("p1", "p2", "p3")[:n_people], moments, strict=False):
            label = truth if rng.random() < 0.8 else rng.choice(LABELS)
            rate(question, f"i{number}", rater, label, rated_at=moment)
        rate(question, f"i{number}", "gpt", truth, rated_at=utc(2026, 11, 1, 9))
    sweep_questions()
    rows = read_rows(api_for(admin), question, period="month")
    assert [(row["start"], row["n_items"]) for row in rows] == [
        ("2026-04-01", 20),
        ("2026-05-01", 20),
    ]
    if n_people == 3:
        assert_months(rows, compute_months(question, ("human",)))


def test_items_with_one_rating_are_in_no_period(
    question: Question, rate: Any, utc: Any, lead: Any, api_for: Any
) -> None:
    for item, rater, month in (("i1", "a", 1), ("i1", "b", 2), ("i2", "a", 3), ("i3", "b", 4)):
        rate(question, item, rater, "minor", rated_at=utc(2026, month, 5, 9))
    rate(question, "i4", "c", "major", rated_at=utc(2026, 5, 5, 9))
    sweep_questions()
    rows = read_rows(api_for(lead), question, period="month", coefficient="percent_agreement")
    assert [(row["start"], row["n_items"], row["value"]) for row in rows] == [("2026-02-01", 1, 1)]
    assert audit_question(question.pk).differences == []


def test_upgrade_dates_counted_items_anew(
    question: Question, rate: Any, utc: Any, lead: Any, api_for: Any
) -> None:
    """Counts stored by the version before have no populations, and days of latest ratings."""
    Rater.objects.create(project=question.project, key="gpt", kind="model")
    for item in range(12):
        for rater, month in (("a", 1), ("b", 2), ("c", 3), ("gpt", 9)):
            label = LABELS[(item + (rater == "b" and item < 4)) % 4]
            rate(question, f"i{item}", rater, label, rated_at=utc(2026, month, 5, 9))
    sweep_questions()
    expected = read_rows(api_for(lead), question, period="month")
    assert [row["start"] for row in expected] == ["2026-02-01"]
    # As the version before stored them.
    PatternTally.objects.filter(question=question).exclude(population=Population.ALL).delete()
    days = PatternTally.objects.filter(question=question).exclude(day=ALL_DAYS)
    days.update(day=(datetime.date(2026, 9, 5) - datetime.date(1970, 1, 1)).days)
    PeerTally.objects.filter(question=question).update(stale=True)
    loader = MigrationLoader(None, replace_migrations=False)
    migration = loader.get_migration("metrics", "0002_trend_by_second_rating")
    operation = migration.operations[-1]
    assert isinstance(operation, RunPython)
    run: Any = operation.code
    from django.apps import apps

    run(apps, None)
    assert CountState.objects.get(pk=question.pk).needs_recount
    sweep_questions()
    assert read_rows(api_for(lead), question, period="month") == expected
    assert audit_question(question.pk).differences == []


def test_upgrade_computes_results_again(question: Question, rate: Any) -> None:
    """Regression: intervals stored by the version before stayed until a rating changed.

    A rater with one answer has a kappa of 0 by construction, and no interval; other intervals
    are computed again, too.
    """
    for item in range(12):
        for rater, label in (("a", LABELS[item % 2]), ("b", LABELS[item % 2]), ("c", "none")):
            rate(question, f"i{item}", rater, label)
    sweep_questions()
    expected = dict(
        RaterResult.objects.filter(question=question).values_list("rater", "coefficients")
    )
    constant = Rater.objects.get(project=question.project, key="c")
    assert expected[constant.pk]["vs_peers"]["value"] == 0
    assert expected[constant.pk]["vs_peers"]["low"] is None
    results = RaterResult.objects.filter(question=question)
    for result in results:
        result.coefficients["vs_peers"] |= {"low": -0.3, "high": 0.3}
        result.save()
    sweep_questions()
    assert results.get(rater=constant).coefficients["vs_peers"]["low"] == -0.3
    migration = MigrationLoader(None).get_migration("metrics", "0007_recompute_results")
    operation: Any = migration.operations[0]
    from django.apps import apps

    operation.code(apps, None)
    sweep_questions()
    assert dict(results.values_list("rater", "coefficients")) == expected
