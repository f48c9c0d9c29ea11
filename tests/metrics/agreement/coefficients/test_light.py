"""Test the mean pairwise kappa weighted by shared items, against a slow jackknife."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.agreement.coefficients import cohen
from metrics.agreement.coefficients.cohen import PairKappas, mean_kappa_weighted_by_items
from metrics.agreement.counts.tally import count_pair_tables, count_patterns

RNG = np.random.default_rng(7)


def simulate_codes(n: int, raters: int, k: int = 3) -> np.ndarray:
    truth = RNG.integers(0, k, n)
    return np.where(RNG.random((n, raters)) < 0.7, truth[:, None], RNG.integers(0, k, (n, raters)))


def compute_mean_kappa(codes: np.ndarray, k: int = 3) -> tuple[dict, int]:
    item, rater = np.nonzero(codes >= 0)
    pairs = count_pair_tables(item, rater, codes[item, rater], k)
    kappas = cohen.kappa(pairs.tables, interval=False).value
    shared = pairs.tables.sum(axis=(1, 2))
    pattern_counts = count_patterns(item, codes[item, rater], k)
    pair_kappas = PairKappas(pairs.rater_a, pairs.rater_b, shared, kappas)
    estimate, n_pairs = mean_kappa_weighted_by_items(
        pair_kappas, pattern_counts.counts, pattern_counts.n_items
    )
    return dict(estimate.to_value()), n_pairs


def test_mean_kappa_is_weighted_by_shared_items():
    codes = simulate_codes(60, 4)
    codes[:40, 3] = -1
    values, weights = [], []
    for a in range(4):
        for b in range(a + 1, 4):
            is_shared = (codes[:, a] >= 0) & (codes[:, b] >= 0)
            table = np.zeros((3, 3))
            np.add.at(table, (codes[is_shared, a], codes[is_shared, b]), 1)
            values.append(float(cohen.kappa(table).value))
            weights.append(is_shared.sum())
    result, n_pairs = compute_mean_kappa(codes)
    assert n_pairs == 6
    assert result["value"] == pytest.approx(np.average(values, weights=weights))


def test_one_rating_of_a_new_rater_hardly_changes_the_mean():
    """Regression: the plain mean fell from 0.8 to 0.6."""
    codes = simulate_codes(400, 3)
    codes[1, :] = [0, 0, 0]
    before, _n = compute_mean_kappa(codes)
    newcomer = np.full((400, 1), -1)
    newcomer[1] = 2
    after, n_pairs = compute_mean_kappa(np.concatenate([codes, newcomer], axis=1))
    assert n_pairs == 6
    assert after["value"] == pytest.approx(before["value"], abs=0.005)
    assert after["low"] == pytest.approx(before["low"], abs=0.03)


def test_error_from_raters_matches_the_jackknife():
    """With very many items, only the raters contribute to the error."""
    truth = RNG.integers(0, 3, 60_000)
    accuracy = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    codes = np.where(
        RNG.random((60_000, 5)) < accuracy, truth[:, None], RNG.integers(0, 3, (60_000, 5))
    )
    result, _n = compute_mean_kappa(codes)
    without = np.array(
        [compute_mean_kappa(np.delete(codes, rater, axis=1))[0]["value"] for rater in range(5)]
    )
    jackknife = np.sqrt(4 / 5 * ((without - without.mean()) ** 2).sum())
    assert result["se"] == pytest.approx(jackknife, rel=0.01)


def test_error_of_two_raters_comes_from_items():
    codes = simulate_codes(300, 2)
    table = np.zeros((3, 3))
    np.add.at(table, (codes[:, 0], codes[:, 1]), 1)
    result, _n = compute_mean_kappa(codes)
    assert result["se"] == pytest.approx(float(cohen.kappa(table).se), rel=0.03)


def test_undefined_mean_kappa_has_a_reason():
    assert compute_mean_kappa(np.zeros((5, 3), int))[0]["reason"] == "single_category"
    without_pairs = np.array([[0, -1], [-1, 1]])
    assert compute_mean_kappa(without_pairs)[0]["reason"] == "no_pairable_items"
