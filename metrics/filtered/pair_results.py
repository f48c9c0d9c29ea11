"""Compute pairs of raters of filtered ratings: kappas, tables and trends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import numpy as np

from metrics import periods
from metrics.agreement.coefficients import cohen
from metrics.agreement.counts.tally import PairTables
from metrics.question_scale import QuestionScale
from metrics.results.intervals import QuestionClusters
from metrics.results.pair_results import PairAgreement
from projects.models import Rater
from ratings.services.rating_timestamps import date_from_day

from .compact_values import (
    MAX_CELLS,
    MAX_POINTS,
    ShortList,
    TrendResults,
    to_short_list,
    to_trend_points,
)


class PairRow(TypedDict):
    """A pair of raters: ids ``a`` and ``b``, number ``n`` of shared items, and kappas by weighting.

    ``cells``: the non-zero cells of their table, as [row, column, items].
    """

    a: int
    b: int
    n: int
    kappas: dict[str, ShortList]
    cells: NotRequired[list[list[int]]]


@dataclass(frozen=True, kw_only=True)
class PairResults(TrendResults):
    """The table of two raters, the first in rows, and their values by day, week and month."""

    table: list[list[int]]


def list_pairs(
    rows: Sequence[PairRow],
    raters: Mapping[int, Rater],
    weights: str,
    clusters: QuestionClusters | None,
) -> list[PairAgreement]:
    """Return the pairs of existing raters with their kappa under one weighting.

    ``raters``: by id; ``clusters``: None where the project has none. Rows without this weighting,
    as those of an older scale, are left out.
    """
    return [
        PairAgreement.from_kappa(
            raters[row["a"]],
            raters[row["b"]],
            row["kappas"][weights],
            row["n"],
            weights=weights,
            clusters=clusters,
        )
        for row in rows
        if row["a"] in raters and row["b"] in raters and weights in row["kappas"]
    ]


def build_pair_rows(
    tables: PairTables, scale: QuestionScale, *, cells: bool = False
) -> list[PairRow]:
    """Return a row for each pair; with ``cells``, also the cells of its table."""
    if not len(tables):
        return []
    n_items = tables.tables.sum(axis=(1, 2)).tolist()
    columns = zip(tables.rater_a.tolist(), tables.rater_b.tolist(), n_items, strict=True)
    rows: list[PairRow] = [{"a": a, "b": b, "n": n, "kappas": {}} for a, b, n in columns]
    for name, matrix in scale.build_weight_matrices().items():
        kappas = cohen.kappa(tables.tables, matrix).to_values()
        for row, value in zip(rows, kappas, strict=True):
            row["kappas"][name] = to_short_list(value)
    for row, table in zip(rows, tables.tables, strict=True) if cells else ():
        i, j = np.nonzero(table)
        row["cells"] = np.stack([i, j, table[i, j]], axis=1).tolist()
    return rows


# --- two raters


def compute_pair_results(
    ratings: np.ndarray,
    rater_a: int,
    rater_b: int,
    scale: QuestionScale,
    *,
    clusters: QuestionClusters | None,
) -> PairResults:
    """Compute the results of two raters from the ratings (M,) of both.

    An item belongs to the day of the later of the two ratings. ``clusters``: None where the project
    has none.
    """
    ratings_a = ratings[ratings["rater"] == rater_a]
    ratings_b = ratings[ratings["rater"] == rater_b]
    _items, index_a, index_b = np.intersect1d(
        ratings_a["item"], ratings_b["item"], assume_unique=True, return_indices=True
    )
    shared_a, shared_b = ratings_a[index_a], ratings_b[index_b]
    day = np.maximum(shared_a["day"], shared_b["day"])
    cell = shared_a["code"].astype(np.int64) * scale.k + shared_b["code"]
    table = np.bincount(cell, minlength=scale.k**2).reshape(scale.k, scale.k)
    return PairResults(
        table=table.tolist(),
        trend={span: _compute_pair_trend(day, cell, span, scale) for span in periods.SPANS},
        clusters=clusters,
    )


def _compute_pair_trend(
    day: np.ndarray, cell: np.ndarray, span: str, scale: QuestionScale
) -> dict[str, list[Any]]:
    """Return the first days, and the pair's trend points by coefficient, of the newest periods.

    ``day`` and ``cell`` (n,): the day of each shared item, and the cell of its codes in the
    table.
    """
    cells = scale.k**2
    start_days, period_index = np.unique(periods.compute_start_days(day, span), return_inverse=True)
    max_periods = max(1, min(MAX_POINTS, MAX_CELLS // cells))
    first = max(0, len(start_days) - max_periods)
    included = period_index >= first
    size = (len(start_days) - first) * cells
    tables = np.bincount((period_index[included] - first) * cells + cell[included], minlength=size)[
        :size
    ]
    tables = tables.reshape(-1, scale.k, scale.k)
    starts = [date_from_day(start_day).isoformat() for start_day in start_days[first:].tolist()]
    return {"starts": starts, **to_trend_points(scale.estimate_pair_trend(tables))}
