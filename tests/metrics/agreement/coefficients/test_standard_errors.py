"""Test standard errors against the numerical delta method and a loop over items for peers."""

import numpy as np
import pytest
from scipy import stats

from metrics.agreement import weights
from metrics.agreement.coefficients import cohen, fleiss, groups, two_raters
from metrics.agreement.coefficients.gwet import brennan_prediger, gwet_ac, percent_agreement
from metrics.agreement.counts import tally

STEP = 1e-5


def simulate_codes(seed, *, missing, n_items=40, n_raters=5, k=4):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n_items)
    complete_codes = np.where(
        rng.random((n_items, n_raters)) < 0.6,
        truth[:, None],
        rng.integers(0, k, (n_items, n_raters)),
    )
    return np.where(rng.random((n_items, n_raters)) < missing, -1, complete_codes)


def count_patterns(table, k=4):
    item, rater = np.nonzero(table >= 0)
    pattern_counts = tally.count_patterns(item, table[item, rater], k)
    return pattern_counts.counts, pattern_counts.n_items.astype(float)


def compute_numerical_error(function, counts, n_items):
    """Return the infinitesimal jackknife error.

    It measures how the value changes when one item of a pattern gets a little more weight.
    """
    n = n_items.sum()
    more = n_items + STEP * np.eye(len(n_items))
    less = n_items - STEP * np.eye(len(n_items))
    slope = (function(counts, more).value - function(counts, less).value) / (2 * STEP)
    influence = n * slope
    return np.sqrt((n_items * influence**2).sum() / (n * (n - 1)))


@pytest.mark.parametrize("weighting", weights.RANK_WEIGHTINGS)
@pytest.mark.parametrize("missing", [0, 0.4])
def test_fleiss_error_matches_the_delta_method(weighting, missing):
    counts, n_items = count_patterns(simulate_codes(1, missing=missing))
    w = weights.get_weight_matrix(weighting, 4)

    def estimate_kappa(counts, n_items):
        return fleiss.fleiss_kappa(counts, n_items, weights=w)

    assert estimate_kappa(counts, n_items).se == pytest.approx(
        compute_numerical_error(estimate_kappa, counts, n_items), rel=1e-6
    )


@pytest.mark.parametrize(
    "coefficient", [fleiss.fleiss_kappa_gwet, gwet_ac, brennan_prediger, percent_agreement]
)
def test_errors_match_delta_method_when_all_items_have_two_ratings(coefficient):
    table = simulate_codes(2, missing=0.3)
    counts, n_items = count_patterns(table[(table >= 0).sum(axis=1) >= 2])
    assert coefficient(counts, n_items).se == pytest.approx(
        compute_numerical_error(coefficient, counts, n_items), rel=1e-6
    )


@pytest.mark.parametrize("weighting", weights.RANK_WEIGHTINGS)
@pytest.mark.parametrize("coefficient", [cohen.kappa, two_raters.scott_pi, two_raters.gwet_ac])
def test_table_errors_match_the_delta_method(coefficient, weighting):
    table = simulate_codes(3, missing=0, n_raters=2)
    counts = np.zeros((4, 4))
    np.add.at(counts, (table[:, 0], table[:, 1]), 1)
    w = weights.get_weight_matrix(weighting, 4)
    step = STEP * np.eye(16).reshape(16, 4, 4)
    slope = (coefficient(counts + step, w).value - coefficient(counts - step, w).value) / (2 * STEP)
    expected = np.sqrt((counts.ravel() * slope**2).sum())
    assert coefficient(counts, w).se == pytest.approx(expected, rel=1e-6)


def iter_contributions(table, rater, k):
    """Yield the (k, k) contribution of each item that the rater shares with somebody."""
    for row in table:
        if row[rater] >= 0 and (row >= 0).sum() > 1:
            x = np.zeros((k, k))
            others = np.delete(row, rater)
            np.add.at(x, (row[rater], others[others >= 0]), 1)
            yield x


@pytest.mark.parametrize("weighting", weights.RANK_WEIGHTINGS)
@pytest.mark.parametrize("rater", range(3))
def test_peer_error_treats_items_as_clusters(weighting, rater):
    k, table = 4, simulate_codes(4, missing=0.4)
    item, raters = np.nonzero(table >= 0)
    counts = tally.count_peer_tables(item, raters, table[item, raters], k)
    w = weights.get_weight_matrix(weighting, k)
    estimate = groups.peer_kappa(counts.tables, counts.moments, counts.n_items, weights=w)[rater]
    item_tables = list(iter_contributions(table, rater, k))
    total = sum(item_tables)

    def compute_value(t):
        p = t / t.sum()
        expected = p.sum(axis=1) @ w @ p.sum(axis=0)
        return ((p * w).sum() - expected) / (1 - expected)

    influence = np.array(
        [
            (compute_value(total + STEP * x) - compute_value(total - STEP * x)) / (2 * STEP)
            for x in item_tables
        ]
    )
    n = len(item_tables)
    se = np.sqrt(n / (n - 1) * (influence**2).sum())
    values = estimate.to_value()
    assert values["value"] == pytest.approx(compute_value(total))
    assert values["se"] == pytest.approx(se, rel=1e-6)
    published_low = compute_value(total) - stats.t.ppf(0.975, n - 1) * se
    assert float(estimate.ci_low) == pytest.approx(published_low, rel=1e-6)
    # The interval shown is no value -/+ t se: a score interval, longer on the side towards chance.
    assert (np.diff([float(estimate.low), float(estimate.value), float(estimate.high)]) > 0).all()
    assert values["n_items"] == n
    assert values["n_ratings"] == n + total.sum()


def test_peer_error_without_moments_is_wider():
    table = simulate_codes(5, missing=0)
    item, raters = np.nonzero(table >= 0)
    counts = tally.count_peer_tables(item, raters, table[item, raters], 4)
    exact = groups.peer_kappa(counts.tables, counts.moments, counts.n_items)
    bound = groups.peer_kappa(counts.tables, None, counts.n_items)
    assert (bound.se >= exact.se).all()
    assert np.array_equal(bound.value, exact.value)


def test_peer_bias_is_own_minus_others():
    counts = tally.count_peer_tables([1, 1, 1, 2, 2], [7, 8, 9, 7, 8], [2, 1, 0, 2, 1], 3)
    bias = groups.peer_bias(counts.tables, counts.moments, counts.n_items)
    assert bias.to_value((0,))["value"] == pytest.approx((1 + 2 + 1) / 3)
    scored = groups.peer_bias(counts.tables, counts.moments, counts.n_items, values=[0, 10, 100])
    assert scored.to_value((0,))["value"] == pytest.approx((90 + 100 + 90) / 3)
    percent = groups.peer_percent_agreement(counts.tables, counts.moments, counts.n_items)
    assert percent.to_value((0,))["value"] == 0


def test_undefined_peer_kappas_have_reasons():
    def get_values_and_reason(code):
        counts = tally.count_peer_tables([1, 1, 2, 2], [1, 2, 1, 2], code, 2)
        estimate = groups.peer_kappa(counts.tables, counts.moments, counts.n_items)
        return estimate.to_value((0,)), estimate.get_interval_reason((0,))

    assert get_values_and_reason([0, 0, 0, 0])[0]["reason"] == "single_category"
    single_item = tally.count_peer_tables([1, 1], [1, 2], [0, 1], 2)
    estimate = groups.peer_kappa(single_item.tables, single_item.moments, single_item.n_items)
    assert estimate.to_value((0,))["value"] == 0
    assert estimate.to_value((0,))["se"] is None
    assert estimate.get_interval_reason((0,)) == "too_few_items"
    empty_estimate = groups.peer_kappa(np.zeros((1, 2, 2)), np.zeros((1, 2, 2, 2)), np.zeros(1))
    assert empty_estimate.to_value((0,))["reason"] == "no_pairable_items"
