"""Standard errors against the numerical delta method, and those against peers by a plain loop over
items."""

import numpy as np
import pytest
from scipy import stats

from metrics.agreement import weights
from metrics.agreement.coefficients import cohen, fleiss, two_raters
from metrics.agreement.coefficients.brennan_prediger import brennan_prediger
from metrics.agreement.coefficients.groups import peers
from metrics.agreement.coefficients.gwet import gwet_ac
from metrics.agreement.coefficients.percent import percent_agreement
from metrics.agreement.counts import tally

STEP = 1e-5


def codes(seed, *, missing, n_items=40, n_raters=5, k=4):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n_items)
    rated = np.where(
        rng.random((n_items, n_raters)) < 0.6,
        truth[:, None],
        rng.integers(0, k, (n_items, n_raters)),
    )
    return np.where(rng.random((n_items, n_raters)) < missing, -1, rated)


def patterns_of(table, k=4):
    item, rater = np.nonzero(table >= 0)
    counted = tally.count_patterns(item, table[item, rater], k)
    return counted.counts, counted.n_items.astype(float)


def numerical_error(function, counts, n_items):
    """Infinitesimal jackknife: how the value moves when one item of a pattern weighs a little
    more."""
    n = n_items.sum()
    more = n_items + STEP * np.eye(len(n_items))
    less = n_items - STEP * np.eye(len(n_items))
    slope = (function(counts, more).value - function(counts, less).value) / (2 * STEP)
    influence = n * slope
    return np.sqrt((n_items * influence**2).sum() / (n * (n - 1)))


@pytest.mark.parametrize("weighting", weights.RANK_WEIGHTINGS)
@pytest.mark.parametrize("missing", [0, 0.4])
def test_fleiss_error_is_the_delta_method(weighting, missing):
    counts, n_items = patterns_of(codes(1, missing=missing))
    w = weights.get_weight_matrix(weighting, 4)

    def function(counts, n_items):
        return fleiss.fleiss_kappa(counts, n_items, weights=w)

    assert function(counts, n_items).se == pytest.approx(
        numerical_error(function, counts, n_items), rel=1e-6
    )


@pytest.mark.parametrize(
    "coefficient", [fleiss.fleiss_kappa_gwet, gwet_ac, brennan_prediger, percent_agreement]
)
def test_errors_are_the_delta_method_where_all_items_have_two_ratings(coefficient):
    table = codes(2, missing=0.3)
    counts, n_items = patterns_of(table[(table >= 0).sum(axis=1) >= 2])
    assert coefficient(counts, n_items).se == pytest.approx(
        numerical_error(coefficient, counts, n_items), rel=1e-6
    )


@pytest.mark.parametrize("weighting", weights.RANK_WEIGHTINGS)
@pytest.mark.parametrize("coefficient", [cohen.kappa, two_raters.scott_pi, two_raters.gwet_ac])
def test_table_errors_are_the_delta_method(coefficient, weighting):
    table = codes(3, missing=0, n_raters=2)
    counts = np.zeros((4, 4))
    np.add.at(counts, (table[:, 0], table[:, 1]), 1)
    w = weights.get_weight_matrix(weighting, 4)
    step = STEP * np.eye(16).reshape(16, 4, 4)
    slope = (coefficient(counts + step, w).value - coefficient(counts - step, w).value) / (2 * STEP)
    expected = np.sqrt((counts.ravel() * slope**2).sum())
    assert coefficient(counts, w).se == pytest.approx(expected, rel=1e-6)


def contributions(table, rater, k):
    """The (k, k) contribution of each item that the rater shares with somebody."""
    for row in table:
        if row[rater] >= 0 and (row >= 0).sum() > 1:
            x = np.zeros((k, k))
            others = np.delete(row, rater)
            np.add.at(x, (row[rater], others[others >= 0]), 1)
            yield x


@pytest.mark.parametrize("weighting", weights.RANK_WEIGHTINGS)
@pytest.mark.parametrize("rater", range(3))
def test_error_against_peers_takes_items_as_clusters(weighting, rater):
    k, table = 4, codes(4, missing=0.4)
    item, raters = np.nonzero(table >= 0)
    found = tally.count_peer_tables(item, raters, table[item, raters], k)
    w = weights.get_weight_matrix(weighting, k)
    estimate = peers.peer_kappa(found.tables, found.moments, found.n_items, weights=w)[rater]
    parts = list(contributions(table, rater, k))
    whole = sum(parts)

    def value(t):
        p = t / t.sum()
        expected = p.sum(axis=1) @ w @ p.sum(axis=0)
        return ((p * w).sum() - expected) / (1 - expected)

    moved = np.array(
        [(value(whole + STEP * x) - value(whole - STEP * x)) / (2 * STEP) for x in parts]
    )
    n = len(parts)
    se = np.sqrt(n / (n - 1) * (moved**2).sum())
    reading = estimate.to_value()
    assert reading["value"] == pytest.approx(value(whole))
    assert reading["se"] == pytest.approx(se, rel=1e-6)
    assert reading["low"] == pytest.approx(value(whole) - stats.t.ppf(0.975, n - 1) * se, rel=1e-6)
    assert reading["n_items"] == n
    assert reading["n_ratings"] == n + whole.sum()


def test_error_against_peers_without_moments_is_wider():
    table = codes(5, missing=0)
    item, raters = np.nonzero(table >= 0)
    found = tally.count_peer_tables(item, raters, table[item, raters], 4)
    exact = peers.peer_kappa(found.tables, found.moments, found.n_items)
    bound = peers.peer_kappa(found.tables, None, found.n_items)
    assert (bound.se >= exact.se).all()
    assert np.array_equal(bound.value, exact.value)


def test_bias_against_peers_is_own_less_others():
    found = tally.count_peer_tables([1, 1, 1, 2, 2], [7, 8, 9, 7, 8], [2, 1, 0, 2, 1], 3)
    bias = peers.peer_bias(found.tables, found.moments, found.n_items)
    assert bias.to_value((0,))["value"] == pytest.approx((1 + 2 + 1) / 3)
    scored = peers.peer_bias(found.tables, found.moments, found.n_items, values=[0, 10, 100])
    assert scored.to_value((0,))["value"] == pytest.approx((90 + 100 + 90) / 3)
    percent = peers.peer_percent_agreement(found.tables, found.moments, found.n_items)
    assert percent.to_value((0,))["value"] == 0


def test_peers_name_why_they_are_undefined():
    def reading(code):
        found = tally.count_peer_tables([1, 1, 2, 2], [1, 2, 1, 2], code, 2)
        estimate = peers.peer_kappa(found.tables, found.moments, found.n_items)
        return estimate.to_value((0,)), estimate.get_interval_reason((0,))

    assert reading([0, 0, 0, 0])[0]["reason"] == "single_category"
    single = tally.count_peer_tables([1, 1], [1, 2], [0, 1], 2)
    estimate = peers.peer_kappa(single.tables, single.moments, single.n_items)
    assert estimate.to_value((0,))["value"] == 0
    assert estimate.to_value((0,))["se"] is None
    assert estimate.get_interval_reason((0,)) == "too_few_items"
    nothing = peers.peer_kappa(np.zeros((1, 2, 2)), np.zeros((1, 2, 2, 2)), np.zeros(1))
    assert nothing.to_value((0,))["reason"] == "no_pairable_items"
