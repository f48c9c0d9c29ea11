"""Attribution against what is obvious and slow: take the ratings out of the list and compute
everything anew."""

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


def random_ratings(seed):
    """Rows (item, rater, code, period), k; items with 0 to 5 ratings; sometimes few items,
    sometimes one category."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    rows = []
    for item in range(int(rng.integers(2, 25))):
        period = int(rng.integers(0, 2))
        for rater in rng.permutation(6)[: rng.integers(0, 6)]:
            rows.append((item * 7 + 3, int(rater) * 5, int(rng.integers(0, k)), period))
    rng.shuffle(rows)
    return [tuple(row) for row in rows], k


def slow_kappa(rows, weight, k):
    """Fleiss' kappa of rows in fractions; None where undefined."""
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
    every = [row[2] for row in rows]
    expected = sum(weight(a, b, k) for a in every for b in every) / Fraction(len(every) ** 2)
    return (
        None if expected == 1 else (sum(agreements) / len(agreements) - expected) / (1 - expected)
    )


def slow_without(rows, gone, weight, k):
    """kappa of both periods and the ratings taken out, where ``gone`` says which rows go."""
    kappas, numbers = [], []
    for period in (0, 1):
        mine = [row for row in rows if row[3] == period]
        kappas.append(slow_kappa([row for row in mine if not gone(row)], weight, k))
        numbers.append(sum(map(gone, mine)))
    return kappas, numbers


def fast(rows, k, name="none"):
    matrix = [[float(WEIGHTS[name](a, b, k)) for b in range(k)] for a in range(k)]
    item, rater, code, period = np.array(rows, np.int64).reshape(-1, 4).T
    return TwoPeriods.from_ratings(item, rater, code, period, k=k, weights=matrix)


def check(found, index, slow):
    kappas, numbers = slow
    for period in (0, 1):
        value, reason = found.kappa[index, period], REASONS[found.reason[index, period]]
        if kappas[period] is None:
            assert np.isnan(value)
            assert reason in ("no_pairable_items", "single_category")
        else:
            assert reason is None
            assert value == pytest.approx(float(kappas[period]), abs=1e-12)
    assert found.n_ratings[index].tolist() == numbers


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("seed", range(40))
def test_leave_one_out_is_computing_without_it(seed, name):
    rows, k = random_ratings(seed)
    weight, both = WEIGHTS[name], fast(rows, k, name)
    whole = both.kappa()
    for period in (0, 1):
        expected = slow_kappa([row for row in rows if row[3] == period], weight, k)
        value = whole.value[period]
        assert (
            np.isnan(value)
            if expected is None
            else value == pytest.approx(float(expected), abs=1e-12)
        )
    raters = both.without_raters()
    assert raters.keys.tolist() == sorted({row[1] for row in rows})
    for index, rater in enumerate(raters.keys):
        check(
            raters, index, slow_without(rows, lambda row, rater=rater: row[1] == rater, weight, k)
        )
    categories = both.without_categories()
    for c in range(k):
        check(categories, c, slow_without(rows, lambda row, c=c: row[2] == c, weight, k))
    groups = both.without_groups(np.array([row[0] % 3 for row in rows], np.int64))
    for index, group in enumerate(groups.keys):
        check(
            groups,
            index,
            slow_without(rows, lambda row, group=group: row[0] % 3 == group, weight, k),
        )


def test_an_unused_category_explains_nothing():
    rows, k = random_ratings(7)
    both = fast(rows, k + 1, "quadratic")
    whole = both.kappa().value
    move = whole[1] - whole[0]
    assert both.without_categories().contributions(move)[k] == pytest.approx(0, abs=1e-12)


def test_a_group_without_items_in_either_period_changes_nothing_and_one_of_all_leaves_nothing():
    rows, k = random_ratings(11)
    both = fast(rows, k)
    all_of_them = both.without_groups(np.zeros(len(rows), np.int64))
    assert np.isnan(all_of_them.kappa).all()
    assert {REASONS[code] for code in all_of_them.reason.ravel()} == {"no_pairable_items"}
    assert np.isnan(all_of_them.contributions(0.1)).all()


def test_a_rater_whose_items_have_no_other_rating_explains_only_the_chance_part():
    before = [(1, 1, 0, 0), (1, 2, 0, 0), (2, 1, 1, 0), (2, 2, 1, 0)]
    rows = [*before, (3, 9, 0, 1), (4, 1, 0, 1), (4, 2, 1, 1), (5, 1, 0, 1), (5, 2, 0, 1)]
    found = fast(rows, 2).without_raters()
    check(found, 2, slow_without(rows, lambda row: row[1] == 9, WEIGHTS["none"], 2))


def test_no_ratings_at_all():
    both = fast([], 3)
    assert np.isnan(both.kappa().value).all()
    assert both.without_raters().keys.size == 0
    assert np.isnan(both.without_categories().kappa).all()


def test_an_item_in_both_periods_is_refused():
    with pytest.raises(ValueError, match="one of the periods"):
        fast([(1, 1, 0, 0), (1, 2, 0, 1)], 2)


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
    found = compute_bias_shifts(*tables, values=values, least=10)
    assert found.rater_a.size
    said = {(row[0], row[1]): (values or [1, 2, 3])[row[2]] for row in rows}
    for index, (a, b) in enumerate(zip(found.rater_a, found.rater_b, strict=True)):
        for period in (0, 1):
            both = [i for i in range(period, 60, 2) if (i, a) in said and (i, b) in said]
            differences = [said[i, a] - said[i, b] for i in both]
            assert found.n_items[index, period] == len(both) >= 10
            assert found.bias[index, period] == pytest.approx(np.mean(differences))
            assert found.se[index, period] == pytest.approx(
                np.std(differences, ddof=1) / len(both) ** 0.5
            )
