"""Tables of all pairs of raters from long-form ratings, by way of the pairs of ratings of the same
item.

Time grows with the number of those pairs, sum of m (m - 1) / 2, never with the number of pairs of
raters.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from .additive import PairTables
from .grouping import Ints, checked, compact, count_keys, sum_rows

_CHUNK = 1 << 18  # pairs of ratings handled at once: bounds the memory
_DENSE_CELLS = 1 << 20  # so many cells are always counted in a dense array


def pair_tables(
    item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, k: int
) -> PairTables:
    """Table (k, k) of each pair of raters that share an item, from ratings (M,); memory: the input
    and these tables."""
    item, code = checked(item, code, k)
    raters, rater_index = compact(rater)
    if item.size == 0:
        return PairTables.empty(k)
    n_raters, cells = raters.size, k * k
    _, item_index = compact(item)
    key = item_index * n_raters + rater_index
    if not (key[1:] > key[:-1]).all():
        # nearly sorted: merging runs is several times faster
        by_item = (item_index[1:] >= item_index[:-1]).all()
        order = np.argsort(key, kind="stable" if by_item else "quicksort")
        key, rater_index, code = key[order], rater_index[order], code[order]
        _refuse_repeats(key, order, (item, raters[rater_index]))
        item_index = item_index[order]
    # Pairs (a, b), a < b, are numbered a (2R - a - 1) / 2 + b - a - 1: a left part plus a right
    # part.
    index = np.arange(n_raters, dtype=np.int64)
    first_pair = index * (2 * n_raters - index - 1) // 2
    left = ((first_pair - index - 1) * cells)[rater_index] + code * k
    right = rater_index * cells + code
    n_cells = n_raters * (n_raters - 1) // 2 * cells
    sizes = np.bincount(item_index)
    cell, count = _counted(
        _pair_cells(sizes, left, right), n_cells, int((sizes * (sizes - 1) // 2).sum())
    )
    pair, row = compact(cell // cells)
    tables = np.zeros((pair.size, cells), np.int64)
    tables[row, cell % cells] = count
    a = np.searchsorted(first_pair[:-1], pair, side="right") - 1
    return PairTables(raters[a], raters[pair - first_pair[a] + a + 1], tables.reshape(-1, k, k))


def _refuse_repeats(key: Ints, order: Ints, names: tuple[Ints, Ints]) -> None:
    again = np.flatnonzero(key[1:] == key[:-1])
    if again.size:
        place = int(again[0])
        raise ValueError(
            f"rater {names[1][place]} rates item {names[0][order[place]]} more than once"
        )


def _pair_cells(sizes: Ints, left: Ints, right: Ints) -> Iterator[Ints]:
    """Cell numbers of all pairs of ratings of the same item, in chunks; ratings ordered by item,
    then rater.

    Items of the same size m are handled together as an array (m, items): each row with those below
    it. A chunk is valid until the next one is asked for.
    """
    begin = np.cumsum(sizes) - sizes
    by_size = np.argsort(sizes, kind="stable")
    distinct, first = np.unique(sizes[by_size], return_index=True)
    buffer = np.empty(0, np.int64)
    for size, some in zip(distinct.tolist(), np.split(by_size, first[1:]), strict=True):
        n_pairs = size * (size - 1) // 2
        step = max(1, _CHUNK // max(n_pairs, 1))
        for start in range(0, some.size if n_pairs else 0, step):
            place = begin[some[start : start + step]] + np.arange(size)[:, None]
            one, other = left[place], right[place]
            if n_pairs > _CHUNK:
                yield from (one[row] + other[row + 1 :].ravel() for row in range(size - 1))
                continue
            if buffer.size < n_pairs * place.shape[1]:
                buffer = np.empty(n_pairs * place.shape[1], np.int64)
            cells = buffer[: n_pairs * place.shape[1]].reshape(n_pairs, -1)
            end = 0
            for row in range(size - 1):
                begun, end = end, end + size - 1 - row
                np.add(one[row], other[row + 1 :], out=cells[begun:end])
            yield cells.ravel()


def _counted(chunks: Iterator[Ints], n_cells: int, n_pairs: int) -> tuple[Ints, Ints]:
    """Distinct cells in ascending order and how often each occurs; dense where that is the smaller
    way."""
    if n_cells <= max(_DENSE_CELLS, 2 * n_pairs):
        total = np.zeros(n_cells, np.int64)
        for chunk in _gathered(chunks, n_cells):
            total += np.bincount(chunk, minlength=n_cells)
        present = np.flatnonzero(total)
        return present, total[present]
    found = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    for chunk in _gathered(chunks, 16 * _CHUNK):
        more = count_keys(chunk, n_cells)
        distinct, group = compact(np.concatenate([found[0], more[0]]))
        found = distinct, sum_rows(np.concatenate([found[1], more[1]]), group, distinct.size)
    return found


def _gathered(chunks: Iterator[Ints], size: int) -> Iterator[Ints]:
    """Chunks joined to at least `size` where they are smaller, the last one to what is left."""
    waiting: list[Ints] = []
    length = 0
    for chunk in chunks:
        if not waiting and chunk.size >= size:
            yield chunk
            continue
        waiting.append(chunk.copy())
        length += chunk.size
        if length >= size:
            yield np.concatenate(waiting)
            waiting, length = [], 0
    if waiting:
        yield np.concatenate(waiting)
