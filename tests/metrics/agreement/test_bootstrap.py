"""Bootstrap intervals: against the exact bootstrap distribution, reproducible, undefined replicates
counted."""

import numpy as np
import pytest

from metrics.agreement import bootstrap as agreement_bootstrap
from metrics.agreement.coefficients import cohen, fleiss, gwet, krippendorff, percent
from metrics.agreement.counts import tally
from tests.metrics.agreement.test_truth import CASES, codes_of, load

(EXACT,) = [load(path) for path in CASES if "bootstrap_exact" in path.stem]
FUNCTIONS = {
    "fleiss_kappa": fleiss.fleiss_kappa,
    "krippendorff_alpha_nominal": krippendorff.krippendorff_alpha,
    "percent_agreement": percent.percent_agreement,
    "gwet_ac1": gwet.gwet_ac,
}


def statistics(counts):
    def of(function):
        return lambda n_items: function(counts, n_items, interval=False)

    return {name: of(function) for name, function in FUNCTIONS.items()}


def counted(codes, k):
    item, rater = np.nonzero(codes >= 0)
    return tally.count_patterns(item, codes[item, rater], k)


def bootstrap(**options):
    patterns = counted(codes_of(EXACT), 3)
    return agreement_bootstrap.bootstrap_patterns(
        patterns.n_items, statistics(patterns.counts), **options
    )


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_percentile_interval_of_2000_replicates_is_near_the_exact_one(name, seed):
    exact = EXACT["bootstrap"]["coefficients"][name]
    found = bootstrap(replicates=2000, seed=seed)[name]
    assert (
        exact["accept_low_at_B2000"][0] - 1e-9
        <= found.low
        <= exact["accept_low_at_B2000"][1] + 1e-9
    )
    assert (
        exact["accept_high_at_B2000"][0] - 1e-9
        <= found.high
        <= exact["accept_high_at_B2000"][1] + 1e-9
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_replicates_reach_the_exact_distribution(name):
    exact = EXACT["bootstrap"]["coefficients"][name]
    found = bootstrap(replicates=100_000)[name]
    assert (found.low, found.high) == pytest.approx((exact["ci_low"], exact["ci_high"]))
    assert found.mean == pytest.approx(exact["mean"], abs=4 * exact["sd"] / np.sqrt(100_000))
    assert found.se == pytest.approx(exact["sd"], rel=0.02)
    assert found.undefined_share == pytest.approx(exact["undefined_share"], abs=1e-4)


@pytest.mark.parametrize("method", agreement_bootstrap.METHODS)
def test_the_same_seed_gives_the_same_interval(method):
    assert bootstrap(seed=5, method=method) == bootstrap(seed=5, method=method)
    assert bootstrap(seed=5, method=method) != bootstrap(seed=6, method=method)


# patterns of few items, one of them far off
SKEWED = np.array([[6, 0], [5, 1], [4, 2], [3, 3], [2, 0], [1, 1]])
ITEMS = np.array([9, 6, 2, 1, 5, 2])


# the second has few values, so many ties
@pytest.mark.parametrize("n_items", [ITEMS, [2, 1, 0, 0, 0, 2]])
@pytest.mark.parametrize("method", agreement_bootstrap.METHODS)
def test_intervals_equal_those_of_scipy_up_to_chance(method, n_items):
    from scipy import stats

    statistics = {"p": lambda n: percent.percent_agreement(SKEWED, n, interval=False)}
    found = agreement_bootstrap.bootstrap_patterns(
        n_items, statistics, replicates=100_000, method=method
    )["p"]
    each = [float(percent.percent_agreement(SKEWED[[p]], [1]).value) for p in range(len(SKEWED))]
    theirs = stats.bootstrap(
        (np.repeat(each, n_items),),
        np.mean,
        n_resamples=100_000,
        method=method,
        rng=np.random.default_rng(1),
    )
    assert found.low == pytest.approx(theirs.confidence_interval.low, abs=0.003)
    assert found.high == pytest.approx(theirs.confidence_interval.high, abs=0.003)


def test_bca_moves_a_skewed_interval():
    statistics = {"p": lambda n: percent.percent_agreement(SKEWED, n, interval=False)}
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
    found = agreement_bootstrap.bootstrap_patterns(
        [1, 1], {"kappa": lambda n: fleiss.fleiss_kappa(counts, n, interval=False)}, replicates=4000
    )["kappa"]
    assert found.undefined_share == pytest.approx(0.5, abs=0.05)
    assert (found.low, found.high, found.mean) == (1, 1, 1)


@pytest.mark.parametrize("method", agreement_bootstrap.METHODS)
def test_nothing_defined_gives_no_interval(method):
    counts = np.array([[3, 0]])
    for n_items in ([5], [0]):
        found = agreement_bootstrap.bootstrap_patterns(
            n_items,
            {"kappa": lambda n: fleiss.fleiss_kappa(counts, n, interval=False)},
            method=method,
        )["kappa"]
        assert (found.low, found.high, found.se, found.mean, found.undefined_share) == (
            None,
            None,
            None,
            None,
            1,
        )


def test_pair_bootstrap_agrees_with_the_analytic_error():
    table = np.array([[40, 5, 1], [6, 30, 4], [0, 7, 27]])
    (found,) = agreement_bootstrap.bootstrap_tables(
        [table], lambda t: cohen.kappa(t, interval=False), replicates=5000
    )
    assert found.se == pytest.approx(float(cohen.kappa(table).se), rel=0.05)
    assert found.low is not None and found.high is not None
    assert found.low < float(cohen.kappa(table).value) < found.high


def test_unknown_method_names_the_known_ones():
    with pytest.raises(ValueError, match="'median'; one of percentile, bca"):
        bootstrap(method="median")
