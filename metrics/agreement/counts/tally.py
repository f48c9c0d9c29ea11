"""Ratings -> additive integer counts: patterns, pair tables, peer tables.

Every coefficient of this package is a formula over these counts. Counts of two disjoint sets of
items add; so agreement is kept up to date by adding what changed and subtracting what it replaces.

Ratings come in long form, three integer arrays of shape (M,): `item`, `rater` and `code`
(0 <= code < k), a missing rating simply absent, at most one rating for an item and rater. Items and
raters are any integers (database keys). Results do not depend on the order of the rows: keys are in
ascending order, every number is an exact int64.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .additive import MOMENTS_UP_TO, PairTables, Patterns, PeerTables
from .grouping import EXACT_FLOAT, Ints, checked, compact, count_keys, numbered, rank_rows
from .pairing import pair_tables

__all__ = ["PairTables", "Patterns", "PeerTables", "pair_tables", "patterns", "peer_tables"]


def patterns(
    item: npt.ArrayLike, code: npt.ArrayLike, k: int, *, day: npt.ArrayLike | None = None
) -> Patterns:
    """Count the items by their vector of category counts; with `day` (M,), by the latest day of the
    item's ratings.

    Memory: about 3 numbers a rating, whatever k is.
    """
    item, code = checked(item, code, k)
    if item.size == 0:
        return Patterns.empty(k, by_day=day is not None)
    index, n_items = numbered(item)
    packed = _Packed.of(index, code, n_items, k)
    if day is None and len(packed.columns) == 1:
        keys, size = count_keys(packed.columns[0], packed.base**k)
        counts, days = packed.unpacked([keys]), None
    else:
        latest = np.full(n_items, np.iinfo(np.int64).min)
        if day is not None:
            np.maximum.at(latest, index, np.asarray(day, np.int64))
        first, group = rank_rows([latest, *packed.columns])
        size = np.bincount(group, minlength=first.size).astype(np.int64)
        counts = packed.unpacked([column[first] for column in packed.columns])
        days = None if day is None else latest[first]
    rated = counts.any(axis=1)  # numbers between the items' that no item has
    return Patterns(counts[rated], size[rated], None if days is None else days[rated])


@dataclass(frozen=True)
class _Packed:
    """Count vectors of n items, several counts packed in one integer; their order is that of the
    vectors.

    columns: arrays (n,); each holds `at_once` counts as digits to `base`, the last one what is left
    of k.
    """

    columns: list[Ints]
    base: int
    at_once: int
    k: int

    @classmethod
    def of(cls, index: Ints, code: Ints, n_items: int, k: int) -> "_Packed":
        base = int(np.bincount(index).max()) + 1
        at_once = 1
        while base ** (at_once + 1) < EXACT_FLOAT and at_once < k:
            at_once += 1
        columns = []
        for start in range(0, k, at_once):
            width = min(at_once, k - start)
            digit = np.zeros(k)
            digit[start : start + width] = [
                float(base ** (width - 1 - place)) for place in range(width)
            ]
            columns.append(
                np.bincount(index, weights=digit.take(code), minlength=n_items).astype(np.int64)
            )
        return cls(columns, base, at_once, k)

    def unpacked(self, columns: list[Ints]) -> npt.NDArray[np.int64]:
        """The count vectors (P, k) of rows of the columns."""
        counts = np.zeros((columns[0].size, self.k), np.int64)
        for start, column in zip(range(0, self.k, self.at_once), columns, strict=True):
            rest = column
            for j in reversed(range(start, min(start + self.at_once, self.k))):
                rest, counts[:, j] = np.divmod(rest, self.base)
        return counts


def peer_tables(
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    day: npt.ArrayLike | None = None,
    others: npt.ArrayLike | None = None,
) -> PeerTables:
    """Each rater (and `day` (M,) of the own rating) against all others; see PeerTables.

    `others` (M,): which ratings count as those of others, all when left out; of one rater all or
    none. Time and memory grow with the ratings and with G k**2 (G k**3 with moments), not with
    pairs of raters.
    """
    item, code = checked(item, code, k)
    rater = np.asarray(rater, np.int64)
    other = np.ones(item.size, bool) if others is None else np.asarray(others, bool)
    _, index = compact(item)
    # whether the item has a rating to compare the own one with
    own = np.zeros(item.size, bool)
    if item.size:
        own = (np.bincount(index, weights=other)[index] - other).astype(bool)
    if not own.any():
        return PeerTables.empty(k, by_day=day is not None)
    met = np.bincount(index, weights=own)[index] > 0
    own, other, rater, code = own[met], other[met], rater[met], code[met]
    _, index = compact(index[met])
    keys = [rater[own]] if day is None else [rater[own], np.asarray(day, np.int64)[met][own]]
    first, group = rank_rows(keys)
    packed = _Packed.of(index[other], code[other], int(index.max()) + 1, k)
    example, pattern = rank_rows(packed.columns)
    counts = packed.unpacked([column[example] for column in packed.columns])
    row = group * k + code[own]
    tables, moments = _against_others(row, pattern[index[own]], counts, other[own])
    return PeerTables(
        keys[0][first],
        None if day is None else keys[1][first],
        tables,
        moments,
        np.bincount(group, minlength=first.size).astype(np.int64),
    )


def _against_others(
    row: Ints, pattern: Ints, counts: npt.NDArray[np.int64], within: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
    """tables (G, k, k) and moments of own ratings given by row = group * k + own category, their
    items' pattern, and whether the pattern holds the own rating too; of a group it holds all or
    none.

    The others' counts are then n = pattern - e_c, so sums of n and n n' are sums over patterns less
    what the own rating put in.
    """
    k = counts.shape[1]
    n_groups = int(row.max()) // k + 1
    ones = np.ones(row.size, np.int64)
    seen = sparse.csr_array((ones, (row, pattern)), shape=(n_groups * k, len(counts)))
    seen.sum_duplicates()
    own = np.bincount(row[within], minlength=n_groups * k).astype(np.int64).reshape(n_groups, k)
    tables = np.asarray(seen @ counts).reshape(n_groups, k, k)
    # of the groups that are within; a copy
    totals = np.where(own.sum(axis=1).reshape(-1, 1, 1) > 0, tables, 0)
    each = np.arange(k)
    tables[:, each, each] -= own
    if k > MOMENTS_UP_TO:
        return tables, None
    products = (counts[:, :, None] * counts[:, None, :]).reshape(len(counts), k * k)
    moments = np.asarray(seen @ products).reshape(n_groups, k, k, k)
    for c in each:
        moments[:, c, c, :] -= totals[:, c, :]
        moments[:, c, :, c] -= totals[:, c, :]
        moments[:, c, c, c] += own[:, c]
    return tables, moments
