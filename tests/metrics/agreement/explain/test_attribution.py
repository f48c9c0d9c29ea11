"""Test attribution against a slow version: remove the ratings from the list and recompute."""

from fractions import Fraction

import numpy as np
import pytest

from metrics.agreement.counts import tally
from metrics.agreement.estimate import REASONS
from metrics.agreement.explain.attribution import TwoPeriods, compute_bias_shifts

WEIGHTS = {
    "none": lambda a, b, k: Fraction(int(a == b)),
    "linear": lambda a, b, k: 1 - Fraction(abs(a - b), max(k - 1, 1)),
    "quadratic": lambda a, b, k: 1 - Fraction(abs(a - b), max(k - 1, 1)) ** 2,
}


def simulate_ratings(seed):
    """Return rows (item, rater, code, period) and k; items have 0 to 5 ratings.

    Some seeds give few items or one category.
    """
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    rows = []
    for item in range(int(rng.integers(2, 25))):
        period = int(rng.integers(0, 2))
        for rater in rng.permutation(6)[: rng.integers(0, 6)]:
            rows.append((item * 7 + 3, int(rater) * 5, int(rng.integers(0, k)), period))
    rng.shuffle(rows)
    return [tuple(row) for row in rows], k


def compute_kappa_slowly(rows, weight, k):
    """Return Fleiss' kappa of rows in fractions; None where undefined."""
    items: dict[int, list[int]] = {}
    for item, _rater, code, _period in rows:
        items.setdefault(item, []).append(code)
    agreements = []
    for codes in items.values():
        pairs = [
            weight(a, b, k) for x, a in enumerate(codes) for y, b in enumerate(codes) if x != y
        ]
        if pairs:
            agreements.append(sum(pairs) / len(pairs))
    if not agreements:
        return None
    codes_of_all = [row[2] for row in rows]
    expected = sum(weight(a, b, k) for a in codes_of_all for b in codes_of_all) / Fraction(
        len(codes_of_all) ** 2
    )
    return (
        None if expected == 1 else (sum(agreements) / len(agreements) - expected) / (1 - expected)
    )


def compute_without_slowly(rows, is_removed, weight, k):
    """Return kappa of both periods and the numbers of removed ratings; `is_removed` selects the rows."""
    kappas, numbers = [], []
    for period in (0, 1):
        period_rows = [row for row in rows if row[3] == period]
        kappas.append(
            compute_kappa_slowly([row for row in period_rows if not is_removed(row)], weight, k)
        )
        numbers.append(sum(map(is_removed, period_rows)))
    return kappas, numbers


def build_periods(rows, k, name="none"):
    matrix = [[float(WEIGHTS[name](a, b, k)) for b in range(k)] for a in range(k)]
    item, rater, code, period = np.array(rows, np.int64).reshape(-1, 4).T
    return TwoPeriods.from_ratings(item, rater, code, period, k=k, weights=matrix)


def assert_same_as_slow(result, index, expected):
    kappas, numbers = expected
    for period in (0, 1):
        value, reason = result.kappa[index, period], REASONS[result.reason[index, period]]
        if kappas[period] is None:
            assert np.isnan(value)
            assert reason in ("no_pairable_items", "single_category")
        else:
            assert reason is None
            assert value == pytest.approx(float(kappas[period]), abs=1e-12)
    assert result.n_ratings[index].tolist() == numbers


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("seed", range(40))
def test_leave_one_out_equals_computing_without_the_part(seed, name):
    rows, k = simulate_ratings(seed)
    weight, periods = WEIGHTS[name], build_periods(rows, k, name)
    full_kappa = periods.compute_kappa()
    for period in (0, 1):
        expected = compute_kappa_slowly([row for row in rows if row[3] == period], weight, k)
        value = full_kappa.value[period]
        assert (
            np.isnan(value)
            if expected is None
            else value == pytest.approx(float(expected), abs=1e-12)
        )
    raters = periods.compute_without_each_rater()
    assert raters.keys.tolist() == sorted({row[1] for row in rows})
    for index, rater in enumerate(raters.keys):
        assert_same_as_slow(
            raters,
            index,
            compute_without_slowly(rows, lambda row, rater=rater: row[1] == rater, weight, k),
        )
    categories = periods.compute_without_each_category()
    for c in range(k):
        assert_same_as_slow(
            categories, c, compute_without_slowly(rows, lambda row, c=c: row[2] == c, weight, k)
        )
    groups = periods.compute_without_each_group(np.array([row[0] % 3 for row in rows], np.int64))
    for index, group in enumerate(groups.keys):
        assert_same_as_slow(
            groups,
            index,
            compute_without_slowly(rows, lambda row, group=group: row[0] % 3 == group, weight, k),
        )


def test_an_unused_category_explains_nothing():
    rows, k = simulate_ratings(7)
    periods = build_periods(rows, k + 1, "quadratic")
    kappas = periods.compute_kappa().value
    change = kappas[1] - kappas[0]
    assert periods.compute_without_each_category().compute_contributions(change)[
        k
    ] == pytest.approx(0, abs=1e-12)


def test_group_of_all_items_leaves_nothing_to_compute():
    rows, k = simulate_ratings(11)
    periods = build_periods(rows, k)
    without_all = periods.compute_without_each_group(np.zeros(len(rows), np.int64))
    assert np.isnan(without_all.kappa).all()
    assert {REASONS[code] for code in without_all.reason.ravel()} == {"no_pairable_items"}
    assert np.isnan(without_all.compute_contributions(0.1)).all()


def test_rater_without_peers_explains_only_the_chance_part():
    before = [(1, 1, 0, 0), (1, 2, 0, 0), (2, 1, 1, 0), (2, 2, 1, 0)]
    rows = [*before, (3, 9, 0, 1), (4, 1, 0, 1), (4, 2, 1, 1), (5, 1, 0, 1), (5, 2, 0, 1)]
    without_raters = build_periods(rows, 2).compute_without_each_rater()
    assert_same_as_slow(
        without_raters, 2, compute_without_slowly(rows, lambda row: row[1] == 9, WEIGHTS["none"], 2)
    )


def test_attribution_without_ratings_is_undefined():
    periods = build_periods([], 3)
    assert np.isnan(periods.compute_kappa().value).all()
    assert periods.compute_without_each_rater().keys.size == 0
    assert np.isnan(periods.compute_without_each_category().kappa).all()


def test_item_in_both_periods_raises_an_error():
    with pytest.raises(ValueError, match="one of the periods"):
        build_periods([(1, 1, 0, 0), (1, 2, 0, 1)], 2)


@pytest.mark.parametrize("values", [None, [0.0, 1.0, 5.0]])
def test_shifts_are_mean_differences_of_shared_items(values):
    rng = np.random.default_rng(3)
    rows = [
        (item, rater, int(rng.integers(0, 3)), item % 2)
        for item in range(60)
        for rater in rng.permutation(4)[:3]
    ]
    tables = []
    for period in (0, 1):
        item, rater, code, _period = np.array([row for row in rows if row[3] == period]).T
        tables.append(tally.count_pair_tables(item, rater, code, 3))
    shift = compute_bias_shifts(*tables, values=values, least=10)
    assert shift.rater_a.size
    number_by_item_rater = {(row[0], row[1]): (values or [1, 2, 3])[row[2]] for row in rows}
    for index, (a, b) in enumerate(zip(shift.rater_a, shift.rater_b, strict=True)):
        for period in (0, 1):
            shared_items = [
                i
                for i in range(period, 60, 2)
                if (i, a) in number_by_item_rater and (i, b) in number_by_item_rater
            ]
            differences = [
                number_by_item_rater[i, a] - number_by_item_rater[i, b] for i in shared_items
            ]
            assert shift.n_items[index, period] == len(shared_items) >= 10
            assert shift.bias[index, period] == pytest.approx(np.mean(differences))
            assert shift.se[index, period] == pytest.approx(
                np.std(differences, ddof=1) / len(shared_items) ** 0.5
            )
