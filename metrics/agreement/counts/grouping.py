"""Group, rank and sum arrays by integer keys: the sorting behind tally.py.

Every function here is exact (integers only) and independent of the order of its input.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

EXACT_FLOAT = 2**53  # integers below are exact in float64, which is what bincount sums
NEVER = np.iinfo(np.int64).max  # the second day of an item with one rating
_DENSE_FACTOR = 4  # a lookup table may have this many cells per element


def index_distinct(values: npt.ArrayLike) -> tuple[Ints, Ints]:
    """Return the distinct values (D,), ascending, and the index (n,) of each element among them.

    A lookup table replaces sorting where the range of the values is not much larger than their
    number (database keys, item numbers).
    """
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low, high = int(array.min()), int(array.max())
    span = high - low + 1
    if span > _DENSE_FACTOR * array.size + 1024:
        distinct, index = np.unique(array, return_inverse=True)
        return distinct.astype(np.int64), index.reshape(-1).astype(np.int64)
    offset = np.subtract(array, low, dtype=np.int64)
    present = np.zeros(span, bool)
    present[offset] = True
    if present.all():
        return np.arange(low, high + 1, dtype=np.int64), offset
    position = np.cumsum(present, dtype=np.int64) - 1
    return np.flatnonzero(present).astype(np.int64) + low, position[offset]


def number_elements(values: npt.ArrayLike) -> tuple[Ints, int]:
    """Return a number from 0 for each element (n,), ascending with its value, and an upper bound.

    All numbers are below the bound; some may be unused.
    """
    array = np.asarray(values)
    low, high = int(array.min()), int(array.max())
    if high - low >= _DENSE_FACTOR * array.size + 1024:
        distinct, index = index_distinct(array)
        return index, distinct.size
    return np.asarray(
        array if low == 0 else np.subtract(array, low), dtype=np.int64
    ), high - low + 1


def rank_rows(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return the lexicographic rank of each row of a table given by its columns, each (n,).

    The result is (first, rank): the position of one example of each distinct row, in ascending
    order, and each row's index among the distinct rows (n,).
    """
    size = columns[0].size
    distinct, rank = index_distinct(columns[0])
    for column in columns[1:]:
        column_values, index = index_distinct(column)
        distinct, rank = index_distinct(rank * max(column_values.size, 1) + index)
    first = np.zeros(distinct.size, np.int64)
    first[rank] = np.arange(size)
    return first, rank


def sum_rows(values: npt.NDArray[np.int64], group: Ints, n_groups: int) -> npt.NDArray[np.int64]:
    """Return the sums (n_groups, ...) of the rows of `values` (n, ...) by group number (n,)."""
    total = np.zeros((n_groups, *values.shape[1:]), np.int64)
    np.add.at(total, group, values)
    return total


def count_keys(keys: Ints, n_keys: int) -> tuple[Ints, Ints]:
    """Return the distinct keys in ascending order, and the count of each; 0 <= key < n_keys."""
    if n_keys <= _DENSE_FACTOR * keys.size + 1024:
        count = np.bincount(keys, minlength=1)
        present = np.flatnonzero(count)
        return present, count[present]
    distinct, count = np.unique(keys, return_counts=True)
    return distinct, count.astype(np.int64)


def validate_ratings(item: npt.ArrayLike, code: npt.ArrayLike, k: int) -> tuple[Ints, Ints]:
    """Return items and codes (M,) as integer arrays; raise ValueError for other shapes or codes.

    The message names the position of the first code that is not one of 0..k-1.
    """
    items, codes = np.asarray(item), np.asarray(code, np.int64)
    if items.shape != codes.shape or items.ndim != 1:
        raise ValueError(
            "item and code must be one-dimensional and equally long, "
            f"not {items.shape} and {codes.shape}"
        )
    if codes.size and (codes.min() < 0 or codes.max() >= k):
        position = int(np.flatnonzero((codes < 0) | (codes >= k))[0])
        raise ValueError(f"code {codes[position]} at position {position} is not one of 0..{k - 1}")
    return items, codes


def find_first_days(index: Ints, day: Ints, n_items: int) -> tuple[Ints, Ints]:
    """Return the day of each item's first rating and that of its second, both (n_items,).

    index, day (M,): item and day of each rating; two ratings of one day are the first and the
    second. NEVER where there is no such rating.
    """
    first = np.full(n_items, NEVER)
    np.minimum.at(first, index, day)
    candidates = np.flatnonzero(day == first[index])
    first_position = np.full(n_items, NEVER)
    np.minimum.at(first_position, index[candidates], candidates)
    is_later = np.ones(day.size, bool)
    is_later[first_position[first_position != NEVER]] = False
    second = np.full(n_items, NEVER)
    np.minimum.at(second, index[is_later], day[is_later])
    return first, second
