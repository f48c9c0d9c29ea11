"""Grouping integer keys exactly and fast: the sorting and merging under tally.py.

Every function here is exact (integers only) and independent of the order of its input.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

EXACT_FLOAT = 2**53  # integers below are exact in float64, which is what bincount sums
_DENSE_FACTOR = 4  # a lookup table may have this many cells for each element that it serves


def compact(values: npt.ArrayLike) -> tuple[Ints, Ints]:
    """Distinct values in ascending order, and the index of each element among them.

    A lookup table instead of a sort where the range of the values is not much larger than
    their number (database keys, item numbers).
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


def numbered(values: npt.ArrayLike) -> tuple[Ints, int]:
    """A number below n for each element, ascending with the values, and n; some numbers may be
    nobody's."""
    array = np.asarray(values)
    low, high = int(array.min()), int(array.max())
    if high - low >= _DENSE_FACTOR * array.size + 1024:
        distinct, index = compact(array)
        return index, distinct.size
    return np.asarray(
        array if low == 0 else np.subtract(array, low), dtype=np.int64
    ), high - low + 1


def rank_rows(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Lexicographic rank of each row of a table given by its columns (each shape (n,)).

    Returns (first, rank): the position of one example of each distinct row in ascending
    order, and each row's index among the distinct rows.
    """
    size = columns[0].size
    distinct, rank = compact(columns[0])
    for column in columns[1:]:
        known, index = compact(column)
        distinct, rank = compact(rank * max(known.size, 1) + index)
    first = np.zeros(distinct.size, np.int64)
    first[rank] = np.arange(size)
    return first, rank


def sum_rows(values: npt.NDArray[np.int64], group: Ints, n_groups: int) -> npt.NDArray[np.int64]:
    """Sum of the rows of `values` (n, ...) that share a group number; shape (n_groups, ...)."""
    total = np.zeros((n_groups, *values.shape[1:]), np.int64)
    np.add.at(total, group, values)
    return total


def count_keys(keys: Ints, n_keys: int) -> tuple[Ints, Ints]:
    """Distinct keys (each in [0, n_keys)) in ascending order, and how often each occurs."""
    if n_keys <= _DENSE_FACTOR * keys.size + 1024:
        count = np.bincount(keys, minlength=1)
        present = np.flatnonzero(count)
        return present, count[present]
    distinct, count = np.unique(keys, return_counts=True)
    return distinct, count.astype(np.int64)


def checked(item: npt.ArrayLike, code: npt.ArrayLike, k: int) -> tuple[Ints, Ints]:
    """Items and codes (M,) as arrays; ValueError names the position of a code that is not one of
    0..k-1."""
    items, codes = np.asarray(item), np.asarray(code, np.int64)
    if items.shape != codes.shape or items.ndim != 1:
        raise ValueError(
            "item and code must be one-dimensional and equally long, "
            f"not {items.shape} and {codes.shape}"
        )
    if codes.size and (codes.min() < 0 or codes.max() >= k):
        place = int(np.flatnonzero((codes < 0) | (codes >= k))[0])
        raise ValueError(f"code {codes[place]} at position {place} is not one of 0..{k - 1}")
    return items, codes
