"""Test counts against a slow count of the same ratings; counts add, subtract and pad."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from metrics.agreement.counts import tally

KINDS = ("patterns", "pair_tables", "peer_tables")


def simulate_ratings(seed):
    """Return item, rater, code, day (M,) in random order, and k; some empty, some with huge keys."""
    rng = np.random.default_rng(seed)
    n_items, n_raters, k = rng.integers(1, 30), rng.integers(1, 8), int(rng.integers(1, 5))
    item, rater = np.meshgrid(
        np.arange(n_items) * int(rng.integers(1, 10**6)), np.arange(n_raters) * 7 - 3
    )
    order = rng.permutation(item.size)
    order = order[rng.random(item.size) < rng.random()]
    code, day = rng.integers(0, k, order.size), rng.integers(0, 4, order.size)
    return item.ravel()[order], rater.ravel()[order], code, day, k


def count_slowly(item, rater, code, day, k):
    """Return counts as dictionaries.

    (day, *counts) -> items, (a, b) -> table, (rater, day) -> [table, moments, own ratings].
    """
    ratings = defaultdict(list)
    for i, *rating in zip(item.tolist(), rater.tolist(), code.tolist(), day.tolist(), strict=True):
        ratings[i].append(rating)
    patterns: defaultdict[tuple[int, ...], int] = defaultdict(int)
    pairs: defaultdict[tuple[int, int], np.ndarray] = defaultdict(lambda: np.zeros((k, k), int))
    peers: dict[tuple[int, int], list[Any]] = {}
    for item_ratings in ratings.values():
        counts = [sum(c == j for _, c, _ in item_ratings) for j in range(k)]
        patterns[sorted(d for *_, d in item_ratings)[:2][-1], *counts] += 1
        for a, c, d in item_ratings:
            for b, other, _ in item_ratings:
                if a < b:
                    pairs[a, b][c, other] += 1
            if len(item_ratings) > 1:
                others = np.array(counts)
                others[c] -= 1
                peer = peers.setdefault(
                    (a, d), [np.zeros((k, k), int), np.zeros((k, k, k), int), 0]
                )
                peer[0][c] += others
                peer[1][c] += np.outer(others, others)
                peer[2] += 1
    return patterns, pairs, peers


def count_kind(kind, ratings, rows=slice(None)):
    item, rater, code, day, k = (
        column[rows] if isinstance(column, np.ndarray) else column for column in ratings
    )
    if kind == "patterns":
        return tally.count_patterns(item, code, k, day=day)
    if kind == "pair_tables":
        return tally.count_pair_tables(item, rater, code, k)
    return tally.count_peer_tables(item, rater, code, k, day=day)


@pytest.mark.parametrize("seed", range(60))
def test_counts_equal_a_slow_count(seed):
    ratings = simulate_ratings(seed)
    patterns, pairs, peers = count_slowly(*ratings)
    counts = count_kind("patterns", ratings)
    assert [
        (d, *row) for d, row in zip(counts.day.tolist(), counts.counts.tolist(), strict=True)
    ] == sorted(patterns)
    assert counts.n_items.tolist() == [patterns[key] for key in sorted(patterns)]
    counts = count_kind("pair_tables", ratings)
    assert list(zip(counts.rater_a.tolist(), counts.rater_b.tolist(), strict=True)) == sorted(pairs)
    assert all(
        np.array_equal(table, pairs[key])
        for table, key in zip(counts.tables, sorted(pairs), strict=True)
    )
    counts = count_kind("peer_tables", ratings)
    assert list(zip(counts.rater.tolist(), counts.day.tolist(), strict=True)) == sorted(peers)
    for index, key in enumerate(sorted(peers)):
        assert np.array_equal(counts.tables[index], peers[key][0])
        assert np.array_equal(counts.moments[index], peers[key][1])
        assert counts.n_items[index] == peers[key][2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(20))
def test_counts_of_two_sets_of_items_add(kind, seed):
    ratings = simulate_ratings(seed)
    in_first = ratings[0] % 2 == 0
    all_counts, first_counts, second_counts = (
        count_kind(kind, ratings, rows) for rows in (slice(None), in_first, ~in_first)
    )
    assert first_counts + second_counts == all_counts
    assert all_counts - first_counts == second_counts
    assert (first_counts - all_counts) + all_counts == first_counts
    assert len(all_counts - all_counts) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_counts_do_not_depend_on_the_order_of_the_rows(kind):
    ratings = simulate_ratings(3)
    assert count_kind(kind, ratings) == count_kind(kind, ratings, np.arange(ratings[0].size)[::-1])


@pytest.mark.parametrize("kind", KINDS)
def test_widened_counts_equal_counts_on_the_wider_scale(kind):
    *arrays, k = simulate_ratings(5)
    for wider in (k + 1, k + 40):
        assert count_kind(kind, (*arrays, k)).pad_categories(wider) == count_kind(
            kind, (*arrays, wider)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_empty_counts_are_neutral(kind):
    ratings = simulate_ratings(7)
    counts, empty_counts = count_kind(kind, ratings), count_kind(kind, ratings, slice(0, 0))
    assert len(empty_counts) == 0
    assert counts + empty_counts == empty_counts + counts == counts
    assert empty_counts - counts + counts == empty_counts


@pytest.mark.parametrize("kind", KINDS)
def test_adding_counts_of_different_width_raises_an_error(kind):
    *arrays, k = simulate_ratings(5)
    with pytest.raises(ValueError, match="pad_categories"):
        count_kind(kind, (*arrays, k)) + count_kind(kind, (*arrays, k + 1))


def test_daily_patterns_sum_to_all_patterns():
    item, _, code, day, k = simulate_ratings(11)
    by_day = tally.count_patterns(item, code, k, day=day)
    assert by_day.sum_over_days() == tally.count_patterns(item, code, k)
    days, counts, n_items = by_day.split_by_day()
    assert by_day.day is not None
    assert days.tolist() == sorted(set(by_day.day.tolist()))
    assert tally.PatternCounts(counts, n_items.sum(axis=0)) == by_day.sum_over_days()


@pytest.mark.parametrize("size", [300, 800])
def test_one_item_with_many_ratings_is_counted(size):
    rater, zeros = np.arange(size), np.zeros(size, int)
    code = rater % 2
    tables = tally.count_pair_tables(zeros, rater, code, 2)
    assert len(tables) == size * (size - 1) // 2
    assert np.array_equal(tables.tables.sum(axis=(1, 2)), np.ones(len(tables)))
    pair = np.arange(len(tables)), code[tables.rater_a], code[tables.rater_b]
    assert tables.tables[pair].all()
    assert tally.count_peer_tables(zeros, rater, code, 2).tables.sum() == size * (size - 1)


def test_many_raters_with_few_items_use_sparse_tables():
    """Dense tables of all 4.5 million pairs are never built."""
    rater = np.arange(3000)
    tables = tally.count_pair_tables(rater // 3, rater, rater % 2, 2)
    assert len(tables) == 3000
    assert tables.tables.sum() == 3000


def test_two_ratings_of_a_rater_on_an_item_raise_an_error():
    with pytest.raises(ValueError, match="rater 7 rates item 4 more than once"):
        tally.count_pair_tables([5, 4, 4, 4], [7, 7, 6, 7], [0, 0, 0, 1], 2)


def test_code_outside_the_scale_raises_an_error():
    with pytest.raises(ValueError, match=r"code 3 at position 1 is not one of 0\.\.2"):
        tally.count_patterns([1, 1], [0, 3], 3)
