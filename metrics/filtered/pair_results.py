"""Compute pairs of raters of filtered ratings: kappas, mean kappas and trends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import numpy as np

from metrics import periods
from metrics.agreement.coefficients import cohen
from metrics.agreement.counts import tally
from metrics.agreement.counts.tally import PairTables
from metrics.agreement.estimate import Value
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.agreement.weights import get_weighted_name
from metrics.question_scale import QuestionScale
from metrics.results import pair_results
from metrics.results.intervals import QuestionClusters
from metrics.results.pair_results import PairAgreement
from metrics.results.stored_values import Values, build_pair_mean_value
from projects.models import Rater
from ratings.services.rating_times import date_from_day

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


@dataclass(frozen=True)
class PairMeans:
    """Mean kappas of pairs, by name: of all pairs, of pairs of peers, and for each rater.

    Peers are people where models are separate, else all raters; a rater's mean is over the pairs
    with peers.
    """

    pooled: Values
    peers: Values
    by_rater: dict[int, Values]


def compute_mean_pairwise(
    ratings: np.ndarray, raters: np.ndarray, scale: QuestionScale, *, is_peer: np.ndarray
) -> PairMeans:
    """Return the means of the pairs' defined kappas under each weighting.

    ``raters`` (R,): ascending ids; ``is_peer`` (R,): mask of the raters that are peers.
    """
    weightings = scale.build_weight_matrices()
    names = [get_weighted_name(MEAN_PAIRWISE, name) for name in weightings]
    # Rows: each rater with the peers, the pairs of all raters, and those of the peers.
    total = np.zeros((len(names), len(raters) + 2))
    n_pairs = np.zeros(total.shape, np.int64)
    for tables in iter_pair_blocks(ratings, raters, scale.k):
        first, second = (np.searchsorted(raters, ids) for ids in (tables.rater_a, tables.rater_b))
        everybody = np.full(len(first), len(raters))
        groups = (
            (first, is_peer[second]),
            (second, is_peer[first]),
            (everybody, np.ones(len(first), bool)),
            (everybody + 1, is_peer[first] & is_peer[second]),
        )
        for row, matrix in enumerate(weightings.values()):
            kappa = cohen.kappa(tables.tables, matrix, interval=False).value
            for target, is_included in groups:
                included = is_included & np.isfinite(kappa)
                total[row] += np.bincount(target[included], kappa[included], total.shape[1])
                n_pairs[row] += np.bincount(target[included], minlength=total.shape[1])
    *by_rater, pooled, peers = (
        {
            name: build_mean_kappa_value(kappas, number)
            for name, kappas, number in zip(names, total_column, number_column, strict=True)
        }
        for total_column, number_column in zip(total.T.tolist(), n_pairs.T.tolist(), strict=True)
    )
    return PairMeans(pooled, peers, dict(zip(raters.tolist(), by_rater, strict=True)))


def compute_mean_kappas_by_shared_items(
    ratings: np.ndarray, patterns: tally.PatternCounts, scale: QuestionScale
) -> Values:
    """Return mean pairwise kappas, with intervals, of the MAX_PAIRS pairs that share most items.

    ``patterns``: the patterns of these ratings.
    """
    raters = np.unique(ratings["rater"])
    pair_columns: list[np.ndarray] = []
    kappas: list[list[np.ndarray]] = []
    for tables in iter_pair_blocks(ratings, raters, scale.k):
        shared = tables.tables.sum(axis=(1, 2))
        pair_columns.append(np.stack([tables.rater_a, tables.rater_b, shared]))
        values = []
        for matrix in scale.build_weight_matrices().values():
            values.append(cohen.kappa(tables.tables, matrix, interval=False).value)
        kappas.append(values)
    if not pair_columns:
        return {}
    pairs = np.concatenate(pair_columns, axis=1)
    kappa_values = np.concatenate([np.stack(values) for values in kappas], axis=1)
    by_shared_items = np.argsort(-pairs[2], kind="stable")[: pair_results.MAX_PAIRS]
    return pair_results.compute_mean_kappas(
        pairs[:, by_shared_items],
        list(kappa_values[:, by_shared_items]),
        (patterns.counts, patterns.n_items),
        scale,
    )


def build_mean_kappa_value(total: float, n_pairs: int) -> Value:
    """Return the Value of a mean of ``n_pairs`` kappas."""
    return build_pair_mean_value(float(total) / n_pairs if n_pairs else None, n_pairs)


def iter_pair_blocks(ratings: np.ndarray, raters: np.ndarray, k: int) -> Iterator[PairTables]:
    """Yield every pair of raters once, in blocks whose tables have at most MAX_CELLS numbers.

    ``ratings`` (M,): filtered_jobs.ROW; ``raters`` (R,): ascending ids; ``k``: categories.
    """
    # Raters of one side; two sides give size * size * 2 pairs.
    size = max(1, int((2 * MAX_CELLS / k**2) ** 0.5) // 2)
    block = np.searchsorted(raters, ratings["rater"]) // size
    n_blocks = -(-len(raters) // size)
    for first in range(n_blocks):
        for second in range(first, n_blocks):
            if first == second and n_blocks > 1 and first + 1 < n_blocks:
                continue  # its pairs are yielded with those of the next block
            block_ratings = ratings[(block == first) | (block == second)]
            tables = tally.count_pair_tables(
                block_ratings["item"], block_ratings["rater"], block_ratings["code"], k
            )
            block_a = np.searchsorted(raters, tables.rater_a) // size
            block_b = np.searchsorted(raters, tables.rater_b) // size
            included = (block_a != block_b) | (
                (block_a == first) & (second == min(first + 1, n_blocks - 1))
            )
            yield PairTables(
                tables.rater_a[included], tables.rater_b[included], tables.tables[included]
            )


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
