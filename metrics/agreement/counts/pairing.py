"""Count the contingency tables of all pairs of raters from ratings in long form.

Time grows with the number of those pairs, sum of m (m - 1) / 2, never with the number of pairs of
raters.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from .additive import PairTables
from .grouping import Ints, count_keys, index_distinct, sum_rows, validate_ratings

_CHUNK = 1 << 18  # pairs of ratings per chunk: bounds the memory
_DENSE_CELLS = 1 << 20  # up to this number of cells the counting array is always dense


def count_pair_tables(
    item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, k: int
) -> PairTables:
    """Return the table (k, k) of each pair of raters that share an item, from ratings (M,).

    Memory: the input and these tables. ValueError if a rater rates an item twice, or for invalid
    codes.
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
        _raise_on_repeats(key, order, (item, raters[rater_index]))
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


def _raise_on_repeats(key: Ints, order: Ints, names: tuple[Ints, Ints]) -> None:
    """Raise ValueError if a rater rated an item more than once; the keys must ascend."""
    repeats = np.flatnonzero(key[1:] == key[:-1])
    if repeats.size:
        position = int(repeats[0])
        raise ValueError(
            f"rater {names[1][position]} rates item {names[0][order[position]]} more than once"
        )


def _iter_pair_cells(sizes: Ints, left: Ints, right: Ints) -> Iterator[Ints]:
    """Yield the cell numbers of all pairs of ratings of the same item, in chunks.

    Ratings are ordered by item, then rater. Items of the same size m are handled together as an
    array (m, items): each row with those below it. A chunk is valid until the next one is
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
    """Return the distinct cells in ascending order and the count of each.

    The counting array is dense where that needs less memory.
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
