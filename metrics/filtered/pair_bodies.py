"""Pairs of raters of a slice: their kappas, the mean of them, and two raters day by day."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metrics import periods
from metrics.agreement.coefficients import cohen
from metrics.agreement.counts import tally
from metrics.agreement.counts.tally import PairTables
from metrics.agreement.estimate import Value
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.agreement.weights import weighted
from metrics.results.pairs import mean_kappas
from metrics.results.values import mean_of_pairs
from metrics.scale import QuestionScale
from ratings.services.days import date_of

from .compact_values import CELLS, POINTS, Body, points, short


def mean_pairwise(
    ratings: np.ndarray, raters: np.ndarray, scale: QuestionScale
) -> tuple[Body, dict[int, Body]]:
    """The mean of the defined kappas of all pairs, and of each rater's pairs, under each
    weighting."""
    weightings = scale.weightings()
    total = {name: np.zeros(len(raters)) for name in weightings}
    defined = {name: np.zeros(len(raters), np.int64) for name in weightings}
    for tables in pair_blocks(ratings, raters, scale.k):
        for name, matrix in weightings.items():
            kappa = cohen.kappa(tables.tables, matrix, interval=False).value
            there = np.isfinite(kappa)
            for ids in (tables.rater_a, tables.rater_b):
                place = np.searchsorted(raters, ids[there])
                total[name] += np.bincount(place, kappa[there], len(raters))
                defined[name] += np.bincount(place, minlength=len(raters))
    whole: Body = {}
    by_rater: dict[int, Body] = {rater: {} for rater in raters.tolist()}
    for name in weightings:
        coefficient = weighted(MEAN_PAIRWISE, name)
        # each pair counts for both of its raters
        whole[coefficient] = mean(total[name].sum() / 2, int(defined[name].sum()) // 2)
        each = zip(total[name].tolist(), defined[name].tolist(), strict=True)
        for of_rater, (sum_of_kappas, n_pairs) in zip(by_rater.values(), each, strict=True):
            of_rater[coefficient] = mean(sum_of_kappas, n_pairs)
    return whole, by_rater


def by_items(told: np.ndarray, counted: tally.Patterns, scale: QuestionScale) -> Body:
    """The mean pairwise kappas by shared items, as of all ratings (readings.means); ``counted``:
    the patterns of these ratings."""
    raters = np.unique(told["rater"])
    rows: list[np.ndarray] = []
    kappas: list[list[np.ndarray]] = []
    for tables in pair_blocks(told, raters, scale.k):
        shared = tables.tables.sum(axis=(1, 2))
        rows.append(np.stack([tables.rater_a, tables.rater_b, shared]))
        values = []
        for matrix in scale.weightings().values():
            values.append(cohen.kappa(tables.tables, matrix, interval=False).value)
        kappas.append(values)
    if not rows:
        return {}
    pairs = np.concatenate(rows, axis=1)
    each = np.concatenate([np.stack(values) for values in kappas], axis=1)
    most = np.argsort(-pairs[2], kind="stable")[: mean_kappas.PAIRS]
    return mean_kappas.of(
        pairs[:, most], list(each[:, most]), (counted.counts, counted.n_items), scale
    )


def mean(total: float, n_pairs: int) -> Value:
    return mean_of_pairs(float(total) / n_pairs if n_pairs else None, n_pairs)


def pair_blocks(ratings: np.ndarray, raters: np.ndarray, k: int) -> Iterator[PairTables]:
    """Every pair of raters once, in portions whose tables have CELLS numbers at most."""
    # raters of one side; both together make size * size * 2 pairs
    size = max(1, int((2 * CELLS / k**2) ** 0.5) // 2)
    block = np.searchsorted(raters, ratings["rater"]) // size
    n_blocks = -(-len(raters) // size)
    for one in range(n_blocks):
        for other in range(one, n_blocks):
            if one == other and n_blocks > 1 and one + 1 < n_blocks:
                continue  # its pairs come with those of the next block
            mine = ratings[(block == one) | (block == other)]
            found = tally.pair_tables(mine["item"], mine["rater"], mine["code"], k)
            a = np.searchsorted(raters, found.rater_a) // size
            b = np.searchsorted(raters, found.rater_b) // size
            kept = (a != b) | ((a == one) & (other == min(one + 1, n_blocks - 1)))
            yield PairTables(found.rater_a[kept], found.rater_b[kept], found.tables[kept])


def pair_rows(tables: PairTables, scale: QuestionScale, *, cells: bool = False) -> list[Body]:
    """One dict a pair: a, b, n, and its kappa's short reading under each weighting; with ``cells``
    also those of its table that are not 0, as [row, column, items]."""
    if not len(tables):
        return []
    n_items = tables.tables.sum(axis=(1, 2)).tolist()
    each = zip(tables.rater_a.tolist(), tables.rater_b.tolist(), n_items, strict=True)
    rows: list[Body] = [{"a": a, "b": b, "n": n} for a, b, n in each]
    for name, matrix in scale.weightings().items():
        readings = cohen.kappa(tables.tables, matrix).readings()
        for row, reading in zip(rows, readings, strict=True):
            row[name] = short(reading)
    for row, table in zip(rows, tables.tables, strict=True) if cells else ():
        i, j = np.nonzero(table)
        row["cells"] = np.stack([i, j, table[i, j]], axis=1).tolist()
    return rows


# --- two raters


def pair(ratings: np.ndarray, a: int, b: int, scale: QuestionScale) -> Body:
    """The table of two raters, ``a`` in rows, and their readings by day, week and month.

    An item belongs to the day of the later of the two ratings.
    """
    of_a = ratings[ratings["rater"] == a]
    of_b = ratings[ratings["rater"] == b]
    _items, in_a, in_b = np.intersect1d(
        of_a["item"], of_b["item"], assume_unique=True, return_indices=True
    )
    one, other = of_a[in_a], of_b[in_b]
    day = np.maximum(one["day"], other["day"])
    cell = one["code"].astype(np.int64) * scale.k + other["code"]
    table = np.bincount(cell, minlength=scale.k**2).reshape(scale.k, scale.k)
    return {
        "table": table.tolist(),
        "trend": {span: _pair_trend(day, cell, span, scale) for span in periods.SPANS},
    }


def _pair_trend(day: np.ndarray, cell: np.ndarray, span: str, scale: QuestionScale) -> Body:
    cells = scale.k**2
    begins, place = np.unique(periods.starts(day, span), return_inverse=True)
    most = max(1, min(POINTS, CELLS // cells))
    first = max(0, len(begins) - most)
    kept = place >= first
    size = (len(begins) - first) * cells
    tables = np.bincount((place[kept] - first) * cells + cell[kept], minlength=size)[:size]
    tables = tables.reshape(-1, scale.k, scale.k)
    starts = [date_of(begin).isoformat() for begin in begins[first:].tolist()]
    return {"starts": starts, **points(scale.pair_trend(tables))}
