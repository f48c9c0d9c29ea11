"""People and models apart: the counts of both are exact, whoever comes first and whoever turns from
one into the other."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from metrics.agreement.coefficients.fleiss import fleiss_kappa
from metrics.counting import store
from metrics.integrity.audit import audit_question
from metrics.jobs import question_updates
from metrics.models import ALL_DAYS, CountState, PatternTally, RaterReading, Reading
from metrics.results import refresh as readings
from metrics.scale import QuestionScale
from projects.models import Project, Rater
from ratings.models import Rating

pytestmark = pytest.mark.django_db


def settle(question: Any) -> None:
    question_updates.update_question(question.pk)
    readings.finish_cumulative_results(question.pk)


def make(question: Any, rate: Any, *, items: int = 40, seed: int = 1) -> None:
    """Three people and two models; not everybody rates everything."""
    for key in ("m1", "m2"):
        Rater.objects.create(project=question.project, key=key, kind="model")
    draw = random.Random(seed)
    for number in range(items):
        truth = draw.randrange(4)
        for key in ("p1", "p2", "p3", "m1", "m2"):
            if draw.random() < 0.8:
                code = truth if draw.random() < 0.7 else draw.randrange(4)
                rate(question, f"i{number}", key, ("none", "minor", "major", "critical")[code])


def whole(question: Any) -> Reading:
    return Reading.objects.get(question=question, span="all")


def by_kind(question: Any) -> Counter[tuple[int, ...]]:
    """The people's counts of each item, then the models', straight from the ratings."""
    items: dict[int, list[int]] = {}
    for rating in Rating.objects.filter(question=question, code__gte=0).select_related("rater"):
        counts = items.setdefault(rating.item_id, [0] * 8)
        counts[rating.code + 4 * (rating.rater.kind == "model")] += 1
    return Counter(tuple(counts) for counts in items.values())


def stored_by_kind(question: Any) -> Counter[tuple[int, ...]]:
    row = PatternTally.objects.get(question=question, day=ALL_DAYS)
    counts, n_items = store.decode_patterns(row, 4)
    return Counter(dict(zip(map(tuple, counts.tolist()), n_items.tolist(), strict=True)))


def test_both_are_counted_apart_and_exactly(question: Any, rate: Any) -> None:
    make(question, rate)
    settle(question)
    assert stored_by_kind(question) == by_kind(question)
    assert audit_question(question.pk).differences == []
    state = CountState.objects.get(pk=question.pk)
    assert (state.n_people, state.n_models) == (3, 2)
    rate(question, "i1", "p1", None)
    rate(question, "i2", "m1", "critical")
    rate(question, "new", "m2", "none")
    settle(question)
    assert stored_by_kind(question) == by_kind(question)
    assert audit_question(question.pk).differences == []


def test_the_headline_is_the_peoples_and_the_others_stand_beside_it(
    question: Any, rate: Any
) -> None:
    make(question, rate)
    settle(question)
    found = whole(question).headline
    assert (found["name"], found["why"], found["of"]) == (
        "fleiss_kappa_quadratic", "ordinal", "people",
    )  # fmt: skip
    counts = np.array(list(by_kind(question).elements()))
    weights = QuestionScale.for_question(question).build_weight_matrices()["quadratic"]
    ones = np.ones(len(counts))
    people = fleiss_kappa(counts[:, :4], ones, weights=weights).to_value()
    models = fleiss_kappa(counts[:, 4:], ones, weights=weights).to_value()
    pooled = fleiss_kappa(counts[:, :4] + counts[:, 4:], ones, weights=weights).to_value()
    assert found["value"]["value"] == pytest.approx(people["value"])
    assert found["people"]["low"] == pytest.approx(people["low"])
    assert found["models"]["value"] == pytest.approx(models["value"])
    assert found["all"]["value"] == pytest.approx(pooled["value"])
    assert found["between"]["low"] < found["between"]["value"] < found["between"]["high"]
    # What the API names "coefficients" stays that of all ratings.
    of_all = whole(question).coefficients["fleiss_kappa_quadratic"]
    assert of_all["value"] == pytest.approx(pooled["value"])


def test_raters_are_compared_with_the_people(question: Any, rate: Any) -> None:
    """The two models agree with each other alone: none of it is in anybody's agreement."""
    for key in ("m1", "m2"):
        Rater.objects.create(project=question.project, key=key, kind="model")
    for number in range(12):
        label = ("none", "minor")[number % 2]
        for key in ("p1", "p2"):
            rate(question, f"i{number}", key, label)
        for key in ("m1", "m2"):
            rate(question, f"i{number}", key, "critical")
    settle(question)
    rows = RaterReading.objects.filter(question=question).select_related("rater")
    percent = {row.rater.key: row.coefficients["vs_peers_percent"]["value"] for row in rows}
    assert percent == {"p1": 1.0, "p2": 1.0, "m1": 0.0, "m2": 0.0}
    items = {row.rater.key: row.coefficients["vs_peers"]["n_ratings"] for row in rows}
    assert items["m1"] == 36  # 12 own ratings against two people each, not the other model


def test_nothing_is_kept_apart_where_all_are_of_one_kind(question: Any, rate: Any) -> None:
    for key in ("m1", "m2"):
        Rater.objects.create(project=question.project, key=key, kind="model")
        rate(question, "a", key, "minor")
        rate(question, "b", key, "major")
    settle(question)
    row = PatternTally.objects.get(question=question, day=ALL_DAYS)
    assert not row.apart
    found = whole(question).headline
    assert (found["of"], found["value"]["value"]) == ("models", 1.0)
    assert "people" not in found


def test_people_who_come_after_models_are_told_apart(question: Any, rate: Any) -> None:
    for key in ("m1", "m2"):
        Rater.objects.create(project=question.project, key=key, kind="model")
        rate(question, "a", key, "minor")
    settle(question)
    rate(question, "b", "p1", "minor")  # on an item that no model has rated
    settle(question)
    assert not CountState.objects.get(pk=question.pk).apart
    settle(question)  # the next round finds that all is to be counted anew
    assert CountState.objects.get(pk=question.pk).apart
    assert stored_by_kind(question) == by_kind(question)
    assert audit_question(question.pk).differences == []


def test_a_rater_who_turns_into_a_model_is_counted_anew(question: Any, rate: Any) -> None:
    make(question, rate)
    settle(question)
    Rater.objects.filter(key="p3").update(kind="model")
    Project.objects.increment_catalogue_version()
    # Between the change and the recount the counts go on as they stand.
    rate(question, "i3", "p3", "critical")
    settle(question)
    assert stored_by_kind(question) == by_kind(question)
    assert audit_question(question.pk).differences == []
    state = CountState.objects.get(pk=question.pk)
    assert (state.n_people, state.n_models) == (2, 3)
    assert whole(question).headline["why"] == "two_raters"
    Rater.objects.update(kind="human")
    Project.objects.increment_catalogue_version()
    settle(question)
    assert not PatternTally.objects.get(question=question, day=ALL_DAYS).apart
    assert audit_question(question.pk).differences == []


def test_an_audit_sees_a_model_among_the_people(question: Any, rate: Any) -> None:
    make(question, rate)
    settle(question)
    row = PatternTally.objects.get(question=question, day=ALL_DAYS)
    stored = np.frombuffer(row.patterns, dtype=store.PATTERN_DTYPE).reshape(-1, 9).copy()
    stored[:, [0, 4]] = stored[:, [4, 0]]
    row.patterns = stored.tobytes()
    row.save()
    assert any("items by day and pattern" in one for one in audit_question(question.pk).differences)


def test_a_chosen_headline_and_a_pooled_one(question: Any, rate: Any) -> None:
    make(question, rate)
    question.headline, question.headline_note = "gwet_ac1", "one category is rare"
    question.headline_pooled = True
    question.scale_version += 1
    question.save()
    settle(question)
    found = whole(question)
    assert (found.headline["name"], found.headline["why"]) == ("gwet_ac1", "chosen")
    assert found.headline["of"] == "all"
    assert found.headline["value"] == found.coefficients["gwet_ac1"]
    assert audit_question(question.pk).differences == []


def test_weeks_hold_the_peoples_and_the_models_agreement(question: Any, rate: Any) -> None:
    make(question, rate)
    settle(question)
    week = Reading.objects.get(question=question, span="week")
    of_all = whole(question).headline
    assert week.headline["people"]["fleiss_kappa_quadratic"] == of_all["people"]
    assert week.headline["models"] == of_all["models"]
    assert week.headline["between"]["low"] == pytest.approx(of_all["between"]["low"])
    assert week.people_cumulative["fleiss_kappa_quadratic"] == of_all["people"]
