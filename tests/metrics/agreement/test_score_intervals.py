"""Test the interval shown: against enumerated urns, exact coverage, Wilson's limits and its range."""

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from metrics.agreement import estimate_coefficient, pattern_coefficients, report
from metrics.agreement.coefficients import cohen, fleiss, groups
from metrics.agreement.coefficients.cohen import PairKappas, mean_kappa_weighted_by_items
from metrics.agreement.coefficients.groups import between_group_kappa
from metrics.agreement.counts.common_correlation import (
    CommonCorrelationModel,
    Margins,
    compute_weights_across_groups,
    compute_weights_within_group,
)
from metrics.agreement.counts.score_intervals import ScoreLimits
from metrics.agreement.counts.tally import count_peer_tables
from metrics.agreement.estimate import NORMAL_QUANTILE, t_quantile
from metrics.agreement.weights import build_weightings

PAIRS = np.array([[2, 0], [1, 1], [0, 2]])
TRIPLES = np.array([[3, 0], [2, 1], [1, 2], [0, 3]])


def compute_urn_probability(codes: tuple[int, ...], p: np.ndarray, rho: float) -> float:
    """Return the probability of a sequence of draws from the urn, one draw after the other."""
    probability = 1.0
    for index, code in enumerate(codes):
        earlier = codes[:index].count(code)
        probability *= ((1 - rho) * p[code] + rho * earlier) / (1 - rho + rho * index)
    return probability


def compute_enumerated_variance(p, w, h, rho, x, groups):
    """Return Var(A - x L) of one item, by listing every sequence of its ratings.

    groups: the numbers of ratings of two groups compared with each other, or one number.
    """
    mean = mean_square = 0.0
    for codes in itertools.product(range(len(p)), repeat=sum(groups)):
        if len(groups) == 1:
            pairs = list(itertools.permutations(codes, 2))
            slope = np.mean([h[code] for code in codes])
        else:
            first, second = codes[: groups[0]], codes[groups[0] :]
            pairs = list(itertools.product(first, second))
            slope = (np.mean([h[code] for code in first]) + np.mean([h[c] for c in second])) / 2
        f = np.mean([w[pair] for pair in pairs]) - x * slope
        probability = compute_urn_probability(codes, p, rho)
        mean, mean_square = mean + probability * f, mean_square + probability * f**2
    return mean_square - mean**2


@pytest.mark.parametrize("groups", [(2,), (3,), (4,), (5,), (1, 1), (1, 3), (2, 3)])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("weighting", ["none", "linear"])
def test_variance_is_that_of_the_enumerated_urn(groups, rho, weighting):
    p, w = np.array([0.6, 0.3, 0.1]), build_weightings(3)[weighting]
    expected, h = float(p @ w @ p), 2 * w @ p
    if len(groups) == 1:
        ones = np.ones(1)
        pairs = compute_weights_within_group(ones * groups[0], ones, ones, ones)
    else:
        pairs = compute_weights_across_groups(
            np.array(groups[0]), np.array(groups[1]), np.array(1.0)
        )
    model = CommonCorrelationModel.from_margins(pairs, w, Margins(p, np.array(expected), h))
    # With these margins kappa is the correlation of two ratings.
    variance = compute_enumerated_variance(p, w, h, rho, 1 - rho, groups) / (1 - expected) ** 2
    assert model.compute_variance(np.array([rho]))[0] == pytest.approx(variance, abs=1e-12)


@pytest.mark.parametrize("weighting", ["none", "linear", "quadratic"])
@pytest.mark.parametrize("expected", [0.0, 0.3, 0.45, 0.6])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_variance_has_no_jump_where_the_model_changes(weighting, expected, size):
    ones = np.ones(1)
    w, p = build_weightings(4)[weighting], np.array([0.85, 0.05, 0.05, 0.05])
    model = CommonCorrelationModel.from_margins(
        compute_weights_within_group(ones * size, ones, ones, ones),
        w,
        Margins(p, np.array(expected), np.zeros(4)),
    )
    candidates = np.linspace(-1, 1, 20_001)
    variance = model.compute_variance(candidates)
    assert np.abs(np.diff(variance)).max() < 1e-3


def test_rounding_does_not_choose_between_two_limits():
    # Here 0 is one of the points where the solver looks first, and P_e is where its model changes.
    counts = [[3, 0, 0, 0], [2, 0, 1, 0], [2, 0, 0, 1], [0, 3, 0, 0], [0, 0, 1, 1]]
    name = "brennan_prediger_linear"
    alone = estimate_coefficient(name, counts, [3, 1, 1, 1, 2])
    batch = estimate_coefficient(name, counts[::-1], [[0, 0, 0, 0, 1], [2, 1, 1, 1, 3]])[1]
    assert (float(batch.low), float(batch.high)) == pytest.approx(
        (float(alone.low), float(alone.high)), abs=1e-9
    )
    for nudge in (-1e-9, 1e-9):
        nudged = estimate_coefficient(name, counts, [3 + nudge, 1, 1, 1, 2])
        assert float(nudged.low) == pytest.approx(float(alone.low), abs=1e-6)


def list_two_rater_studies(n: int, prevalence: float, kappa: float):
    """Return every study (S, 3) of n items of two ratings, and its probability (S,)."""
    both = prevalence**2 + kappa * prevalence * (1 - prevalence)
    mixed = 2 * (1 - kappa) * prevalence * (1 - prevalence)
    studies = np.array([(n - a - b, a, b) for a in range(n + 1) for b in range(n + 1 - a)])
    logs = special.gammaln(n + 1) - special.gammaln(studies + 1).sum(axis=1)
    return studies, np.exp(logs + studies @ np.log([1 - both - mixed, mixed, both]))


@pytest.mark.parametrize("name", ["fleiss_kappa", "krippendorff_alpha_nominal"])
@pytest.mark.parametrize("n", [20, 50])
@pytest.mark.parametrize("prevalence", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("kappa", [0.0, 0.4, 0.8, 0.95])
def test_exact_coverage_of_two_ratings_an_item(name, n, prevalence, kappa):
    studies, probability = list_two_rater_studies(n, prevalence, kappa)
    estimate = estimate_coefficient(name, PAIRS, studies)
    defined = np.isfinite(estimate.value)
    weight = probability[defined] / probability[defined].sum()
    low, high = estimate.low[defined], estimate.high[defined]
    assert weight[(low <= kappa) & (kappa <= high)].sum() >= 0.85
    assert weight[low > kappa].sum() <= 0.12
    assert weight[high < kappa].sum() <= 0.12
    assert (high - low).min() > 0.01


def compute_gamma_limit(value, variance):
    """Return 1 - the 5% quantile of a gamma distribution with mean 1 - value and this variance."""
    if value == 1:
        return 1.0
    return 1 - stats.gamma.ppf(0.05, (1 - value) ** 2 / variance, scale=variance / (1 - value))


def test_percent_agreement_of_two_raters_has_wilson_limits():
    n = 20
    for agreed in range(n + 1):
        estimate = estimate_coefficient("percent_agreement", PAIRS, [agreed, n - agreed, 0])
        share = agreed / n
        # Below the agreement of independent ratings with these margins the model is no binomial.
        mixed = (n - agreed) / n / 2
        independent = mixed**2 + (1 - mixed) ** 2
        if share < independent:
            continue
        # The estimated standard error has the divisor n - 1, and t a larger quantile than 1.96.
        quantile = (
            float(t_quantile(n - 1)) * np.sqrt(n / (n - 1)) if agreed < n else NORMAL_QUANTILE
        )
        shrinkage = quantile**2 / n
        centre = (share + shrinkage / 2) / (1 + shrinkage)
        half = quantile / (1 + shrinkage) * np.sqrt(share * (1 - share) / n + shrinkage / 4 / n)
        variance = quantile**2 * share * (1 - share) / n / NORMAL_QUANTILE**2
        assert float(estimate.high) == pytest.approx(
            max(min(centre + half, 1), compute_gamma_limit(share, variance)), abs=1e-5
        )
        if centre - half >= independent or agreed == n:
            assert float(estimate.low) == pytest.approx(centre - half, abs=1e-5)


@pytest.mark.parametrize("name", ["percent_agreement", "gwet_ac1", "fleiss_kappa"])
@pytest.mark.parametrize("n", [10, 20])
@pytest.mark.parametrize("prevalence", [0.05, 0.5])
def test_few_differing_items_of_three_ratings_seldom_exclude_the_truth(name, n, prevalence):
    """One item of 20 differs in 13% of studies whose kappa is 0.95 and whose share is 0.05."""
    kappa, p = 0.95, np.array([1 - prevalence, prevalence])
    codes = ((0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1))
    cells = [compute_urn_probability(row, p, kappa) for row in codes] * np.array([1, 3, 3, 1])
    studies = np.array(
        [(n - a - b - c, a, b, c) for a in range(6) for b in range(6) for c in range(n + 1 - a - b)]
    )
    logs = special.gammaln(n + 1) - special.gammaln(studies + 1).sum(axis=1)
    probability = np.exp(logs + studies @ np.log(cells))
    assert probability.sum() > 0.999
    agreement, chance = kappa + (1 - kappa) * (p @ p), 2 * np.prod(p)
    truth = {
        "percent_agreement": agreement,
        "gwet_ac1": (agreement - chance) / (1 - chance),
        "fleiss_kappa": kappa,
    }[name]
    estimate = estimate_coefficient(name, TRIPLES, studies)
    defined = np.isfinite(estimate.value)
    weight = probability[defined] / probability[defined].sum()
    limit = 0.12 if name == "fleiss_kappa" else 0.06
    assert weight[estimate.high[defined] < truth].sum() <= limit
    assert weight[estimate.low[defined] > truth].sum() <= limit


def find_first_crossing(numbers, model, end):
    """Return where the distance from the value exceeds its standard errors first, by small steps."""
    value, _lowest, margin, extra = (float(number) for number in numbers)
    z_square = NORMAL_QUANTILE**2

    def compute_variance(candidate):
        return float(model.compute_variance(np.array(candidate))) + extra

    variance = z_square * compute_variance(value)
    dispersion = max(1.0, margin**2 / variance) if variance > 1e-12 else 1.0

    def exceed(candidate):
        return (candidate - value) ** 2 - z_square * dispersion * compute_variance(candidate)

    inside = value
    for step in np.linspace(0, 1, 1001)[1:]:
        outside = value + step * (end - value)
        if exceed(outside) > 0:
            break
        inside = outside
    else:
        return end
    for _round in range(40):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if exceed(middle) > 0 else (middle, outside)
    return inside


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 30), min_size=8, max_size=8),
    st.sampled_from(["fleiss_kappa", "fleiss_kappa_linear", "gwet_ac1", "percent_agreement"]),
)
@example([20, 0, 0, 0, 0, 0, 0, 0], "gwet_ac1")
@example([0, 0, 30, 0, 0, 0, 0, 0], "fleiss_kappa")
def test_limits_are_those_found_by_small_steps(numbers, name):
    counts = [
        [3, 0, 0],
        [2, 1, 0],
        [1, 1, 1],
        [0, 3, 0],
        [0, 0, 3],
        [0, 1, 1],
        [1, 0, 0],
        [0, 0, 2],
    ]
    limits = estimate_coefficient(name, counts, numbers).limits
    assert isinstance(limits, ScoreLimits)
    value, lowest, margin = limits.numbers[:3]
    if not np.isfinite(value + margin):
        return
    low, high = limits.arrays
    assert float(low) == pytest.approx(
        find_first_crossing(limits.numbers, limits.model, float(lowest)), abs=1e-5
    )
    variance = max(float(limits.model.compute_variance(value)), (margin / NORMAL_QUANTILE) ** 2)
    crossing = find_first_crossing(limits.numbers, limits.model, 1.0)
    gamma_limit = compute_gamma_limit(float(value), variance)
    assert float(high) == pytest.approx(max(crossing, gamma_limit), abs=1e-5)


def test_items_that_differ_more_than_the_model_widen_the_interval():
    # Half of the items are clear to all five raters, half are split as evenly as can be.
    counts = [[5, 0], [3, 2], [2, 3], [0, 5]]
    estimate = estimate_coefficient("fleiss_kappa", counts, [20, 20, 20, 20])
    margin = t_quantile(79) * estimate.se
    assert estimate.high - estimate.value == pytest.approx(margin, rel=0.1)
    assert estimate.value - estimate.low == pytest.approx(margin, rel=0.1)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 30), min_size=10, max_size=10),
    st.sampled_from(["nominal", "ordinal"]),
)
def test_limits_have_a_width_and_lie_in_the_range_of_the_coefficient(numbers, scale):
    counts = [[3, 0, 0], [2, 1, 0], [1, 1, 1], [0, 3, 0], [0, 0, 3], [0, 2, 1]]
    counts += [[2, 0, 0], [1, 1, 0], [0, 0, 2], [1, 0, 0]]
    for name, estimate in pattern_coefficients(counts, numbers, scale=scale).items():
        if name == "krippendorff_alpha_ordinal" or not np.isfinite(estimate.value):
            continue
        if sum(numbers[:9]) < 2:
            assert np.isnan(estimate.low) and np.isnan(estimate.high)
            continue
        assert estimate.low <= estimate.value <= estimate.high <= 1, name
        assert estimate.low < estimate.high, name
        floor = 0 if name.startswith("percent") else -sum(numbers) if "fleiss" in name else -1
        assert estimate.low >= floor - 1e-9, name


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_limits_solved_together_are_those_of_one_coefficient(numbers):
    together = pattern_coefficients(TRIPLES, numbers, scale="nominal")
    for name, estimate in together.items():
        alone = estimate_coefficient(name, TRIPLES, numbers)
        assert alone.low == pytest.approx(float(estimate.low), abs=1e-9, nan_ok=True)
        assert alone.high == pytest.approx(float(estimate.high), abs=1e-9, nan_ok=True)


def test_full_agreement_of_few_items_is_no_certainty():
    estimate = fleiss.fleiss_kappa(PAIRS, [39, 0, 1])
    # The profile likelihood of the beta-binomial ends at 0.244.
    assert estimate.value == 1
    assert 0.1 < estimate.low <= 0.244
    assert estimate.high == 1


def test_single_ratings_do_not_widen_the_interval_of_percent_agreement():
    counts = [[2, 0], [1, 1], [0, 2], [1, 0], [0, 1]]
    without = estimate_coefficient("percent_agreement", counts, [40, 20, 20, 0, 0])
    single = estimate_coefficient("percent_agreement", counts, [40, 20, 20, 300, 300])
    assert single.se > 1.8 * without.se  # irrCAC's formula takes n2 as fixed
    assert (float(single.low), float(single.high)) == pytest.approx(
        (float(without.low), float(without.high)), abs=0.01
    )


def test_two_items_have_no_limits_outside_the_possible():
    for name, lowest in (
        ("percent_agreement", 0),
        ("gwet_ac1", -1),
        ("fleiss_kappa", -1),
        ("krippendorff_alpha_nominal", -0.5),
    ):
        estimate = estimate_coefficient(name, PAIRS, [1, 1, 0])
        assert lowest - 1e-9 <= estimate.low < estimate.value < estimate.high <= 1
        assert estimate.ci_low < lowest  # the published formula


def test_constant_rater_has_no_interval():
    tables = np.array([[[0, 0], [4, 1]], [[3, 1], [2, 4]]])
    estimate = cohen.kappa(tables)
    assert np.isnan(estimate.low[0]) and np.isnan(estimate.high[0])
    assert estimate.low[1] < estimate.value[1] < estimate.high[1]
    result = report([[1, 0], [1, 0], [1, 0], [1, 0], [1, 1]], 2)
    assert result["cohen_kappa.low"] is None
    assert result["cohen_kappa.low.reason"] == "single_category"
    assert result["conger_kappa.low.reason"] == "single_category"


def test_limits_lie_1_96_standard_errors_away_or_t_where_raters_are_few():
    """Items tell their own error well enough, three raters do not."""
    of_items = fleiss.fleiss_kappa(TRIPLES, [2, 3, 3, 2])
    assert isinstance(of_items.limits, ScoreLimits)
    assert float(of_items.limits.numbers[2]) == pytest.approx(NORMAL_QUANTILE * of_items.se)
    pairs = PairKappas(
        np.array([0, 0, 1]), np.array([1, 2, 2]), np.full(3, 10), np.array([0.8, 0.2, 0.4])
    )
    of_raters, _n_pairs = mean_kappa_weighted_by_items(pairs, TRIPLES, [2, 3, 3, 2])
    assert of_raters.df < 9
    assert isinstance(of_raters.limits, ScoreLimits)
    margin = float(t_quantile(of_raters.df)) * of_raters.se
    assert float(of_raters.limits.numbers[2]) == pytest.approx(margin)


@pytest.mark.parametrize("constant", ["rater", "others"])
def test_constant_side_of_several_raters_has_no_interval(constant):
    """Kappa of the rater and the others is 0 whatever the other side answers."""
    n = 12
    varying = np.arange(n) % 3 == 0
    same = np.zeros(n, bool)
    own, others = (same, varying) if constant == "rater" else (varying, same)
    codes = np.column_stack([own, others, others]).astype(int)
    counts = count_peer_tables(
        np.repeat(np.arange(n), 3), np.tile(np.arange(3), n), codes.ravel(), 2
    )
    estimate = groups.peer_kappa(counts.tables, counts.moments, counts.n_items)[0]
    sides = [np.column_stack([1 - side, side]) for side in (own + 0, others + 0)]
    between = between_group_kappa(sides[0], 2 * sides[1], np.ones(n))
    for kappa in (estimate, between):
        assert float(kappa.value) == 0
        assert np.isnan(kappa.low) and np.isnan(kappa.high)
    ac1 = between_group_kappa(sides[0], 2 * sides[1], np.ones(n), chance="gwet")
    assert ac1.low < ac1.value < ac1.high


def test_report_has_the_published_and_the_shown_interval():
    codes = np.array([[0, 0, 0]] * 12 + [[1, 1, 1]] * 3 + [[0, 1, 1]] * 2)
    result = report(codes, 2)
    estimate = fleiss.fleiss_kappa(TRIPLES, [12, 0, 2, 3])
    margin = float(t_quantile(16) * estimate.se)
    assert result["fleiss_kappa.ci_low"] == pytest.approx(float(estimate.value) - margin)
    assert result["fleiss_kappa.ci_high"] == pytest.approx(min(float(estimate.value) + margin, 1))
    assert result["fleiss_kappa.low"] == pytest.approx(float(estimate.low))
    assert result["fleiss_kappa.low"] < result["fleiss_kappa.ci_low"]


def test_estimate_coefficient_takes_weights_and_names():
    counts = [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 0, 2]]
    linear = build_weightings(3)["linear"]
    by_name = estimate_coefficient("fleiss_kappa_linear", counts, [9, 5, 2, 8])
    by_matrix = estimate_coefficient("fleiss_kappa", counts, [9, 5, 2, 8], linear)
    assert (float(by_name.value), float(by_name.low)) == (
        float(by_matrix.value),
        float(by_matrix.low),
    )
    with pytest.raises(ValueError, match="unknown coefficient 'kappa'; one of percent_agreement"):
        estimate_coefficient("kappa", counts, [1, 1, 1, 1])


def test_probabilities_of_the_enumeration_add_up():
    studies, probability = list_two_rater_studies(20, 0.2, 0.4)
    assert len(studies) == comb(22, 2)
    assert probability.sum() == pytest.approx(1)
