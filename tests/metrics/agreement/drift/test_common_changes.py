"""Test that a rater is named only for a fall beyond that of all others since the same onset."""

import csv
import datetime
import gzip
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metrics.agreement import detect_alerted_raters, drift, outliers
from metrics.agreement.drift.comparisons import (
    CommonChange,
    Comparisons,
    DatedRatings,
    build_agreement_matrix,
    compute_differences,
    fit_effects,
)
from metrics.agreement.drift.evidence import (
    CommonScores,
    DailySums,
    compute_bayes_factors_beyond_common,
)

FILES = Path(__file__).parents[1] / "named_raters"
K = 4
ONSET_DAY = 19_045


def simulate_ratings(seed, *, lapses=None, hard=None, days=90, raters=8, per_item=3, a_day=24):
    """Return rows (item, rater, code, day) of raters who are right in 17 of 20 cases.

    lapses: rater -> share of guesses from ONSET_DAY on; hard: (rng, day) -> whether an item is hard,
    so that every rater guesses in two of three cases; the third column of `attributes` says so
    """
    rng = np.random.default_rng(seed)
    rows, attributes = [], []
    for item in range(days * a_day):
        day = 19_000 + item // a_day
        truth = int(rng.integers(K))
        is_hard = bool(hard and hard(rng, day))
        team = rng.choice(raters, size=per_item, replace=False).tolist()
        if is_hard:
            team[:2] = (0, 1)
            team[2:] = rng.choice(np.arange(2, raters), size=per_item - 2, replace=False).tolist()
        for rater in team:
            lapse = (lapses or {}).get(rater, 0.0) if day >= ONSET_DAY else 0.0
            lapse = max(lapse, 2 / 3 if is_hard else 0.15)
            code = int(rng.integers(K)) if rng.random() < lapse else truth
            rows.append((item, rater, code, day))
            attributes.append(int(is_hard))
    return rows, np.array(attributes)


def detect(rows, *, attributes=()):
    """Return the raters whom drift names, and the findings of the other rules."""
    item, rater, code, day = np.array(rows, np.int64).T
    context = drift.DriftContext(attributes=attributes)
    drift_result = drift.detect_drift(item, rater, code, day, K, ordered=False, context=context)
    outlier_result = outliers.detect_outliers(drift_result, K)
    named = {
        key
        for index, alert in enumerate(drift_result.alerts)
        if index not in outlier_result.explained
        for key in alert.raters
    }
    return named, outlier_result.findings


@pytest.mark.parametrize(
    ("name", "categories", "named"),
    [
        ("items_become_harder", 4, set()),
        ("everybody_answers_worse", 5, set()),
        ("two_drift_together", 4, {"r00", "r01"}),
    ],
)
def test_exactly_the_raters_who_changed_are_named(name, categories, named):
    with gzip.open(FILES / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    items, item = np.unique([row["item"] for row in rows], return_inverse=True)
    raters, rater = np.unique([row["rater"] for row in rows], return_inverse=True)
    code = [int(row["label"]) for row in rows]
    day = [
        (datetime.date.fromisoformat(row["date"]) - datetime.date(1970, 1, 1)).days for row in rows
    ]
    ordered = categories == 5
    keys = detect_alerted_raters(item, rater, code, day, categories=categories, ordered=ordered)
    assert {str(raters[key]) for key in keys} == named
    result = drift.detect_drift(item, rater, code, day, categories, ordered)
    kinds = [finding.kind for finding in outliers.detect_outliers(result, categories).findings]
    assert kinds == ([] if named else [outliers.QUESTION_AGREEMENT_FELL])
    assert len(items) > 3_000


def test_common_fall_names_the_question_and_no_rater():
    for seed in range(3):
        rows, _ = simulate_ratings(seed, lapses=dict.fromkeys(range(8), 0.4))
        named, findings = detect(rows)
        assert named == set()
        assert [finding.kind for finding in findings] == [outliers.QUESTION_AGREEMENT_FELL]


def test_fall_of_most_raters_is_the_question():
    rows, _ = simulate_ratings(5, lapses=dict.fromkeys(range(5), 0.7), a_day=40)
    named, findings = detect(rows)
    assert named == set()
    assert [finding.kind for finding in findings] == [outliers.QUESTION_AGREEMENT_FELL]


def test_two_raters_on_hard_items_are_not_named():
    def is_hard(rng, day):
        return day >= ONSET_DAY and rng.random() < 0.25

    for seed in range(2):
        named, findings = detect(simulate_ratings(seed, hard=is_hard)[0])
        assert named == set()
        assert not [finding for finding in findings if finding.raters]


def test_attributes_explain_hard_items_of_pairs():
    """With two ratings an item nobody else rated the same items, but the attribute says enough."""

    def is_hard(rng, day):
        """Return whether it is hard: seldom at first, when raters are still mixed."""
        return rng.random() < (0.3 if day >= ONSET_DAY else 0.05)

    rows, attributes = simulate_ratings(3, hard=is_hard, per_item=2, a_day=40)
    assert detect(rows)[0]
    # Somebody else must have rated hard items: every tenth belongs to other raters.
    other = np.array([row[0] % 5 == 0 for row in rows]) & (attributes == 1)
    rng = np.random.default_rng(0)
    pairs = {row[0]: rng.choice(np.arange(2, 8), 2, replace=False).tolist() for row in rows}
    moved = [
        (row[0], pairs[row[0]][row[1]] if is_other else row[1], *row[2:])
        for row, is_other in zip(rows, other.tolist(), strict=True)
    ]
    assert detect(moved, attributes=[attributes])[0] == set()


def test_rater_far_worse_than_all_others_is_still_named():
    lapses = dict.fromkeys(range(8), 0.3) | {2: 0.95}
    named, findings = detect(simulate_ratings(1, lapses=lapses, a_day=40)[0])
    assert named == {2}
    assert [finding.kind for finding in findings] == [outliers.QUESTION_AGREEMENT_FELL]


# --- oracles


@pytest.mark.parametrize("group", ["time", "items"])
def test_common_part_matches_dictionary_oracle(group):
    rows, _ = simulate_ratings(2, days=6, raters=5, a_day=6)
    item, rater, code, day = np.array(rows, np.int64).T
    ratings = DatedRatings.from_columns(item, rater, code, day, K)
    comparisons = Comparisons.from_ratings(ratings)
    matrix = build_agreement_matrix(ratings, K, ordered=False)
    d = compute_differences(drift.AGREEMENT, ratings, comparisons, matrix)
    g, h = comparisons.own_rater, comparisons.other_rater
    effects = fit_effects(drift.AGREEMENT, d, g, h, n_raters=5, ridge=10)
    change = CommonChange(
        ratings, comparisons, d, measures_others=np.ones(d.size, bool), effects=effects
    )
    index = ["time", "items"].index(group)
    measured = change.measure_common_parts([])[index]
    values = defaultdict(list)
    key_of = (ratings.day if group == "time" else ratings.item).tolist()
    for own, first, second, value in zip(comparisons.own, g, h, d, strict=True):
        if first < second:
            residual = value - effects.mu - effects.a[first] - effects.a[second]
            values[key_of[own]].append((first, second, residual))
    for row, key in enumerate(key_of):
        others = [
            r for first, second, r in values[key] if ratings.rater[row] not in {first, second}
        ]
        expected = np.mean(others) if others else np.nan
        assert measured[row] == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_shift_in_proportion_to_the_level_is_common():
    """A rater at half of the others' level who falls half as far did not fall beyond them."""
    prior = replace(drift.PRIORS[drift.AGREEMENT], common_tolerance=0.0)
    days, n = 40, np.full(40, 30)
    common = np.where(np.arange(days) < 20, 0.0, -0.4)  # deviation from the level of 0.8
    today, onset = np.array([days - 1]), np.array([20])

    def compute(own):
        scores = n * (own - common)
        return compute_bayes_factors_beyond_common(
            DailySums(n, scores, scores**2 / n + 0.3 * n),
            today,
            onset,
            side=-1,
            s2=0.3,
            kappa2=0.005,
            prior=prior,
            common=CommonScores(n * common, 0.8),
        )[0]

    in_proportion = compute(0.4 + common / 2)
    assert in_proportion < 1
    assert compute(0.8 + common) < 1
    assert compute(0.4 + common) > 20 * in_proportion  # as far as the others, from half the level


def test_uncertain_share_in_a_common_shift_lowers_the_evidence():
    prior = drift.PRIORS[drift.AGREEMENT]
    n, day = np.full(40, 30), np.arange(40)
    common = np.where(day < 20, 0.0, -0.4)
    excess = n * np.where(day < 20, 0.0, -0.12)
    days = DailySums(n, excess, excess**2 / n + 0.3 * n)
    factors = [
        compute_bayes_factors_beyond_common(
            days,
            np.array([39]),
            np.array([20]),
            side=-1,
            s2=0.3,
            kappa2=0.005,
            prior=prior,
            common=CommonScores(n * shift, 0.0),
        )[0]
        for shift in (0.0 * common, common)
    ]
    assert factors[1] < factors[0] / 5
