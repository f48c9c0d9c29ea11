"""Whom the page of raters tells: always the same answer, too fast, outside the funnel."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from metrics.agreement import careless, funnel


def told(tables: Any, n_items: Any) -> careless.OneAnswer:
    found = np.array(tables)
    return careless.one_answer(found.sum(axis=2), found.sum(axis=1), n_items)


def table(own: list[int], others: list[float]) -> list[list[float]]:
    """Own answers that have nothing to do with the others'."""
    return [[n * share for share in others] for n in own]


def test_one_answer_is_told_where_the_others_give_several():
    tables = np.array(
        [
            table([100, 0], [0.7, 0.3]),  # always the first
            table([96, 4], [0.7, 0.3]),  # nearly
            table([94, 6], [0.7, 0.3]),  # not nearly enough
            table([100, 0], [0.98, 0.02]),  # items of one kind
            table([29, 0], [0.2, 0.8]),  # too few
            table([0, 0], [0.5, 0.5]),  # nothing compared
        ]
    )
    n_items = np.array([100, 100, 100, 100, 29, 0])
    found = told(tables, n_items)
    assert found.told.tolist() == [True, True, False, False, False, False]
    assert (found.category[0], found.share[1], found.peers[1]) == (0, 0.96, pytest.approx(0.7))


def test_one_answer_by_chance_is_rare_whoever_rates():
    """Of raters who choose as the others do, hardly any group of 50 has one who is told."""
    random = np.random.default_rng(1)
    met = 0
    for _ in range(200):
        n: Any = random.integers(30, 200, 50)
        often = random.binomial(n, 0.93)
        tables = np.array(
            [
                table([x, m - x], [0.93, 0.07])
                for x, m in zip(often.tolist(), n.tolist(), strict=True)
            ]
        )
        met += int(told(tables, n).told.any())
    assert met <= stats.binom.isf(1e-6, 200, careless.ALPHA)


def test_too_fast_is_far_below_the_middle_of_enough_raters():
    seconds = np.array([12.0, 10.0, 9.0, 11.0, 3.1, 3.4, np.nan, 1.0])
    n_items = np.array([80, 80, 80, 80, 80, 80, 80, 29])
    assert careless.too_fast(seconds, n_items).tolist() == [
        *[False] * 4,
        True,  # the middle is 9.5 s
        *[False] * 3,
    ]
    assert not careless.too_fast(np.array([9.0, 9.0, 9.0, 1.0]), np.full(4, 80)).any()


def test_the_funnel_holds_raters_who_differ_by_chance():
    random = np.random.default_rng(2)
    n = random.integers(30, 2_000, 4_000)
    ses = 0.8 / np.sqrt(n)
    values = random.normal(0.5, ses)
    values[:40], ses[40:60] = -1.0, np.nan  # far off, and unknown: neither moves it
    found = funnel.of(values, ses, n)
    assert found is not None
    assert (found.middle, found.spread) == (pytest.approx(0.5, abs=0.01), pytest.approx(0.8))
    low, high = found.limits(n)
    inside = (values[60:] > low[60:]) & (values[60:] < high[60:])
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


def test_of_two_raters_there_is_no_funnel():
    assert funnel.of(np.array([0.5, 0.9]), np.array([0.1, 0.1]), np.array([50, 50])) is None
