"""The mean pairwise kappa by shared items: no pair counts for more than its items, and the interval
is that of a slow jackknife."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.agreement.coefficients import cohen
from metrics.agreement.coefficients.light import PairKappas, mean_kappa_by_items
from metrics.agreement.counts.tally import count_pair_tables, count_patterns

RNG = np.random.default_rng(7)


def rated(n: int, raters: int, k: int = 3) -> np.ndarray:
    truth = RNG.integers(0, k, n)
    return np.where(RNG.random((n, raters)) < 0.7, truth[:, None], RNG.integers(0, k, (n, raters)))


def mean(codes: np.ndarray, k: int = 3) -> tuple[dict, int]:
    item, rater = np.nonzero(codes >= 0)
    pairs = count_pair_tables(item, rater, codes[item, rater], k)
    kappas = cohen.kappa(pairs.tables, interval=False).value
    shared = pairs.tables.sum(axis=(1, 2))
    counted = count_patterns(item, codes[item, rater], k)
    known = PairKappas(pairs.rater_a, pairs.rater_b, shared, kappas)
    estimate, n_pairs = mean_kappa_by_items(known, counted.counts, counted.n_items)
    return dict(estimate.to_value()), n_pairs


def test_it_is_the_mean_weighted_by_shared_items():
    codes = rated(60, 4)
    codes[:40, 3] = -1
    values, weights = [], []
    for a in range(4):
        for b in range(a + 1, 4):
            both = (codes[:, a] >= 0) & (codes[:, b] >= 0)
            table = np.zeros((3, 3))
            np.add.at(table, (codes[both, a], codes[both, b]), 1)
            values.append(float(cohen.kappa(table).value))
            weights.append(both.sum())
    found, n_pairs = mean(codes)
    assert n_pairs == 6
    assert found["value"] == pytest.approx(np.average(values, weights=weights))


def test_a_newcomers_one_rating_hardly_moves_it():
    """The plain mean went from 0.8 to 0.6 by it."""
    codes = rated(400, 3)
    codes[1, :] = [0, 0, 0]
    before, _n = mean(codes)
    newcomer = np.full((400, 1), -1)
    newcomer[1] = 2
    after, n_pairs = mean(np.concatenate([codes, newcomer], axis=1))
    assert n_pairs == 6
    assert after["value"] == pytest.approx(before["value"], abs=0.005)
    assert after["low"] == pytest.approx(before["low"], abs=0.03)


def test_the_error_of_raters_is_the_jackknife():
    """With very many items nothing but the raters is left of the error."""
    truth = RNG.integers(0, 3, 60_000)
    right = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    codes = np.where(
        RNG.random((60_000, 5)) < right, truth[:, None], RNG.integers(0, 3, (60_000, 5))
    )
    found, _n = mean(codes)
    without = np.array([mean(np.delete(codes, rater, axis=1))[0]["value"] for rater in range(5)])
    jackknife = np.sqrt(4 / 5 * ((without - without.mean()) ** 2).sum())
    assert found["se"] == pytest.approx(jackknife, rel=0.01)


def test_of_two_raters_the_error_is_that_of_items():
    codes = rated(300, 2)
    table = np.zeros((3, 3))
    np.add.at(table, (codes[:, 0], codes[:, 1]), 1)
    found, _n = mean(codes)
    assert found["se"] == pytest.approx(float(cohen.kappa(table).se), rel=0.03)


def test_without_a_kappa_there_is_a_reason():
    assert mean(np.zeros((5, 3), int))[0]["reason"] == "single_category"
    alone = np.array([[0, -1], [-1, 1]])
    assert mean(alone)[0]["reason"] == "no_pairable_items"
