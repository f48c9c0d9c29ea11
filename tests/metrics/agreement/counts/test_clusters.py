"""Design effects of clusters of items, against slow oracles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.agreement import scale_coefficients
from metrics.agreement.coefficients import fleiss
from metrics.agreement.counts import wider_intervals
from metrics.agreement.counts.tally import count_patterns
from metrics.agreement.estimate import Value, t_quantile

K = 3
Ratings = tuple[np.ndarray, np.ndarray, np.ndarray]  # item, code and cluster of each rating


def estimate(counts: np.ndarray, n_items: np.ndarray) -> Mapping[str, np.ndarray]:
    estimates = scale_coefficients.pattern_coefficients(
        counts, n_items, scale="ordinal", interval=False
    )
    values = {name: estimates[name].value for name in estimates}
    return values | {"categories": fleiss.category_kappas(counts, n_items, interval=False).value}


def compute_effects(ratings: Ratings, k: int = K) -> wider_intervals.ClusterEffects:
    item, code, cluster = ratings
    return wider_intervals.compute_cluster_effects(
        count_patterns(item, code, k, day=cluster), estimate
    )


def simulate_ratings(
    n_clusters: int, *, size: int = 10, raters: int = 3, concentration: float = 1.0, seed: int = 0
) -> Ratings:
    """Return ratings of clusters that differ in how often raters agree; the fewer, the more so."""
    rng = np.random.default_rng(seed)
    agreement = rng.beta(0.6 * concentration, 0.4 * concentration, n_clusters)
    shape = (n_clusters, size, raters)
    codes = rng.choice(K, shape, p=[0.5, 0.3, 0.2])
    agree = rng.random(shape[:2]) < agreement[:, None]
    codes = np.where(agree[..., None], codes[..., :1], codes)
    item = np.repeat(np.arange(n_clusters * size), raters)
    return item, codes.ravel(), item // size


def estimate_subset(ratings: Ratings, selected: np.ndarray, k: int = K) -> dict[str, np.ndarray]:
    item, code, _cluster = (column[selected] for column in ratings)
    patterns = count_patterns(item, code, k)
    values = estimate(patterns.counts, patterns.n_items[None])
    return {name: np.atleast_1d(values[name][0]) for name in values}


def compute_jackknife(ratings: Ratings, groups: np.ndarray) -> dict[str, np.ndarray]:
    """Return the variance of each coefficient by leaving out one group of ratings at a time."""
    replicates = [estimate_subset(ratings, groups != group) for group in np.unique(groups)]
    n = len(replicates)
    return {
        name: (n - 1) * np.var(np.array([values[name] for values in replicates]), axis=0)
        for name in replicates[0]
    }


@pytest.mark.parametrize("seed", range(3))
def test_design_effect_is_the_ratio_of_two_jackknife_variances(seed: int) -> None:
    ratings = simulate_ratings(12, size=5, seed=seed)
    of_clusters, of_items = (compute_jackknife(ratings, ratings[index]) for index in (2, 0))
    result = compute_effects(ratings)
    assert (result.n_clusters, result.n_items) == (12, 60)
    for name, effects in result.effects.items():
        expected = np.maximum(of_clusters[name] / of_items[name], 1)
        assert effects == pytest.approx(expected, rel=1e-6), name


def test_wider_error_is_that_of_the_bootstrap_by_cluster() -> None:
    ratings = simulate_ratings(60)
    item, code, cluster = ratings
    rng = np.random.default_rng(1)
    rows = [np.flatnonzero(cluster == number) for number in range(60)]
    values = []
    for _replicate in range(400):
        sampled_rows = [rows[number] for number in rng.integers(0, 60, 60)]
        copies = np.concatenate(
            [np.full(len(part), copy) for copy, part in enumerate(sampled_rows)]
        )
        selected = np.concatenate(sampled_rows)
        patterns = count_patterns(item[selected] + 1000 * copies, code[selected], K)
        values.append(float(fleiss.fleiss_kappa(patterns.counts, patterns.n_items).value))
    patterns = count_patterns(item, code, K)
    value = fleiss.fleiss_kappa(patterns.counts, patterns.n_items).to_value()
    (effect,) = compute_effects(ratings).effects["fleiss_kappa"]
    widened = wider_intervals.widen_interval(value, effect, 60)
    assert effect > 3
    assert widened["se"] == pytest.approx(np.std(values), rel=0.12)


def test_equal_items_in_a_cluster_count_as_one() -> None:
    # Of a mean, the ratio is (N - 1) / (C - 1) exactly: N items in C clusters of equal items.
    item, code, _cluster = simulate_ratings(1, size=20)
    copies = np.repeat(np.arange(4), len(item))
    all_items = np.tile(item, 4) + 100 * copies
    result = compute_effects((all_items, np.tile(code, 4), np.tile(item, 4)))
    assert result.effects["percent_agreement"] == pytest.approx([(80 - 1) / (20 - 1)])


def test_nothing_varies() -> None:
    # All agree: nothing tells how alike the items of a cluster are.
    item = np.repeat(np.arange(60), 2)
    code = np.repeat(np.arange(60) % 2, 2)
    result = compute_effects((item, code, item // 10), 2)
    assert result.effects["fleiss_kappa"] == [pytest.approx(10)]
    assert result.effects["percent_agreement"] == [pytest.approx(10)]


def test_many_clusters_and_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = simulate_ratings(120, size=4)
    (exact,) = compute_effects(ratings).effects["fleiss_kappa"]
    monkeypatch.setattr(wider_intervals, "MAX_DELETIONS", 100)
    assert compute_effects(ratings).effects["fleiss_kappa"] == [pytest.approx(exact, rel=0.02)]
    monkeypatch.setattr(wider_intervals, "MAX_PATTERNS", 8)
    sampled = compute_effects(ratings)
    assert (sampled.n_clusters, sampled.n_items) == (120, 480)
    assert 1 <= sampled.effects["fleiss_kappa"][0] < 4


def test_single_ratings_are_in_no_comparable_cluster() -> None:
    item = np.array([0, 0, 1, 1, 2, 2, 3])
    result = compute_effects((item, np.array([0, 0, 1, 1, 0, 1, 0]), item // 2), 2)
    assert (result.n_clusters, result.n_items) == (2, 3)
    alone = compute_effects((item, np.array([0, 0, 1, 1, 0, 1, 0]), item * 0), 2)
    assert (alone.n_clusters, alone.effects) == (1, {})


RATINGS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, K - 1), st.integers(0, 5)), min_size=4, max_size=40
)


@settings(max_examples=40, deadline=None)
@given(RATINGS, st.randoms(use_true_random=False))
def test_order_and_names_do_not_matter(rows: list[tuple[int, int, int]], random: Any) -> None:
    columns = np.array(rows).T
    item = columns[0]
    first = compute_effects((item, columns[1], item // 3))
    shuffled = rows[:]
    random.shuffle(shuffled)
    item, code, _unused = np.array(shuffled).T
    second = compute_effects((item + 7, code, 50 - item // 3))
    assert (first.n_clusters, first.n_items) == (second.n_clusters, second.n_items)
    for name, effects in first.effects.items():
        assert effects == pytest.approx(second.effects[name], rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(RATINGS)
def test_clusters_of_one_item_change_nothing(rows: list[tuple[int, int, int]]) -> None:
    item, code, _cluster = np.array(rows).T
    result = compute_effects((item, code, item))
    patterns = count_patterns(item, code, K)
    for name, estimated in scale_coefficients.pattern_coefficients(
        patterns.counts, patterns.n_items, scale="ordinal"
    ).items():
        value = estimated.to_value()
        (effect,) = result.effects.get(name, [1.0])
        assert effect == 1
        widened = wider_intervals.widen_interval(value, effect, result.n_clusters)
        assert {**widened, "design_effect": 1} == {**value, "design_effect": 1}


def build_value(value: float, low: float, high: float, n_items: int = 50) -> Value:
    return {
        "value": value,
        "low": low,
        "high": high,
        "se": (high - low) / 4,
        "observed": None,
        "expected": 0.5,
        "n_items": n_items,
        "n_ratings": 2 * n_items,
        "reason": None,
    }


@pytest.mark.parametrize("value", [1.0, 1 - 1e-12, 0.9, 0.3])
@pytest.mark.parametrize("effect", [1.0, 2.5, 40.0])
def test_widened_interval_contains_the_narrow_one_and_stays_inside(
    value: float, effect: float
) -> None:
    narrow = build_value(value, value - 0.2, min(value + 0.1, 1.0))
    widened = wider_intervals.widen_interval(narrow, effect, 12)
    assert widened["low"] is not None and widened["high"] is not None
    assert -1 <= widened["low"] < value - 0.2
    assert narrow["high"] <= widened["high"] <= 1  # type: ignore[operator]
    assert widened["se"] == pytest.approx(narrow["se"] * math.sqrt(effect))  # type: ignore[operator]
    assert widened["design_effect"] == effect


def test_mean_difference_is_widened_on_its_own_scale() -> None:
    factor = 2 * float(t_quantile(11) / t_quantile(49))
    widened = wider_intervals.widen_interval(build_value(0.5, -0.5, 2.5), 4, 12, is_difference=True)
    assert (widened["low"], widened["high"]) == (
        pytest.approx(0.5 - factor),
        pytest.approx(0.5 + 2 * factor),
    )


def test_one_cluster_has_no_interval() -> None:
    widened = wider_intervals.widen_interval(build_value(0.5, 0.3, 0.7), 1, 1)
    assert (widened["low"], widened["high"], widened["se"]) == (None, None, None)
    assert widened["value"] == 0.5
