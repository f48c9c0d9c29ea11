"""Raters on another level than the others: who is named, and how often by mistake."""

from __future__ import annotations

import numpy as np

from metrics.agreement.counts.tally import PairTables, count_pair_tables
from metrics.agreement.rater_quality.between_raters import estimate_levels, find_biased_raters


def find(biases: list[float], se: float = 0.03, n_items: int = 200, sd: float = 1.0) -> list[bool]:
    mask = find_biased_raters(
        np.array(biases), np.full(len(biases), se), np.full(len(biases), n_items), sd
    )
    return [bool(value) for value in mask]


def test_only_the_rater_who_differs_is_named() -> None:
    """With one harsh rater of three, the two others appear lenient by half as much."""
    assert find([0.6, -0.3, -0.3]) == [True, False, False]
    assert find([-0.6, 0.3, 0.3]) == [True, False, False]


def test_nobody_is_named_of_two_or_with_few_items() -> None:
    assert find([0.6, -0.6]) == [False, False]
    assert find([0.6, -0.3, -0.3], n_items=29) == [False] * 3
    assert find([0.6, -0.3, float("nan")]) == [False] * 3


def test_small_differences_are_not_named_however_certain() -> None:
    assert find([0.25, 0.0, 0.0, 0.0], se=0.001) == [False] * 4
    assert find([0.35, 0.0, 0.0, 0.0], se=0.001) == [True, False, False, False]
    assert find([0.35, 0.0, 0.0, 0.0], se=0.001, sd=2.0) == [False] * 4


def test_rater_beside_many_who_differ_is_not_named() -> None:
    """Most rate lower; who rates as the others do on the same items is not the one to check."""
    assert find([0.1, -0.4, -0.4, -0.4]) == [False] * 4


def test_differences_within_chance_are_not_named() -> None:
    assert find([0.4, 0.0, 0.0, 0.0], se=0.2) == [False] * 4


def test_rater_without_any_spread_is_named() -> None:
    """A constant difference has a standard error of 0."""
    assert find([1.0, -0.5, -0.5], se=0.0) == [True, False, False]
    assert find([0.0, 0.0, 0.0], se=0.0, sd=0.0) == [False] * 3


def test_seldom_anyone_is_named_where_all_rate_on_one_level() -> None:
    """In 2,000 questions with 8 raters on one level; the rate is at most 5% in expectation."""
    rng = np.random.default_rng(11)
    ses = np.full(8, 0.3)  # so uncertain that the least effect does not help
    named = [
        find_biased_raters(rng.normal(0, ses), ses, np.full(8, 100), 1.0).any()
        for _question in range(2000)
    ]
    assert np.mean(named) <= 0.05


def find_distinct_levels(tables: PairTables, answer_sd: float) -> set[int]:
    levels = estimate_levels(tables, answer_sd)
    return {rater for rater, level in levels.items() if level.is_distinct}


def build_tables(
    rng: np.random.Generator, groups: list[tuple[list[int], int]], shifts: dict[int, int]
) -> PairTables:
    """Return pair tables of groups of raters with so many common items; shifts: in grades."""
    rows: list[tuple[int, int, int]] = []
    for group, n_items in groups:
        for _number in range(n_items):
            truth, item = rng.integers(2, 5), len(rows)
            rows += [
                (item, rater, int(truth + rng.integers(-1, 2)) + shifts.get(rater, 0))
                for rater in group
            ]
    item, rater, code = np.array(rows).T
    return count_pair_tables(item, rater, code, 7)


def test_who_shares_items_with_a_harsh_rater_alone_is_not_named() -> None:
    """Rater 5 is compared with the harsh rater 0 alone; of the pair 6 and 7 one is harsh."""
    rng = np.random.default_rng(12)
    groups = [([0, 5], 100), ([6, 7], 100), ([0, 1], 100), ([1, 2], 100), ([2, 3], 100)]
    groups += [([0, 3], 100), ([3, 4], 100)]
    tables = build_tables(rng, groups, {0: 1, 6: 1})
    assert find_distinct_levels(tables, 1.2) == {0}
    level = estimate_levels(tables, 1.2)[5]
    assert abs(level.distance) < 0.4 and not level.is_distinct


def test_a_weak_link_between_teams_names_nobody() -> None:
    """Two teams share two items, which do not show on which level the first one is."""
    rng = np.random.default_rng(13)
    named = [
        find_distinct_levels(
            build_tables(rng, [([0, 1], 100), ([1, 2], 2), ([2, 3], 100), ([3, 4], 100)], {0: 1}),
            1.2,
        )
        for _study in range(100)
    ]
    assert sum(bool(raters - {0}) for raters in named) <= 5


def test_levels_of_no_pairs_and_without_spread() -> None:
    assert find_distinct_levels(PairTables.empty(5), 1.0) == set()
    table = np.zeros((5, 5), np.int64)
    table[3, 2] = 50
    equal = np.zeros((5, 5), np.int64)
    equal[2, 2] = 50
    tables = PairTables(np.array([1, 1, 2]), np.array([2, 3, 3]), np.array([table, table, equal]))
    assert find_distinct_levels(tables, 0.3) == {1}
