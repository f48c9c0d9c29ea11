"""The three kinds of additive counts, and how they add and subtract: patterns, pair tables, peer
tables.

Counts of two disjoint sets of items add. All numbers are exact int64 with keys in ascending order,
so equal counts are equal arrays.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .grouping import Ints, compact, rank_rows, sum_rows

MOMENTS_UP_TO = 12  # peer moments take k**3 numbers a rater and day; not kept for more categories


class _Counts:
    """Adding and subtracting, shared by the three kinds of counts (frozen dataclasses of
    arrays)."""

    _keys: tuple[str, ...] = ()
    _sums: tuple[str, ...] = ()

    def __add__(self, other: Self) -> Self:
        return self._merged(other, 1)

    def __sub__(self, other: Self) -> Self:
        return self._merged(other, -1)

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

    def _merged(self, other: Self, sign: int) -> Self:
        """Sums by key, in canonical order, without rows that are zero throughout."""
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
        joined = {name: _joined(self, other, name) for name in self._keys}
        columns = [
            column
            for values in joined.values()
            if values is not None
            for column in _columns(values)
        ]
        first, group = rank_rows(columns)
        for name in self._sums:
            mine, theirs = getattr(self, name), getattr(other, name)
            if (mine is None) != (theirs is None) or (
                mine is not None and mine.shape[1:] != theirs.shape[1:]
            ):
                raise ValueError(
                    f"{name}: counts of different shape cannot be added; widen() them first"
                )
            if mine is not None:
                rows = np.concatenate([mine, sign * theirs])
                merged[name] = sum_rows(rows, group, first.size)
        kept = np.zeros(first.size, bool)
        for values in merged.values():
            kept |= values.reshape(first.size, -1).any(axis=1)
        merged = {name: values[kept] for name, values in merged.items()}
        merged |= {
            name: values[first[kept]] for name, values in joined.items() if values is not None
        }
        return replace(self, **merged)  # type: ignore[type-var]  # subclasses are dataclasses


def _joined(one: _Counts, other: _Counts, name: str) -> Ints | None:
    mine, theirs = getattr(one, name), getattr(other, name)
    if (mine is None) != (theirs is None):
        raise ValueError(f"{name}: counts with and without it cannot be added")
    if mine is None:
        return None
    if mine.shape[1:] != theirs.shape[1:]:
        raise ValueError(f"{name}: counts of different shape cannot be added; widen() them first")
    return np.concatenate([mine, theirs])


def _columns(values: Ints) -> Iterator[Ints]:
    yield from values.reshape(len(values), -1).T


def _padded(values: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.int64]:
    """Zeros appended to every axis but the first up to length k."""
    missing = [k - length for length in values.shape[1:]]
    if min(missing) < 0:
        raise ValueError(f"cannot widen from {values.shape[-1]} categories to {k}")
    return np.pad(values, [(0, 0), *((0, length) for length in missing)])


@dataclass(frozen=True, eq=False)
class Patterns(_Counts):
    """How many items (of a day) have this vector of category counts.

    counts (P, k) and n_items (P,); day (P,) or None. Rows ascend by (day, counts).
    """

    counts: npt.NDArray[np.int64]
    n_items: Ints
    day: Ints | None = None

    _keys = ("day", "counts")
    _sums = ("n_items",)

    @classmethod
    def empty(cls, k: int, *, by_day: bool = False) -> "Patterns":
        return cls(
            np.zeros((0, k), np.int64),
            np.zeros(0, np.int64),
            np.zeros(0, np.int64) if by_day else None,
        )

    def widen(self, k: int) -> "Patterns":
        """The same counts on a scale of k >= categories: the new ones are used by nobody."""
        return replace(self, counts=_padded(self.counts, k))

    def without_day(self) -> "Patterns":
        """All days together."""
        first, group = (
            rank_rows(list(_columns(self.counts))) if len(self) else (self.n_items, self.n_items)
        )
        n_items = sum_rows(self.n_items, group, first.size)
        return Patterns(self.counts[first][n_items != 0], n_items[n_items != 0])

    def by_day(self) -> tuple[Ints, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """days (D,), counts (P, k), n_items (D, P): one shared list of patterns for all days."""
        if self.day is None:
            raise ValueError("these patterns were counted without days")
        days, row = compact(self.day)
        first, column = (
            rank_rows(list(_columns(self.counts))) if len(self) else (self.n_items, self.n_items)
        )
        n_items = np.zeros((days.size, first.size), np.int64)
        n_items[row, column] = self.n_items
        return days, self.counts[first], n_items


@dataclass(frozen=True, eq=False)
class PairTables(_Counts):
    """For raters a < b the table of their ratings of the same items; only pairs that share an item.

    rater_a (P,), rater_b (P,), tables (P, k, k) with a's category as row. Rows ascend by (a, b).
    """

    rater_a: Ints
    rater_b: Ints
    tables: npt.NDArray[np.int64]

    _keys = ("rater_a", "rater_b")
    _sums = ("tables",)

    @classmethod
    def empty(cls, k: int) -> "PairTables":
        none = np.zeros(0, np.int64)
        return cls(none, none, np.zeros((0, k, k), np.int64))

    def widen(self, k: int) -> "PairTables":
        return replace(self, tables=_padded(self.tables, k))


@dataclass(frozen=True, eq=False)
class PeerTables(_Counts):
    """For each rater (and day of the rater's own rating): own category against all other ratings.

    Over the rater's own ratings on items that have at least one other rating, with c the own
    category and n the item's counts of the OTHER ratings:

    * n_items (G,)          number of such own ratings
    * tables (G, k, k)      sum of n in row c: each pair of an own and another rating counts 1
    * moments (G, k, k, k)  sum of n_j n_l in [c, j, l]: what the variance of any function linear in
      the item's contribution needs; None for k > MOMENTS_UP_TO (8 k**3 bytes a row)

    rater (G,), day (G,) or None. Rows ascend by (rater, day).
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
        none = np.zeros(0, np.int64)
        moments = np.zeros((0, k, k, k), np.int64) if k <= MOMENTS_UP_TO else None
        return cls(none, none if by_day else None, np.zeros((0, k, k), np.int64), moments, none)

    def widen(self, k: int) -> "PeerTables":
        """Moments are dropped when k passes MOMENTS_UP_TO, as if counted with k from the start."""
        moments = (
            _padded(self.moments, k) if self.moments is not None and k <= MOMENTS_UP_TO else None
        )
        return replace(self, tables=_padded(self.tables, k), moments=moments)
