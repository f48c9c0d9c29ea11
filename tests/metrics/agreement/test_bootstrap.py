"""Test bootstrap intervals against the exact bootstrap distribution.

Also that they are reproducible and that undefined replicates are counted.
"""

import numpy as np
import pytest

from metrics.agreement import bootstrap as agreement_bootstrap
from metrics.agreement.coefficients import fleiss, gwet, krippendorff
from metrics.agreement.counts import tally
from tests.metrics.agreement.test_truth import CASES, build_codes, load_case

(EXACT,) = [load_case(path) for path in CASES if "bootstrap_exact" in path.stem]
FUNCTIONS = {
    "fleiss_kappa": fleiss.fleiss_kappa,
    "krippendorff_alpha_nominal": krippendorff.krippendorff_alpha,
    "percent_agreement": gwet.percent_agreement,
    "gwet_ac1": gwet.gwet_ac,
}


def build_statistics(counts):
    def build_statistic(function):
        return lambda n_items: function(counts, n_items, interval=False)

    return {name: build_statistic(function) for name, function in FUNCTIONS.items()}


def count_patterns(codes, k):
    item, rater = np.nonzero(codes >= 0)
    return tally.count_patterns(item, codes[item, rater], k)


def bootstrap_exact_case(**options):
    patterns = count_patterns(build_codes(EXACT), 3)
    return agreement_bootstrap.bootstrap_patterns(
        patterns.n_items, build_statistics(patterns.counts), **options
    )


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_percentile_interval_of_2000_replicates_is_near_the_exact_one(name, seed):
    exact = EXACT["bootstrap"]["coefficients"][name]
    interval = bootstrap_exact_case(replicates=2000, seed=seed)[name]
    assert (
        exact["accept_low_at_B2000"][0] - 1e-9
        <= interval.low
        <= exact["accept_low_at_B2000"][1] + 1e-9
    )
    assert (
        exact["accept_high_at_B2000"][0] - 1e-9
        <= interval.high
        <= exact["accept_high_at_B2000"][1] + 1e-9
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_replicates_reach_the_exact_distribution(name):
    exact = EXACT["bootstrap"]["coefficients"][name]
    interval = bootstrap_exact_case(replicates=100_000)[name]
    assert (interval.low, interval.high) == pytest.approx((exact["ci_low"], exact["ci_high"]))
    assert interval.mean == pytest.approx(exact["mean"], abs=4 * exact["sd"] / np.sqrt(100_000))
    assert interval.se == pytest.approx(exact["sd"], rel=0.02)
    assert interval.undefined_share == pytest.approx(exact["undefined_share"], abs=1e-4)


@pytest.mark.parametrize("method", agreement_bootstrap.METHODS)
def test_the_same_seed_gives_the_same_interval(method):
    assert bootstrap_exact_case(seed=5, method=method) == bootstrap_exact_case(
        seed=5, method=method
    )
    assert bootstrap_exact_case(seed=5, method=method) != bootstrap_exact_case(
        seed=6, method=method
    )


# patterns of few items, one of them an outlier
SKEWED = np.array([[6, 0], [5, 1], [4, 2], [3, 3], [2, 0], [1, 1]])
ITEMS = np.array([9, 6, 2, 1, 5, 2])


# the second has few values, so many ties
@pytest.mark.parametrize("n_items", [ITEMS, [2, 1, 0, 0, 0, 2]])
@pytest.mark.parametrize("method", agreement_bootstrap.METHODS)
def test_intervals_match_scipy_up_to_sampling_error(method, n_items):
    from scipy import stats

    statistics = {"p": lambda n: gwet.percent_agreement(SKEWED, n, interval=False)}
    interval = agreement_bootstrap.bootstrap_patterns(
        n_items, statistics, replicates=100_000, method=method
    )["p"]
    agreement_by_pattern = [
        float(gwet.percent_agreement(SKEWED[[p]], [1]).value) for p in range(len(SKEWED))
    ]
    expected = stats.bootstrap(
        (np.repeat(agreement_by_pattern, n_items),),
        np.mean,
        n_resamples=100_000,
        method=method,
        rng=np.random.default_rng(1),
    )
    assert interval.low == pytest.approx(expected.confidence_interval.low, abs=0.003)
    assert interval.high == pytest.approx(expected.confidence_interval.high, abs=0.003)


def test_bca_shifts_a_skewed_interval():
    statistics = {"p": lambda n: gwet.percent_agreement(SKEWED, n, interval=False)}
    bca, percentile = (
        agreement_bootstrap.bootstrap_patterns(
            ITEMS, statistics, replicates=100_000, method=method
        )["p"]
        for method in ("bca", "percentile")
    )
    assert bca.low is not None and percentile.low is not None
    assert bca.low < percentile.low - 0.006


def test_undefined_replicates_are_dropped_and_counted():
    counts = np.array([[3, 0], [0, 3]])
    interval = agreement_bootstrap.bootstrap_patterns(
        [1, 1], {"kappa": lambda n: fleiss.fleiss_kappa(counts, n, interval=False)}, replicates=4000
    )["kappa"]
    assert interval.undefined_share == pytest.approx(0.5, abs=0.05)
    assert (interval.low, interval.high, interval.mean) == (1, 1, 1)


@pytest.mark.parametrize("method", agreement_bootstrap.METHODS)
def test_undefined_statistic_gives_no_interval(method):
    counts = np.array([[3, 0]])
    for n_items in ([5], [0]):
        interval = agreement_bootstrap.bootstrap_patterns(
            n_items,
            {"kappa": lambda n: fleiss.fleiss_kappa(counts, n, interval=False)},
            method=method,
        )["kappa"]
        assert (
            interval.low,
            interval.high,
            interval.se,
            interval.mean,
            interval.undefined_share,
        ) == (
            None,
            None,
            None,
            None,
            1,
        )


def test_unknown_method_error_lists_the_valid_ones():
    with pytest.raises(ValueError, match="'median'; one of percentile, bca"):
        bootstrap_exact_case(method="median")
