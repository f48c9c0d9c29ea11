"""Additive counts of three kinds, with addition and subtraction: patterns, pair and peer tables.

Counts of two disjoint sets of items add. All numbers are exact int64 with keys in ascending order,
so equal counts are equal arrays.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .grouping import Ints, index_distinct, rank_rows, sum_rows

MAX_MOMENT_CATEGORIES = (
    12  # peer moments (k**3 numbers a rater and day) are not stored for larger k
)


class _AdditiveCounts:
    """Base of the three kinds of counts (frozen dataclasses of arrays), with + and -.

    _keys: names of the columns that identify a row; _sums: names of the columns that are added.
    """

    _keys: tuple[str, ...] = ()
    _sums: tuple[str, ...] = ()

    def __add__(self, other: Self) -> Self:
        return self._merge_by_key(other, 1)

    def __sub__(self, other: Self) -> Self:
        return self._merge_by_key(other, -1)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))  # type: ignore[arg-type]  # subclasses are dataclasses
        return all(
            (a is None) == (b is None) and (a is None or np.array_equal(a, b)) for a, b in pairs
        )

    def __len__(self) -> int:
        return len(getattr(self, self._sums[0]))

    __hash__ = None  # type: ignore[assignment]  # arrays cannot be hashed

    def select(self, rows: Any) -> Self:
        """Return the rows that a mask, a slice or an array of indices selects."""
        columns = {name: getattr(self, name) for name in (*self._keys, *self._sums)}
        selected = {name: column[rows] for name, column in columns.items() if column is not None}
        return replace(self, **selected)  # type: ignore[type-var]  # subclasses are dataclasses

    def _merge_by_key(self, other: Self, sign: int) -> Self:
        """Return the sums of two counts by key, with sign 1, or differences, with -1.

        Rows ascend by key; rows that are all zero are left out. Raises ValueError for counts of
        different shape.
        """
        if len(other) == 0:
            return self
        if len(self) == 0:
            return replace(
                other,
                **{  # type: ignore[type-var]  # subclasses are dataclasses
                    name: sign * getattr(other, name)
                    for name in self._sums
                    if getattr(other, name) is not None
                },
            )
        merged: dict[str, Any] = {}
        joined = {name: _concatenate(self, other, name) for name in self._keys}
        columns = [
            column
            for values in joined.values()
            if values is not None
            for column in _iter_columns(values)
        ]
        first, group = rank_rows(columns)
        for name in self._sums:
            own_values, other_values = getattr(self, name), getattr(other, name)
            if (own_values is None) != (other_values is None) or (
                own_values is not None and own_values.shape[1:] != other_values.shape[1:]
            ):
                raise ValueError(
                    f"{name}: counts of different shape cannot be added; use pad_categories() first"
                )
            if own_values is not None:
                rows = np.concatenate([own_values, sign * other_values])
                merged[name] = sum_rows(rows, group, first.size)
        nonzero = np.zeros(first.size, bool)
        for values in merged.values():
            nonzero |= values.reshape(first.size, -1).any(axis=1)
        merged = {name: values[nonzero] for name, values in merged.items()}
        merged |= {
            name: values[first[nonzero]] for name, values in joined.items() if values is not None
        }
        return replace(self, **merged)  # type: ignore[type-var]  # subclasses are dataclasses


def _concatenate(counts: _AdditiveCounts, other: _AdditiveCounts, name: str) -> Ints | None:
    """Return the field `name` of both counts concatenated, or None if both lack it.

    Raises ValueError if only one has it, or their shapes differ.
    """
    values, other_values = getattr(counts, name), getattr(other, name)
    if (values is None) != (other_values is None):
        raise ValueError(f"{name}: counts with and without it cannot be added")
    if values is None:
        return None
    if values.shape[1:] != other_values.shape[1:]:
        raise ValueError(
            f"{name}: counts of different shape cannot be added; use pad_categories() first"
        )
    return np.concatenate([values, other_values])


def _iter_columns(values: Ints) -> Iterator[Ints]:
    """Yield the columns (n,) of values (n, ...), with the trailing axes flattened."""
    yield from values.reshape(len(values), -1).T


def _pad_categories(values: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.int64]:
    """Return the values with zeros appended to every axis but the first, up to length k.

    Raises ValueError if an axis is longer than k.
    """
    missing = [k - length for length in values.shape[1:]]
    if min(missing) < 0:
        raise ValueError(f"cannot pad from {values.shape[-1]} categories to {k}")
    return np.pad(values, [(0, 0), *((0, length) for length in missing)])


@dataclass(frozen=True, eq=False)
class PatternCounts(_AdditiveCounts):
    """Numbers of items with each pattern, a vector of counts of the k categories.

    counts (P, k): patterns; n_items (P,): their numbers of items; day (P,): counted by this day
    too, or None. Rows ascend by (day, counts).
    """

    counts: npt.NDArray[np.int64]
    n_items: Ints
    day: Ints | None = None

    _keys = ("day", "counts")
    _sums = ("n_items",)

    @classmethod
    def empty(cls, k: int, *, by_day: bool = False) -> "PatternCounts":
        """Return counts of no items on a scale of k categories; with `by_day`, counts by day."""
        return cls(
            np.zeros((0, k), np.int64),
            np.zeros(0, np.int64),
            np.zeros(0, np.int64) if by_day else None,
        )

    def pad_categories(self, k: int) -> "PatternCounts":
        """Return the counts on a scale with k >= categories, zeros for the new ones."""
        return replace(self, counts=_pad_categories(self.counts, k))

    def sum_over_days(self) -> "PatternCounts":
        """Return the counts of all days together, without days."""
        first, group = (
            rank_rows(list(_iter_columns(self.counts)))
            if len(self)
            else (self.n_items, self.n_items)
        )
        n_items = sum_rows(self.n_items, group, first.size)
        return PatternCounts(self.counts[first][n_items != 0], n_items[n_items != 0])

    def split_by_day(self) -> tuple[Ints, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return days (D,), patterns (P, k) of all days, and their numbers of items (D, P).

        Raises ValueError if the patterns were counted without days.
        """
        if self.day is None:
            raise ValueError("these patterns were counted without days")
        days, row = index_distinct(self.day)
        first, column = (
            rank_rows(list(_iter_columns(self.counts)))
            if len(self)
            else (self.n_items, self.n_items)
        )
        n_items = np.zeros((days.size, first.size), np.int64)
        n_items[row, column] = self.n_items
        return days, self.counts[first], n_items


@dataclass(frozen=True, eq=False)
class PairTables(_AdditiveCounts):
    """For each pair of raters a < b that share an item, the table of their ratings of shared items.

    rater_a, rater_b (P,): keys; tables (P, k, k): rows are a's categories, columns b's. Rows ascend
    by (a, b).
    """

    rater_a: Ints
    rater_b: Ints
    tables: npt.NDArray[np.int64]

    _keys = ("rater_a", "rater_b")
    _sums = ("tables",)

    @classmethod
    def empty(cls, k: int) -> "PairTables":
        """Return tables of no pairs on a scale of k categories."""
        no_raters = np.zeros(0, np.int64)
        return cls(no_raters, no_raters, np.zeros((0, k, k), np.int64))

    def pad_categories(self, k: int) -> "PairTables":
        """Return the tables on a scale with k >= categories, zeros for the new ones."""
        return replace(self, tables=_pad_categories(self.tables, k))


@dataclass(frozen=True, eq=False)
class PeerTables(_AdditiveCounts):
    """For each rater: own category against all other ratings of the same items, optionally by day.

    They are sums over the rater's own ratings of items that have at least one other rating; the day
    is that of the own rating. With c the own category and n the item's counts of the OTHER ratings:

    * n_items (G,)          number of such own ratings
    * tables (G, k, k)      sum of n in row c: each pair of an own and another rating counts 1
    * moments (G, k, k, k)  sum of n_j n_l in [c, j, l], which determines the variance of any
      function linear in the item's contribution; None for large k (8 k**3 bytes a row)

    rater (G,): keys; day (G,) or None. Rows ascend by (rater, day).
    """

    rater: Ints
    day: Ints | None
    tables: npt.NDArray[np.int64]
    moments: npt.NDArray[np.int64] | None
    n_items: Ints

    _keys = ("rater", "day")
    _sums = ("tables", "moments", "n_items")

    @classmethod
    def empty(cls, k: int, *, by_day: bool = False) -> "PeerTables":
        """Return tables of no raters on a scale of k categories; with `by_day`, tables by day."""
        no_raters = np.zeros(0, np.int64)
        moments = np.zeros((0, k, k, k), np.int64) if k <= MAX_MOMENT_CATEGORIES else None
        return cls(
            no_raters,
            no_raters if by_day else None,
            np.zeros((0, k, k), np.int64),
            moments,
            no_raters,
        )

    def pad_categories(self, k: int) -> "PeerTables":
        """Return the tables on a scale with k >= categories, zeros for the new ones.

        Moments are dropped when k exceeds the limit, as if counted with k from the start.
        """
        moments = (
            _pad_categories(self.moments, k)
            if self.moments is not None and k <= MAX_MOMENT_CATEGORIES
            else None
        )
        return replace(self, tables=_pad_categories(self.tables, k), moments=moments)
