"""Count ratings as patterns, pair tables and peer tables, which add up over items.

Every coefficient of this package is a formula over these counts. Counts of two disjoint sets of
items add, so agreement is kept up to date by adding what changed and subtracting what it replaces.

Ratings come in long form, three integer arrays of shape (M,): `item`, `rater` and `code`
(0 <= code < k), a missing rating simply absent, at most one rating for an item and rater. Items and
raters are any integers (database keys). Results do not depend on the order of the rows: keys are in
ascending order, every number is an exact int64.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from metrics.agreement.counts.additive_counts import (
    MAX_MOMENT_CATEGORIES,
    PairTables,
    PatternCounts,
    PeerTables,
)
from metrics.agreement.counts.grouping import (
    EXACT_FLOAT,
    NEVER,
    Ints,
    count_keys,
    find_first_days,
    index_distinct,
    number_elements,
    rank_rows,
    sum_rows,
    validate_ratings,
)

__all__ = [
    "PairTables",
    "PatternCounts",
    "PeerTables",
    "compute_comparison_days",
    "count_pair_tables",
    "count_patterns",
    "count_peer_tables",
]


def count_patterns(
    item: npt.ArrayLike, code: npt.ArrayLike, k: int, *, day: npt.ArrayLike | None = None
) -> PatternCounts:
    """Return the numbers of items with each pattern of category counts, from ratings (M,).

    With day (M,) they are counted by day, too, unless it is None: an item counts on the day of its
    second rating, from which on it can be compared, or of its only one. So a later rating moves no
    item to another day. Memory: about 3 numbers a rating, whatever k is. Raises ValueError for
    invalid codes.
    """
    item, code = validate_ratings(item, code, k)
    if item.size == 0:
        return PatternCounts.empty(k, by_day=day is not None)
    index, n_items = number_elements(item)
    packed = _PackedCounts.from_codes(index, code, n_items, k)
    if day is None and len(packed.columns) == 1:
        keys, size = count_keys(packed.columns[0], packed.base**k)
        counts, days = packed.unpack([keys]), None
    else:
        item_day = np.zeros(n_items, np.int64)
        if day is not None:
            first_day, second_day = find_first_days(index, np.asarray(day, np.int64), n_items)
            item_day = np.where(second_day == NEVER, first_day, second_day)
        first, group = rank_rows([item_day, *packed.columns])
        size = np.bincount(group, minlength=first.size).astype(np.int64)
        counts = packed.unpack([column[first] for column in packed.columns])
        days = None if day is None else item_day[first]
    rated = counts.any(axis=1)  # some of the numbers belong to no item
    return PatternCounts(counts[rated], size[rated], None if days is None else days[rated])


@dataclass(frozen=True)
class _PackedCounts:
    """Category counts of n items, packed into few integers whose order is that of the counts.

    columns: arrays (n,), each of `per_column` counts as digits to `base`, the last of the remaining
    ones; k: number of categories.
    """

    columns: list[Ints]
    base: int
    per_column: int
    k: int

    @classmethod
    def from_codes(cls, index: Ints, code: Ints, n_items: int, k: int) -> "_PackedCounts":
        """Pack the counts by category of codes (M,) of items with these indices (M,)."""
        base = int(np.bincount(index).max()) + 1
        per_column = 1
        while base ** (per_column + 1) < EXACT_FLOAT and per_column < k:
            per_column += 1
        columns = []
        for start in range(0, k, per_column):
            width = min(per_column, k - start)
            digit = np.zeros(k)
            digit[start : start + width] = [
                float(base ** (width - 1 - position)) for position in range(width)
            ]
            columns.append(
                np.bincount(index, weights=digit.take(code), minlength=n_items).astype(np.int64)
            )
        return cls(columns, base, per_column, k)

    def unpack(self, columns: list[Ints]) -> npt.NDArray[np.int64]:
        """Return the counts (P, k) that are packed in some rows of the columns."""
        counts = np.zeros((columns[0].size, self.k), np.int64)
        for start, column in zip(range(0, self.k, self.per_column), columns, strict=True):
            remaining = column
            for j in reversed(range(start, min(start + self.per_column, self.k))):
                remaining, counts[:, j] = np.divmod(remaining, self.base)
        return counts


def count_peer_tables(
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    day: npt.ArrayLike | None = None,
    others: npt.ArrayLike | None = None,
) -> PeerTables:
    """Return peer tables: each rater's categories against those of all others on the same items.

    item, rater, code (M,): ratings; day (M,): counts them by day, too, unless None; others (M,):
    mask of the ratings that count as those of other raters, all when None; of one rater all or
    none. Time and memory grow with the ratings and with G k**2 (G k**3 with moments), not with
    pairs of raters. Raises ValueError for invalid codes.
    """
    item, code = validate_ratings(item, code, k)
    rater = np.asarray(rater, np.int64)
    other = np.ones(item.size, bool) if others is None else np.asarray(others, bool)
    _, index = index_distinct(item)
    # True where the item has another rating to compare the own one with.
    own = np.zeros(item.size, bool)
    if item.size:
        own = (np.bincount(index, weights=other)[index] - other).astype(bool)
    if not own.any():
        return PeerTables.empty(k, by_day=day is not None)
    has_peers = np.bincount(index, weights=own)[index] > 0
    own, other, rater, code = own[has_peers], other[has_peers], rater[has_peers], code[has_peers]
    _, index = index_distinct(index[has_peers])
    keys = [rater[own]] if day is None else [rater[own], np.asarray(day, np.int64)[has_peers][own]]
    first, group = rank_rows(keys)
    packed = _PackedCounts.from_codes(index[other], code[other], int(index.max()) + 1, k)
    example, pattern = rank_rows(packed.columns)
    counts = packed.unpack([column[example] for column in packed.columns])
    row = group * k + code[own]
    tables, moments = _count_against_others(row, pattern[index[own]], counts, other[own])
    return PeerTables(
        keys[0][first],
        None if day is None else keys[1][first],
        tables,
        moments,
        np.bincount(group, minlength=first.size).astype(np.int64),
    )


def compute_comparison_days(
    item: npt.ArrayLike, day: npt.ArrayLike, *, others: npt.ArrayLike | None = None
) -> Ints:
    """Return the first day (M,) on which each rating can be compared with another of its item.

    That is the later of its own day and of the first day of another rating of the item; its own day
    where there is none. others (M,): mask of the ratings that it is compared with, all when None.
    """
    own_day = np.asarray(day, np.int64)
    if not own_day.size:
        return own_day
    other = np.ones(own_day.size, bool) if others is None else np.asarray(others, bool)
    _, index = index_distinct(item)
    first_day, second_day = find_first_days(index[other], own_day[other], int(index.max()) + 1)
    # An own rating that is one of the others' is not compared with itself.
    peer_day = np.where(other, second_day[index], first_day[index])
    return np.where(peer_day == NEVER, own_day, np.maximum(own_day, peer_day))


def _count_against_others(
    row: Ints, pattern: Ints, counts: npt.NDArray[np.int64], within: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
    """Return tables (G, k, k) and moments (G, k, k, k) of own ratings against the others.

    The moments are None for more than MAX_MOMENT_CATEGORIES categories. row: group * k + own
    category; pattern: index of the item's pattern in `counts`; within: whether the pattern includes
    the own rating, for all of a group or for none. The others' counts are then n = pattern - e_c,
    so sums of n and n n' are sums over patterns less the contribution of the own rating.
    """
    k = counts.shape[1]
    n_groups = int(row.max()) // k + 1
    ones = np.ones(row.size, np.int64)
    incidence = sparse.csr_array((ones, (row, pattern)), shape=(n_groups * k, len(counts)))
    incidence.sum_duplicates()
    own = np.bincount(row[within], minlength=n_groups * k).astype(np.int64).reshape(n_groups, k)
    tables = np.asarray(incidence @ counts).reshape(n_groups, k, k)
    # A copy, zero for the groups whose own ratings are not in the patterns.
    totals = np.where(own.sum(axis=1).reshape(-1, 1, 1) > 0, tables, 0)
    categories = np.arange(k)
    tables[:, categories, categories] -= own
    if k > MAX_MOMENT_CATEGORIES:
        return tables, None
    products = (counts[:, :, None] * counts[:, None, :]).reshape(len(counts), k * k)
    moments = np.asarray(incidence @ products).reshape(n_groups, k, k, k)
    for c in categories:
        moments[:, c, c, :] -= totals[:, c, :]
        moments[:, c, :, c] -= totals[:, c, :]
        moments[:, c, c, c] += own[:, c]
    return tables, moments


# --- tables of pairs

# Time grows with the number of pairs of ratings, sum of m (m - 1) / 2, never with the number of
# pairs of raters.

_CHUNK = 1 << 18  # pairs of ratings per chunk: bounds the memory
_DENSE_CELLS = 1 << 20  # up to this number of cells the counting array is always dense


def count_pair_tables(
    item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, k: int
) -> PairTables:
    """Return the table (k, k) of each pair of raters that share an item, from ratings (M,).

    Memory: that of the input and of these tables. Raises ValueError if a rater rates an item twice,
    or for invalid codes.
    """
    item, code = validate_ratings(item, code, k)
    raters, rater_index = index_distinct(rater)
    if item.size == 0:
        return PairTables.empty(k)
    n_raters, cells = raters.size, k * k
    _, item_index = index_distinct(item)
    key = item_index * n_raters + rater_index
    if not (key[1:] > key[:-1]).all():
        # Where rows are nearly sorted, merging runs (stable sort) is several times faster.
        by_item = (item_index[1:] >= item_index[:-1]).all()
        order = np.argsort(key, kind="stable" if by_item else "quicksort")
        key, rater_index, code = key[order], rater_index[order], code[order]
        _reject_repeated_ratings(key, order, (item, raters[rater_index]))
        item_index = item_index[order]
    # Pairs (a, b), a < b, are numbered a (2R - a - 1) / 2 + b - a - 1: a left part plus a right
    # part.
    index = np.arange(n_raters, dtype=np.int64)
    first_pair = index * (2 * n_raters - index - 1) // 2
    left_part = ((first_pair - index - 1) * cells)[rater_index] + code * k
    right_part = rater_index * cells + code
    n_cells = n_raters * (n_raters - 1) // 2 * cells
    sizes = np.bincount(item_index)
    cell, count = _count_cells(
        _iter_pair_cells(sizes, left_part, right_part),
        n_cells,
        int((sizes * (sizes - 1) // 2).sum()),
    )
    pair, row = index_distinct(cell // cells)
    tables = np.zeros((pair.size, cells), np.int64)
    tables[row, cell % cells] = count
    first_rater = np.searchsorted(first_pair[:-1], pair, side="right") - 1
    return PairTables(
        raters[first_rater],
        raters[pair - first_pair[first_rater] + first_rater + 1],
        tables.reshape(-1, k, k),
    )


def _reject_repeated_ratings(key: Ints, order: Ints, names: tuple[Ints, Ints]) -> None:
    """Raise ValueError if a rater rated an item more than once.

    key: ascending numbers of item and rater; names: the keys of item and rater, for the message.
    """
    repeats = np.flatnonzero(key[1:] == key[:-1])
    if repeats.size:
        position = int(repeats[0])
        raise ValueError(
            f"rater {names[1][position]} rates item {names[0][order[position]]} more than once"
        )


def _iter_pair_cells(sizes: Ints, left: Ints, right: Ints) -> Iterator[Ints]:
    """Yield the cell numbers of all pairs of ratings that share an item, in chunks.

    sizes: ratings of each item; left, right: parts of the cell number that the first and the second
    rating contribute, by item, then rater. Items of the same size m are handled together as an
    array (m, items): each row is paired with those below it. A chunk is valid until the next is
    requested.
    """
    begin = np.cumsum(sizes) - sizes
    by_size = np.argsort(sizes, kind="stable")
    distinct, first = np.unique(sizes[by_size], return_index=True)
    buffer = np.empty(0, np.int64)
    for size, items in zip(distinct.tolist(), np.split(by_size, first[1:]), strict=True):
        n_pairs = size * (size - 1) // 2
        step = max(1, _CHUNK // max(n_pairs, 1))
        for start in range(0, items.size if n_pairs else 0, step):
            positions = begin[items[start : start + step]] + np.arange(size)[:, None]
            left_parts, right_parts = left[positions], right[positions]
            if n_pairs > _CHUNK:
                yield from (
                    left_parts[row] + right_parts[row + 1 :].ravel() for row in range(size - 1)
                )
                continue
            if buffer.size < n_pairs * positions.shape[1]:
                buffer = np.empty(n_pairs * positions.shape[1], np.int64)
            cells = buffer[: n_pairs * positions.shape[1]].reshape(n_pairs, -1)
            block_end = 0
            for row in range(size - 1):
                block_start, block_end = block_end, block_end + size - 1 - row
                np.add(left_parts[row], right_parts[row + 1 :], out=cells[block_start:block_end])
            yield cells.ravel()


def _count_cells(chunks: Iterator[Ints], n_cells: int, n_pairs: int) -> tuple[Ints, Ints]:
    """Return the distinct cell numbers in ascending order, and the count of each.

    n_pairs: the number of pairs in all chunks. Counts are held in an array of all n_cells where
    that needs less memory.
    """
    if n_cells <= max(_DENSE_CELLS, 2 * n_pairs):
        total = np.zeros(n_cells, np.int64)
        for chunk in _join_chunks(chunks, n_cells):
            total += np.bincount(chunk, minlength=n_cells)
        present = np.flatnonzero(total)
        return present, total[present]
    counted = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    for chunk in _join_chunks(chunks, 16 * _CHUNK):
        new_counts = count_keys(chunk, n_cells)
        distinct, group = index_distinct(np.concatenate([counted[0], new_counts[0]]))
        counted = (
            distinct,
            sum_rows(np.concatenate([counted[1], new_counts[1]]), group, distinct.size),
        )
    return counted


def _join_chunks(chunks: Iterator[Ints], size: int) -> Iterator[Ints]:
    """Yield chunks joined to at least `size` elements; the last one may be smaller."""
    pending: list[Ints] = []
    length = 0
    for chunk in chunks:
        if not pending and chunk.size >= size:
            yield chunk
            continue
        pending.append(chunk.copy())
        length += chunk.size
        if length >= size:
            yield np.concatenate(pending)
            pending, length = [], 0
    if pending:
        yield np.concatenate(pending)
