"""Separate counts of people and models are exact.

The order in which raters come and changes of their kind do not matter.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from metrics.agreement.coefficients.fleiss import fleiss_kappa
from metrics.agreement.weights import get_weight_matrix
from metrics.counting import store
from metrics.integrity.audit import audit_question
from metrics.jobs import question_updates
from metrics.models import ALL_DAYS, CountState, PatternTally, Population, RaterResult, Result
from metrics.question_scale import QuestionScale
from metrics.results import refresh
from projects.models import Project, Rater
from ratings.models import Rating

pytestmark = pytest.mark.django_db


def update_and_finish(question: Any) -> None:
    question_updates.update_question(question.pk)
    refresh.recompute_deferred_cumulative_results(question.pk)


def create_ratings(question: Any, rate: Any, *, items: int = 40, seed: int = 1) -> None:
    """Create ratings of three people and two models; not everybody rates everything."""
    for key in ("m1", "m2"):
        Rater.objects.create(project=question.project, key=key, kind="model")
    rng = random.Random(seed)
    for number in range(items):
        truth = rng.randrange(4)
        for key in ("p1", "p2", "p3", "m1", "m2"):
            if rng.random() < 0.8:
                code = truth if rng.random() < 0.7 else rng.randrange(4)
                rate(question, f"i{number}", key, ("none", "minor", "major", "critical")[code])


def get_all_time_row(question: Any) -> PatternTally:
    return PatternTally.objects.get(question=question, day=ALL_DAYS, population=Population.ALL)


def get_result(question: Any) -> Result:
    return Result.objects.get(question=question, period_unit="all")


def count_by_kind(question: Any) -> Counter[tuple[int, ...]]:
    """Count items by the people's counts followed by the models', straight from the ratings."""
    items: dict[int, list[int]] = {}
    for rating in Rating.objects.filter(question=question, code__gte=0).select_related("rater"):
        counts = items.setdefault(rating.item_id, [0] * 8)
        counts[rating.code + 4 * (rating.rater.kind == "model")] += 1
    return Counter(tuple(counts) for counts in items.values())


def load_counts_by_kind(question: Any) -> Counter[tuple[int, ...]]:
    row = get_all_time_row(question)
    counts, n_items = store.decode_patterns(row, 4)
    return Counter(dict(zip(map(tuple, counts.tolist()), n_items.tolist(), strict=True)))


def test_people_and_models_are_counted_separately(question: Any, rate: Any) -> None:
    create_ratings(question, rate)
    update_and_finish(question)
    assert load_counts_by_kind(question) == count_by_kind(question)
    assert audit_question(question.pk).differences == []
    state = CountState.objects.get(pk=question.pk)
    assert (state.n_people, state.n_models) == (3, 2)
    rate(question, "i1", "p1", None)
    rate(question, "i2", "m1", "critical")
    rate(question, "new", "m2", "none")
    update_and_finish(question)
    assert load_counts_by_kind(question) == count_by_kind(question)
    assert audit_question(question.pk).differences == []


def test_headline_is_of_people_with_models_beside_it(question: Any, rate: Any) -> None:
    create_ratings(question, rate)
    update_and_finish(question)
    headline = get_result(question).headline
    assert (headline["name"], headline["why"], headline["population"]) == (
        "fleiss_kappa_quadratic", "ordinal", "people",
    )  # fmt: skip
    counts = np.array(list(count_by_kind(question).elements()))
    weights = QuestionScale.for_question(question).build_weight_matrices()["quadratic"]
    ones = np.ones(len(counts))
    people = fleiss_kappa(counts[:, :4], ones, weights=weights).to_value()
    models = fleiss_kappa(counts[:, 4:], ones, weights=weights).to_value()
    pooled = fleiss_kappa(counts[:, :4] + counts[:, 4:], ones, weights=weights).to_value()
    assert headline["value"]["value"] == pytest.approx(people["value"])
    assert headline["people"]["low"] == pytest.approx(people["low"])
    assert headline["models"]["value"] == pytest.approx(models["value"])
    assert headline["all"]["value"] == pytest.approx(pooled["value"])
    assert headline["between"]["low"] < headline["between"]["value"] < headline["between"]["high"]
    # The "coefficients" of the API stay those of all ratings.
    pooled_estimate = get_result(question).coefficients["fleiss_kappa_quadratic"]
    assert pooled_estimate["value"] == pytest.approx(pooled["value"])


def test_raters_are_compared_with_people(question: Any, rate: Any) -> None:
    """The two models agree only with each other; that affects nobody's agreement with peers."""
    for key in ("m1", "m2"):
        Rater.objects.create(project=question.project, key=key, kind="model")
    for number in range(12):
        label = ("none", "minor")[number % 2]
        for key in ("p1", "p2"):
            rate(question, f"i{number}", key, label)
        for key in ("m1", "m2"):
            rate(question, f"i{number}", key, "critical")
    update_and_finish(question)
    rows = RaterResult.objects.filter(question=question).select_related("rater")
    percent = {row.rater.key: row.coefficients["vs_peers_percent"]["value"] for row in rows}
    assert percent == {"p1": 1.0, "p2": 1.0, "m1": 0.0, "m2": 0.0}
    items = {row.rater.key: row.coefficients["vs_peers"]["n_ratings"] for row in rows}
    assert items["m1"] == 36  # 12 own ratings against two people each, not the other model


def test_raters_of_one_kind_are_not_separated(question: Any, rate: Any) -> None:
    for key in ("m1", "m2"):
        Rater.objects.create(project=question.project, key=key, kind="model")
        rate(question, "a", key, "minor")
        rate(question, "b", key, "major")
    update_and_finish(question)
    row = get_all_time_row(question)
    assert not row.separates_models
    headline = get_result(question).headline
    assert (headline["population"], headline["value"]["value"]) == ("models", 1.0)
    assert "people" not in headline


def test_people_who_follow_models_are_separated(question: Any, rate: Any) -> None:
    for key in ("m1", "m2"):
        Rater.objects.create(project=question.project, key=key, kind="model")
        rate(question, "a", key, "minor")
    update_and_finish(question)
    rate(question, "b", "p1", "minor")  # on an item that no model has rated
    update_and_finish(question)
    assert not CountState.objects.get(pk=question.pk).separates_models
    update_and_finish(question)  # the next round detects that everything must be recounted
    assert CountState.objects.get(pk=question.pk).separates_models
    assert load_counts_by_kind(question) == count_by_kind(question)
    assert audit_question(question.pk).differences == []


def test_rater_changed_to_model_is_recounted(question: Any, rate: Any) -> None:
    create_ratings(question, rate)
    update_and_finish(question)
    Rater.objects.filter(key="p3").update(kind="model")
    Project.objects.increment_items_and_raters_version()
    # Between the change and the recount the old counts are updated.
    rate(question, "i3", "p3", "critical")
    update_and_finish(question)
    assert load_counts_by_kind(question) == count_by_kind(question)
    assert audit_question(question.pk).differences == []
    state = CountState.objects.get(pk=question.pk)
    assert (state.n_people, state.n_models) == (2, 3)
    assert get_result(question).headline["why"] == "two_raters"
    Rater.objects.update(kind="human")
    Project.objects.increment_items_and_raters_version()
    update_and_finish(question)
    assert not get_all_time_row(question).separates_models
    assert audit_question(question.pk).differences == []


def test_audit_finds_model_counted_as_person(question: Any, rate: Any) -> None:
    create_ratings(question, rate)
    update_and_finish(question)
    row = get_all_time_row(question)
    patterns = np.frombuffer(row.patterns, dtype=store.PATTERN_DTYPE).reshape(-1, 9).copy()
    patterns[:, [0, 4]] = patterns[:, [4, 0]]
    row.patterns = patterns.tobytes()
    row.save()
    assert any(
        "items by population, day and pattern" in difference
        for difference in audit_question(question.pk).differences
    )


def test_chosen_pooled_headline(question: Any, rate: Any) -> None:
    create_ratings(question, rate)
    question.headline, question.headline_note = "gwet_ac1", "one category is rare"
    question.headline_pooled = True
    question.scale_version += 1
    question.save()
    update_and_finish(question)
    result = get_result(question)
    assert (result.headline["name"], result.headline["why"]) == ("gwet_ac1", "chosen")
    assert result.headline["population"] == "all"
    assert result.headline["value"] == result.coefficients["gwet_ac1"]
    assert audit_question(question.pk).differences == []


def test_weeks_have_agreement_of_people_and_models(question: Any, rate: Any) -> None:
    create_ratings(question, rate)
    update_and_finish(question)
    week = Result.objects.get(question=question, period_unit="week")
    headline = get_result(question).headline
    # A week compares the items with two ratings or more; the headline's expected agreement is also
    # based on the items with one.
    people = week.headline["people"]["fleiss_kappa_quadratic"]
    for name in ("observed", "n_items", "n_ratings"):
        assert people[name] == pytest.approx(headline["people"][name])
    compared = [counts[:4] for counts in count_by_kind(question).elements() if sum(counts[:4]) > 1]
    weights = get_weight_matrix("quadratic", 4)
    expected = fleiss_kappa(np.array(compared), np.ones(len(compared)), weights=weights)
    assert people["value"] == pytest.approx(float(expected.value))
    assert week.headline["models"]["n_items"] == headline["models"]["n_items"]
    assert week.headline["between"]["low"] == pytest.approx(headline["between"]["low"])
    assert week.people_cumulative["fleiss_kappa_quadratic"] == headline["people"]
