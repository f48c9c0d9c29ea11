"""Test sample sizes: by search, by enumeration, by the delta method."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.agreement import sample_size
from metrics.agreement.coefficients import cohen, fleiss

EXAMPLES = settings(max_examples=50, deadline=None)


@EXAMPLES
@given(st.floats(0, 0.3), st.integers(1, 300), st.floats(0.02, 0.5))
def test_items_needed_is_the_smallest_number(se, n, half_width):
    items = 2
    while stats.t.ppf(0.975, items - 1) * se * (n / items) ** 0.5 > half_width:
        items += 1
        if items > 3000:
            return
    needed = sample_size.compute_items_needed(se, n, half_width)
    assert (needed.items, needed.additional) == (items, max(0, items - n))


@EXAMPLES
@given(st.floats(0.001, 0.3), st.integers(2, 300), st.floats(0.03, 0.5), st.floats(0, 0.5))
def test_items_needed_with_assurance_are_the_smallest_that_stay_narrow(se, n, half_width, sd):
    def is_narrow(items):
        change = sd * max(1 - n / items, 0) ** 0.5
        margin = stats.t.ppf(0.975, items - 1) * se * (n / items) ** 0.5
        return margin * np.exp(stats.norm.ppf(0.9) * change) <= half_width

    needed = sample_size.compute_items_needed(se, n, half_width, log_se_sd=sd)
    minimum = sample_size.compute_items_needed(se, n, half_width)
    assert needed.items is not None and minimum.items is not None
    assert is_narrow(needed.items)
    assert needed.items == 2 or not is_narrow(needed.items - 1)
    assert needed.items >= minimum.items


@EXAMPLES
@given(st.floats(0.01, 0.3), st.integers(2, 40), st.integers(1, 10), st.floats(0, 0.5))
def test_items_in_clusters_are_planned_by_cluster(se, n_clusters, size, sd):
    n, half_width = n_clusters * size, 0.1
    df = n_clusters - 1
    factor = (df / stats.chi2.ppf(0.1, df)) ** 0.5  # exceeded by the true error in one of ten
    log_sd = np.hypot(sd, np.log(factor) / stats.norm.ppf(0.9))

    def is_narrow(items):
        df = max(items / size - 1, 1)
        margin = stats.t.ppf(0.975, df) * se * (n / items) ** 0.5
        change = log_sd * max(1 - n / items, 0) ** 0.5
        return margin * np.exp(stats.norm.ppf(0.9) * change) <= half_width

    needed = sample_size.compute_items_needed(
        se, n, half_width, log_se_sd=sd, n_clusters=n_clusters
    )
    independent = sample_size.compute_items_needed(se, n, half_width, log_se_sd=sd)
    assert needed.items is not None and independent.items is not None
    assert is_narrow(needed.items)
    assert needed.items == 2 or not is_narrow(needed.items - 1)
    assert needed.items >= independent.items
    expected = sample_size.compute_items_needed(se, n, half_width, n_clusters=n_clusters)
    assert expected.items is not None and expected.items <= needed.items
    alone = sample_size.compute_items_needed(se, n, half_width, n_clusters=1)
    assert (alone.items, alone.reason) == (None, "too_few_items")


@pytest.mark.parametrize(
    ("kappa", "shares", "half_width"),
    [(0.7, [0.3, 0.7], 0.1), (0.8, [0.05, 0.95], 0.1), (0.6, [0.5, 0.3, 0.2], 0.08)],
)
def test_nine_of_ten_studies_reach_the_assured_width(kappa, shares, half_width):
    """About half of the studies with the expected number of items do."""
    p = np.array(shares)
    table = kappa * np.diag(p) + (1 - kappa) * np.outer(p, p)
    reached = []
    for with_assurance in (False, True):
        items = sample_size.compute_items_needed_before(
            kappa, shares, half_width, with_assurance=with_assurance
        )
        studies = np.random.default_rng(7).multinomial(items, table.ravel(), size=2000)
        kappas = cohen.kappa(studies.reshape(-1, *table.shape))
        reached.append(((kappas.high - kappas.low) / 2 <= half_width).mean())
    assert 0.4 < reached[0] < 0.6
    assert reached[1] >= 0.885


def test_pilots_with_few_disagreements_are_not_planned_too_small():
    """Of 60 items of which 1 in 20 is of the rare category, about one differs."""
    rng = np.random.default_rng(4)
    patterns = np.array([[2, 0], [1, 1], [0, 2]])
    shares = [0.9025 * 0.2 + 0.95 * 0.8, 0.095 * 0.2, 0.0025 * 0.2 + 0.05 * 0.8]
    reached = []
    for pilot in rng.multinomial(60, shares, size=80):
        error = sample_size.compute_planning_error(fleiss.fleiss_kappa(patterns, pilot).to_value())
        needed = sample_size.compute_items_needed(
            error, 60, 0.1, log_se_sd=sample_size.estimate_log_se_sd(patterns, pilot)
        )
        if needed.additional:
            items = pilot + rng.multinomial(needed.additional, shares)
            estimate = fleiss.fleiss_kappa(patterns, items)
            reached.append(float(estimate.high - estimate.low) / 2 <= 0.1)
    assert len(reached) > 70
    assert np.mean(reached) > 0.84


def test_planning_error_is_that_of_the_interval_shown():
    """Twelve items with full agreement: the standard error is 0, the interval is wide."""
    counts, n_items = np.array([[3, 0], [0, 3]]), np.array([8, 4])
    estimate = fleiss.fleiss_kappa(counts, n_items)
    value = estimate.to_value()
    assert value["se"] == 0
    error = sample_size.compute_planning_error(value)
    half_width = float(estimate.high - estimate.low) / 2
    assert error == pytest.approx(half_width / stats.norm.ppf(0.975))
    in_clusters = sample_size.compute_planning_error(value, 4)
    assert in_clusters == pytest.approx(half_width / stats.t.ppf(0.975, 3))
    plans = sample_size.compute_plans(counts, n_items, 0.05)
    assert all(plan.items is not None and plan.items > 100 for plan in plans)
    assert sample_size.compute_planning_error({**value, "se": None}) is None
    assert sample_size.compute_planning_error({**value, "se": 9.0}) == 9


@EXAMPLES
@given(st.floats(0.001, 2), st.integers(1, 1000))
def test_pilot_is_large_enough_to_plan_from(sd, n):
    items = sample_size.compute_pilot_items(sd, n)
    factor = sample_size.compute_error_factor(sd * (n / items) ** 0.5)
    assert factor <= sample_size.MAX_ERROR_FACTOR + 1e-9
    is_enough = sample_size.compute_error_factor(sd) <= sample_size.MAX_ERROR_FACTOR
    assert (items <= n) is is_enough


def test_uncertainty_of_the_error_is_that_of_new_samples():
    rng = np.random.default_rng(8)
    patterns = np.array([[2, 0], [1, 1], [0, 2]])
    shares = [0.65, 0.1, 0.25]
    samples = rng.multinomial(200, shares, size=3000)
    true_sd = np.log(fleiss.fleiss_kappa(patterns, samples).se).std()
    estimates = [sample_size.estimate_log_se_sd(patterns, sample) for sample in samples[:20]]
    assert np.mean(estimates) == pytest.approx(true_sd, rel=0.15)
    assert sample_size.estimate_log_se_sd(patterns, [1, 0, 0]) == 0


def test_kappa_that_no_table_has_is_refused():
    with pytest.raises(ValueError, match="impossible"):
        sample_size.compute_items_needed_before(-0.9, 0.1, 0.1, with_assurance=True)


def test_invalid_planning_input_has_reason_or_error():
    assert sample_size.compute_items_needed(None, 1, 0.1).reason == "too_few_items"
    for width in (0, -0.1):
        with pytest.raises(ValueError, match="half-width"):
            sample_size.compute_items_needed(0.1, 10, width)
        with pytest.raises(ValueError, match="half-width"):
            sample_size.compute_items_needed_before(0.5, 0.5, width)
    for prevalence in (0, 1, [0.5, 0.2], [1.0]):
        with pytest.raises(ValueError, match="prevalences"):
            sample_size.compute_items_needed_before(0.5, prevalence, 0.1)


@EXAMPLES
@given(st.floats(-0.05, 0.95), st.floats(0.1, 0.9))
def test_two_categories_match_delta_method_of_assumed_table(kappa, prevalence):
    p = np.array([prevalence, 1 - prevalence])
    table = kappa * np.diag(p) + (1 - kappa) * np.outer(p, p)
    v = sample_size.compute_table_variance(table)
    exact = 1.959963985**2 * v / 0.05**2
    assert sample_size.compute_items_needed_before(kappa, prevalence, 0.05) == pytest.approx(
        exact, abs=1.01
    )


def test_three_categories_fall_back_to_two_when_one_is_rare():
    n_items = sample_size.compute_items_needed_before(0.6, [0.3, 0.7 - 1e-9, 1e-9], 0.1)
    assert n_items == pytest.approx(sample_size.compute_items_needed_before(0.6, 0.3, 0.1), abs=1)


@EXAMPLES
@given(st.lists(st.integers(0, 2), min_size=2, max_size=6), st.integers(1, 5))
def test_thinning_covers_every_choice_of_ratings(ratings, m):
    pattern = np.bincount(ratings, minlength=3)
    counts, numbers = sample_size.thin_patterns([pattern], [10], m)
    expected: dict = {}
    choices = list(combinations(ratings, min(m, len(ratings))))
    for chosen_ratings in choices:
        key = tuple(np.bincount(chosen_ratings, minlength=3))
        expected[key] = expected.get(key, 0) + 10 / len(choices)
    thinned_patterns = {
        tuple(map(int, row)): number for row, number in zip(counts, numbers, strict=True)
    }
    assert thinned_patterns == {key: pytest.approx(value) for key, value in expected.items()}


def test_fewer_ratings_an_item_give_wider_intervals():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 300)
    codes = np.where(rng.random((300, 5)) < 0.7, truth[:, None], rng.integers(0, 3, (300, 5)))
    counts = np.array([np.bincount(row, minlength=3) for row in codes])
    plans = sample_size.compute_plans(counts, np.ones(300), 0.05)
    widths = [plan.half_width_now for plan in plans if plan.half_width_now is not None]
    assert [plan.m for plan in plans] == [2, 3, 4, 5]
    assert len(widths) == 4
    assert widths == sorted(widths, reverse=True)
    current_estimate = fleiss.fleiss_kappa(counts, np.ones(300))
    half_interval = float(current_estimate.high - current_estimate.low) / 2
    assert widths[-1] == pytest.approx(half_interval)
    assert half_interval > stats.norm.ppf(0.975) * current_estimate.se
    cheapest = sample_size.find_cheapest_plan(plans)
    ratings = [plan.ratings for plan in plans if plan.ratings is not None]
    assert len(ratings) == 4
    assert cheapest and cheapest.ratings == min(ratings)
    # the expected error of two ratings an item equals that of two ratings sampled at random
    sampled_errors = []
    for _ in range(200):
        pair_counts = np.array(
            [np.bincount(rng.permutation(row)[:2], minlength=3) for row in codes]
        )
        sampled_errors.append(fleiss.fleiss_kappa(pair_counts, np.ones(300)).se)
    assert widths[0] == pytest.approx(stats.norm.ppf(0.975) * np.mean(sampled_errors), rel=0.01)


def test_no_plan_for_more_ratings_than_most_items_have():
    """Few items with many ratings say nothing of a study in which all items have so many."""
    patterns = [[2, 0], [1, 1], [0, 2], [9, 3], [1, 0]]
    plans = sample_size.compute_plans(patterns, [40, 10, 40, 10, 300], 0.05)
    assert [plan.m for plan in plans] == [2]
    plans = sample_size.compute_plans(patterns, [4, 1, 4, 90, 300], 0.05)
    assert [plan.m for plan in plans] == list(range(2, 13))


def test_no_plan_without_pairs():
    assert sample_size.compute_plans([[1, 0], [0, 1]], [5, 5], 0.1) == []
    assert sample_size.find_cheapest_plan([]) is None
    unanimous_plans = sample_size.compute_plans([[2, 0]], [5], 0.1)
    assert unanimous_plans[0].ratings is None
    assert sample_size.find_cheapest_plan(unanimous_plans) is None
