"""Test intraclass correlations of incomplete designs, against complete data and slow sums."""

import numpy as np
import pytest
from scipy import linalg, optimize

from metrics.agreement import report
from metrics.agreement.coefficients.intraclass import icc, incomplete_icc

# Shrout & Fleiss 1979, table 2.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
)
# Twelve items of two of four raters: rater, value and rater, value.
TWO_OF_FOUR = [
    ("A", 4, "B", 4), ("A", 7, "C", 6), ("A", 4, "D", 5), ("B", 1, "C", 1), ("B", 3, "D", 2), ("C", 4, "D", 4),
    ("A", 1, "B", 1), ("A", 8, "C", 8), ("A", 7, "D", 7), ("B", 4, "C", 5), ("B", 9, "D", 9), ("C", 2, "D", 2),
]  # fmt: skip


def list_columns(table):
    """Return item, rater and value (M,) of a table with NaN for missing."""
    item, rater = np.nonzero(~np.isnan(table))
    return item, rater, table[item, rater]


def build_two_of_four() -> np.ndarray:
    codes = np.full((len(TWO_OF_FOUR), 4), -1)
    for row, (first, value, second, other_value) in enumerate(TWO_OF_FOUR):
        codes[row, "ABCD".index(first)] = value - 1
        codes[row, "ABCD".index(second)] = other_value - 1
    return codes


def compute_one_way_slowly(groups):
    """Return ICC(1,1) from a list of values an item."""
    n, total = len(groups), sum(map(len, groups))
    mean = sum(map(sum, groups)) / total
    between = sum(len(group) * (np.mean(group) - mean) ** 2 for group in groups) / (n - 1)
    within = sum(float(((np.array(group) - np.mean(group)) ** 2).sum()) for group in groups)
    within /= total - n
    m0 = (total - sum(len(group) ** 2 for group in groups) / total) / (n - 1)
    return (between - within) / (between + (m0 - 1) * within)


def test_complete_data_give_the_classical_forms():
    """All five of Shrout and Fleiss: ICC(Q,k) is ICC(C,k) where all items have the same raters."""
    columns = list_columns(SHROUT_FLEISS.astype(float))
    expected = icc.icc(SHROUT_FLEISS)
    result = incomplete_icc.compute_incomplete_icc(*columns)
    assert result.agreement.value == pytest.approx(expected["icc2"].value)
    assert result.consistency.value == pytest.approx(expected["icc3"].value)
    assert result.agreement_mean.value == pytest.approx(expected["icc2k"].value)
    assert result.shared_mean.value == pytest.approx(expected["icc3k"].value)
    assert (result.k, result.q) == (4, pytest.approx(0))
    one_way = incomplete_icc.icc_one_way(columns[0], columns[2])
    for part in ("value", "F", "p", "ci_low", "ci_high"):
        assert getattr(one_way, part) == pytest.approx(getattr(expected["icc1"], part)), part


def test_rater_factor_equals_the_sum_over_pairs_of_items():
    rng = np.random.default_rng(1)
    table = np.where(rng.random((15, 6)) < 0.5, rng.normal(size=(15, 6)), np.nan)
    table[:, 0] = rng.normal(size=15)  # every item has a rating
    rated = ~np.isnan(table)
    m, n = rated.sum(axis=1), len(table)
    shared = sum(
        (rated[i] & rated[j]).sum() / (m[i] * m[j]) for i in range(n) for j in range(n) if i != j
    )
    result = incomplete_icc.compute_incomplete_icc(*list_columns(table))
    assert result.k == pytest.approx(n / (1 / m).sum())
    assert result.k is not None
    assert result.q == pytest.approx(1 / result.k - shared / (n * (n - 1)))


def test_raters_of_one_item_each_make_the_mean_that_of_agreement():
    """Let items hardly share raters: q is nearly 1 / k, and ICC(Q,k) nearly ICC(A,k)."""
    rng = np.random.default_rng(2)
    item = np.repeat(np.arange(200), 3)
    rater = rng.permutation(np.repeat(np.arange(200), 3))
    keys = np.unique(item * 1000 + rater)
    item, rater = keys // 1000, keys % 1000
    value = rng.normal(size=200)[item] + rng.normal(size=200)[rater] + rng.normal(size=keys.size)
    result = incomplete_icc.compute_incomplete_icc(item, rater, value)
    assert result.shared_mean.value == pytest.approx(result.agreement_mean.value, abs=0.005)


def test_components_of_many_incomplete_ratings_are_the_true_reliabilities():
    """Variances 4, 1 and 1: ICC(A,1) 0.667 and ICC(C,1) 0.8."""
    rng = np.random.default_rng(3)
    values = 2 * rng.normal(size=(3000, 1)) + rng.normal(size=(1, 60)) + rng.normal(size=(3000, 60))
    table = np.where(rng.random((3000, 60)) < 0.1, values, np.nan)
    result = incomplete_icc.compute_incomplete_icc(*list_columns(table))
    assert result.agreement.value == pytest.approx(0.667, abs=0.04)
    assert result.consistency.value == pytest.approx(0.8, abs=0.02)


def test_report_has_icc1_where_every_item_has_other_raters():
    """Two of four raters an item: 0.9678 by a one-way analysis of variance."""
    values = list(range(1, 11))
    result = report(build_two_of_four(), categories=10, values=values)
    groups = [[first, second] for _, first, _, second in TWO_OF_FOUR]
    assert result["icc1"] == pytest.approx(compute_one_way_slowly(groups))
    assert result["icc1.ci_low"] < result["icc1"] < result["icc1.ci_high"]
    assert result["icc_n_items"] == 0
    assert result["icc2.reason"] == result["icc1k.reason"] == "needs_complete_items"
    assert 0 < result["iccqk_incomplete"] <= 1


def test_icc1_takes_unequal_numbers_of_ratings():
    groups = [[1, 2, 1], [4, 5], [9], [3, 3, 4, 3], [7, 8]]
    item = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    one_way = incomplete_icc.icc_one_way(item, np.concatenate(groups))
    assert one_way.value == pytest.approx(compute_one_way_slowly(groups))
    assert (one_way.n_items, one_way.n_ratings) == (5, 12)


@pytest.mark.parametrize(
    ("item", "value", "reason"),
    [
        ([0, 0], [1, 2], "too_few_items"),
        ([0, 1, 2], [1, 2, 3], "no_pairable_items"),
        ([0, 0, 1, 1], [5, 5, 5, 5], "zero_variance"),
    ],
)
def test_undefined_icc1_has_a_reason(item, value, reason):
    assert incomplete_icc.icc_one_way(item, value).reason == reason


def test_full_agreement_is_one_without_f():
    one_way = incomplete_icc.icc_one_way([0, 0, 1, 1, 1], [0.1, 0.1, 0.7, 0.7, 0.7])
    assert (one_way.value, one_way.F, one_way.p) == (1, None, 0)
    assert (one_way.ci_low, one_way.ci_high) == (1, 1)
    assert one_way.F_reason == "zero_error_variance"


def test_raters_who_share_nothing_have_no_components():
    result = incomplete_icc.compute_incomplete_icc([0, 1], [0, 1], [1, 2])
    assert (result.agreement.value, result.reason) == (None, "needs_crossed_ratings")


def simulate_incomplete(rng, n=50, raters=10, m=3, variances=(0.7, 0.15, 0.15)):
    """Return item, rater and value (M,) of m random raters an item."""
    item = np.repeat(np.arange(n), m)
    rater = np.concatenate([rng.choice(raters, m, replace=False) for _ in range(n)])
    effects = [np.sqrt(variance) * rng.normal(size=n * m) for variance in variances]
    return item, rater, effects[0][item] + effects[1][rater] + effects[2]


def test_intervals_of_complete_data_are_the_f_intervals():
    """Compare ICC(C,1) and ICC(C,k): the same distribution, up to the draws."""
    rng = np.random.default_rng(4)
    table = 2 * rng.normal(size=(40, 1)) + rng.normal(size=(1, 5)) + rng.normal(size=(40, 5))
    result = incomplete_icc.compute_incomplete_icc(*list_columns(table))
    classical = icc.icc(table)
    for name, own in (("icc3", result.consistency), ("icc3k", result.shared_mean)):
        assert own.ci_low == pytest.approx(classical[name].ci_low, abs=0.01), name
        assert own.ci_high == pytest.approx(classical[name].ci_high, abs=0.01), name


def test_intervals_of_incomplete_data_hold_the_true_values():
    """Of 100 studies 88 or more, which 95% intervals miss with a probability of 0.004."""
    rng = np.random.default_rng(5)
    covered = np.zeros(2)
    for _study in range(100):
        result = incomplete_icc.compute_incomplete_icc(*simulate_incomplete(rng))
        for index, (own, true) in enumerate(
            ((result.agreement, 0.7), (result.consistency, 14 / 17))
        ):
            assert own.ci_low is not None
            assert own.ci_high is not None
            assert own.value is not None
            assert own.ci_low <= own.value <= own.ci_high
            covered[index] += own.ci_low <= true <= own.ci_high
    assert covered.min() >= 88


def test_order_and_names_of_ratings_do_not_matter():
    item, rater, value = simulate_incomplete(np.random.default_rng(6))
    expected = incomplete_icc.compute_incomplete_icc(item, rater, value)
    order = np.random.default_rng(7).permutation(item.size)
    result = incomplete_icc.compute_incomplete_icc(
        item[order] * 3 + 5, 90 - rater[order], value[order]
    )
    for name in ("agreement", "consistency", "agreement_mean", "shared_mean"):
        for part in ("value", "ci_low", "ci_high"):
            own, other = (getattr(getattr(icc_, name), part) for icc_ in (result, expected))
            assert own == pytest.approx(other, abs=1e-6), (name, part)


def test_report_has_intervals_of_incomplete_designs():
    result = report(build_two_of_four(), categories=10, values=list(range(1, 11)))
    for name in ("icc2_incomplete", "icc3_incomplete", "icc2k_incomplete", "iccqk_incomplete"):
        assert result[f"{name}.ci_low"] < result[name] <= result[f"{name}.ci_high"] <= 1, name
    undefined = report([[0, -1], [-1, 1]], categories=2)
    assert undefined["icc2_incomplete.ci_low"] is None
    assert undefined["icc2_incomplete.ci_low.reason"] == "needs_crossed_ratings"


def test_teams_without_common_raters_have_components():
    """Two teams of raters on other items: differences between teams count as those of items."""
    rng = np.random.default_rng(8)
    item, rater, value = simulate_incomplete(rng, n=400, raters=6)
    second = simulate_incomplete(rng, n=400, raters=6)
    result = incomplete_icc.compute_incomplete_icc(
        np.concatenate([item, second[0] + 400]),
        np.concatenate([rater, second[1] + 6]),
        np.concatenate([value, second[2] + 3]),
    )
    assert result.consistency.value == pytest.approx(14 / 17, abs=0.04)


def fit_reml_slowly(item, rater, value):
    """Return the variances of items, raters and rest that maximize the restricted likelihood.

    The whole covariance matrix of the ratings, by a search without derivatives.
    """
    same_item = (item[:, None] == item[None, :]).astype(float)
    same_rater = (rater[:, None] == rater[None, :]).astype(float)

    def compute_loss(logs):
        of_items, of_raters, rest = np.exp(logs)
        covariance = of_items * same_item + of_raters * same_rater + rest * np.eye(item.size)
        factor = np.linalg.cholesky(covariance)
        right_sides = np.column_stack([np.ones(item.size), value])
        ones, residual = linalg.solve_triangular(factor, right_sides, lower=True).T
        residual = residual - ones * (ones @ residual) / (ones @ ones)
        return np.log(np.diag(factor)).sum() + 0.5 * (np.log(ones @ ones) + residual @ residual)

    options = {"xatol": 1e-4, "fatol": 1e-7}
    start = np.log(np.full(3, value.var() / 3))
    return np.exp(optimize.minimize(compute_loss, start, method="Nelder-Mead", options=options).x)


def compute_correlations(variances, k, q):
    of_items, of_raters, rest = variances
    errors = of_raters + rest, rest, (of_raters + rest) / k, q * of_raters + rest / k
    return [of_items / (of_items + error) for error in errors]


def test_restricted_likelihood_gives_the_same_correlations():
    """Exactly where all raters rated all items, and nearly with 3 of 10 ratings an item."""
    rng = np.random.default_rng(3)
    complete = list_columns(rng.normal(size=(12, 1)) + rng.normal(size=(12, 4)) / 2 + np.arange(4))
    for columns, tolerance in ((complete, 1e-3), (simulate_incomplete(rng, n=60), 0.02)):
        item, rater, value = (np.asarray(column) for column in columns)
        result = incomplete_icc.compute_incomplete_icc(item, rater, value)
        expected = compute_correlations(fit_reml_slowly(item, rater, value), result.k, result.q)
        values = [icc.value for icc in result.by_name().values()]
        assert values == pytest.approx(expected, abs=tolerance)
