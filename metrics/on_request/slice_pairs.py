"""Pairs of raters of a slice: their kappas, the mean of them, and two raters day by day."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metrics import periods
from metrics.agreement.coefficients import cohen, two_raters
from metrics.agreement.counts import tally
from metrics.agreement.counts.tally import PairTables
from metrics.agreement.estimate import Estimate
from metrics.scale import QuestionScale, weighted
from ratings.recording.days import date_of

from .slice_numbers import CELLS, POINTS, Body, points, short


def mean_pairwise(
    ratings: np.ndarray, raters: np.ndarray, scale: QuestionScale
) -> tuple[Body, dict[int, Body]]:
    """The mean of the defined kappas of all pairs, and of each rater's pairs, under each
    weighting."""
    weightings = scale.weightings()
    total = {name: np.zeros(len(raters)) for name in weightings}
    defined = {name: np.zeros(len(raters), np.int64) for name in weightings}
    for tables in pair_blocks(ratings, raters, scale.k):
        ends = [np.searchsorted(raters, side) for side in (tables.rater_a, tables.rater_b)]
        for name, matrix in weightings.items():
            kappa = cohen.kappa(tables.tables, matrix, interval=False).value
            there = np.isfinite(kappa)
            for end in ends:
                total[name] += np.bincount(end[there], kappa[there], len(raters))
                defined[name] += np.bincount(end[there], minlength=len(raters))
    whole = {
        weighted("mean_pairwise_kappa", name): mean(
            total[name].sum() / 2, int(defined[name].sum()) // 2
        )
        for name in weightings
    }
    by_rater = {
        rater: {
            weighted("mean_pairwise_kappa", name): mean(
                total[name][place], int(defined[name][place])
            )
            for name in weightings
        }
        for place, rater in enumerate(raters.tolist())
    }
    return whole, by_rater


def mean(total: float, n_pairs: int) -> Body:
    return {
        **dict.fromkeys(("low", "high", "se", "observed", "expected", "n_items", "n_ratings")),
        "value": float(total) / n_pairs if n_pairs else None,
        "n_pairs": n_pairs,
        "reason": None if n_pairs else "no_pairable_items",
    }


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
            a, b = (
                np.searchsorted(raters, side) // size for side in (found.rater_a, found.rater_b)
            )
            kept = (a != b) | ((a == one) & (other == min(one + 1, n_blocks - 1)))
            yield PairTables(found.rater_a[kept], found.rater_b[kept], found.tables[kept])


def pair_rows(tables: PairTables, scale: QuestionScale) -> list[Body]:
    """One dict a pair: a, b, n, and its kappa's short reading under each weighting."""
    if not len(tables):
        return []
    kappas = {
        name: [short(reading) for reading in cohen.kappa(tables.tables, matrix).readings()]
        for name, matrix in scale.weightings().items()
    }
    n_items = tables.tables.sum(axis=(1, 2)).tolist()
    ends = zip(tables.rater_a.tolist(), tables.rater_b.tolist(), n_items, strict=True)
    return [
        {"a": a, "b": b, "n": n, **{name: rows[place] for name, rows in kappas.items()}}
        for place, (a, b, n) in enumerate(ends)
    ]


# --- two raters


def pair(ratings: np.ndarray, a: int, b: int, scale: QuestionScale) -> Body:
    """The table of two raters, ``a`` in rows, and their readings by day, week and month.

    An item belongs to the day of the later of the two ratings.
    """
    sides = [ratings[ratings["rater"] == rater] for rater in (a, b)]
    sides = [side[np.argsort(side["item"], kind="stable")] for side in sides]
    _items, *places = np.intersect1d(
        sides[0]["item"], sides[1]["item"], assume_unique=True, return_indices=True
    )
    one, other = (side[place] for side, place in zip(sides, places, strict=True))
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
    return {"starts": starts, **points(pair_estimates(tables, scale))}


def pair_estimates(tables: np.ndarray, scale: QuestionScale) -> dict[str, Estimate]:
    """Name -> Estimate (T,) of tables (T, k, k)."""
    found = {
        weighted("cohen_kappa", name): cohen.kappa(tables, m)
        for name, m in scale.weightings().items()
    }
    if scale.kind != "nominal":
        found["mean_difference"] = two_raters.mean_difference(tables, scale.values)
    return found
