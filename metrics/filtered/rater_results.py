"""Compute raters against their peers from filtered ratings: all raters, or one over time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from metrics import periods
from metrics.agreement.counts import tally
from metrics.agreement.counts.tally import PairTables, PeerTables
from metrics.agreement.weights import get_weighted_name
from metrics.question_scale import QuestionScale
from metrics.results.intervals import QuestionClusters
from metrics.results.pair_means import build_rater_means
from metrics.results.patterns import iter_values_by_name
from metrics.results.rater_periods import list_period_values
from metrics.results.rater_results import RaterAgreement, add_sample_sizes, sum_by_period
from metrics.results.stored_values import Values
from projects.models import Rater
from ratings.services.rating_timestamps import date_from_day

from .compact_values import (
    MAX_CELLS,
    MAX_POINTS,
    TrendResults,
    compute_median_seconds,
    to_trend_points,
)
from .pair_results import PairRow, build_pair_rows

MAX_SPARK_RATERS = 100
SPARK_WEEKS = 26
MAX_PAIRS = 100  # of one rater
PEERS_ONLY = np.iinfo(np.int64).min  # the day of ratings that serve as peers only

# Coefficient -> values of the newest weeks, oldest first; None for a week with too few items
Weeks = dict[str, list[float | None]]


class RaterRow(TypedDict):
    """A rater in a dashboard: number of ratings, median seconds, values, and weekly values.

    ``seconds`` is None if no rating has them. ``coefficients`` are those against the peers and the
    means over pairs, by name; ``weekly_values`` those against the peers, empty for a rater beyond
    the first MAX_SPARK_RATERS or without shared items in these weeks.
    """

    id: int
    n: int
    seconds: float | None
    coefficients: Values
    weekly_values: Weeks


@dataclass(frozen=True, kw_only=True)
class RaterResults(TrendResults):
    """Values, table, trend and pairs of one rater, on items that the rater rated."""

    n_ratings: int
    seconds: float | None
    coefficients: Values
    table: list[list[int]]
    pairs: list[PairRow]

    def get_agreement(self, rater: Rater) -> RaterAgreement | None:
        """Return the agreement of the rater; None without a rating."""
        if not self.n_ratings:
            return None
        agreement = RaterAgreement(
            rater, self.n_ratings, self.coefficients, self.seconds, self.table
        )
        return agreement.widen_intervals(self.clusters)


def list_rater_agreements(
    rows: Collection[RaterRow], clusters: QuestionClusters | None
) -> list[RaterAgreement]:
    """Return the agreement of each rater, without those deleted since; one query.

    Intervals are widened for the ``clusters``, if the project has any (None: it has none).
    """
    raters = Rater.objects.in_bulk([row["id"] for row in rows])
    return [
        RaterAgreement(
            raters[row["id"]], row["n"], row["coefficients"], row["seconds"]
        ).widen_intervals(clusters)
        for row in rows
        if row["id"] in raters
    ]


def build_rater_rows(
    ratings: np.ndarray,
    raters: np.ndarray,
    pairwise_means: dict[int, Values],
    scale: QuestionScale,
    *,
    is_peer: np.ndarray | None = None,
) -> list[RaterRow]:
    """Return a row for each of the raters.

    ``pairwise_means``: means over pairs by rater; ``is_peer``: mask of the ratings to compare with,
    None for all.
    """
    columns = ratings["item"], ratings["rater"], ratings["code"]
    peers = tally.count_peer_tables(*columns, scale.k, others=is_peer)
    peers = _select_raters(peers, np.sort(raters))
    values_by_rater = dict(
        zip(peers.rater.tolist(), iter_values_by_name(scale.estimate_peers(peers)), strict=True)
    )
    weekly_values = _compute_weekly_values(ratings, raters[:MAX_SPARK_RATERS], scale, is_peer)
    order = np.argsort(ratings["rater"], kind="stable")
    starts, ends = np.searchsorted(ratings["rater"][order], [raters, raters + 1])
    rows: list[RaterRow] = []
    for rater, start, end in zip(raters.tolist(), starts, ends, strict=True):
        own_ratings = ratings[order[start:end]]
        values = values_by_rater[rater]
        rows.append(
            {
                "id": rater,
                "n": len(own_ratings),
                "seconds": compute_median_seconds(own_ratings["seconds"]),
                "coefficients": values | add_sample_sizes(values, pairwise_means[rater]),
                "weekly_values": weekly_values.get(rater, {}),
            }
        )
    return rows


def _select_raters(peers: PeerTables, raters: np.ndarray) -> PeerTables:
    """Return the tables of these raters (R,), ascending; zeros for those without shared items.

    ``peers``: counted over all days. The moments are None if ``peers`` has none.
    """
    counted = peers.select(np.isin(peers.rater, raters))
    rows = np.searchsorted(raters, counted.rater)

    def spread(counts: np.ndarray) -> np.ndarray:
        spread_counts = np.zeros((len(raters), *counts.shape[1:]), np.int64)
        spread_counts[rows] = counts
        return spread_counts

    moments = None if counted.moments is None else spread(counted.moments)
    return PeerTables(raters, None, spread(counted.tables), moments, spread(counted.n_items))


def _compute_weekly_values(
    ratings: np.ndarray, raters: np.ndarray, scale: QuestionScale, is_peer: np.ndarray | None
) -> dict[int, Weeks]:
    """Return rater -> coefficient -> values of the newest SPARK_WEEKS weeks, oldest first.

    None for a week with too few items. Ratings of other raters and weeks serve as peers only.
    ``is_peer`` (M,): mask of the ratings to compare with, None for all.
    """
    if not len(ratings):
        return {}
    day = tally.compute_comparison_days(ratings["item"], ratings["day"], others=is_peer)
    weeks = periods.compute_start_days(day, "week")
    displayed = np.isin(ratings["rater"], raters) & (weeks > weeks.max() - 7 * SPARK_WEEKS)
    peers = _count_peers_by_day(ratings, np.where(displayed, weeks, PEERS_ONLY), scale, is_peer)
    names = [get_weighted_name("vs_peers", weights) for weights in scale.list_weightings()]
    weekly_values: dict[int, Weeks] = {}
    # No moments: the intervals are not needed.
    rows = list_period_values(replace(peers, moments=None), scale, "week", names)
    for rater, _start, *values in rows:
        lines = weekly_values.setdefault(rater, {name: [] for name in names})
        for name, value in zip(names, values, strict=True):
            lines[name].append(value["value"] if periods.has_enough_items(value) else None)
    return weekly_values


def _count_peers_by_day(
    ratings: np.ndarray, day: np.ndarray, scale: QuestionScale, is_peer: np.ndarray | None
) -> PeerTables:
    """Return the peer tables of the ratings (M,) by rater and ``day`` (M,).

    Ratings whose day is PEERS_ONLY are compared with, but have no table of their own. ``is_peer``
    (M,): mask of the ratings to compare with, None for all.
    """
    columns = ratings["item"], ratings["rater"], ratings["code"]
    peers = tally.count_peer_tables(*columns, scale.k, day=day, others=is_peer)
    return peers.select(np.asarray(peers.day) > PEERS_ONLY)


# --- one rater


def compute_rater_results(
    ratings: np.ndarray,
    rater_id: int,
    scale: QuestionScale,
    *,
    models: Sequence[int],
    clusters: QuestionClusters | None,
) -> RaterResults:
    """Compute the results of one rater from ratings (M,) that include all on the rater's items.

    Where both people and ``models`` rate, coefficients, table and trend compare with people only;
    pairs include models. ``clusters``: None where the project has none.
    """
    is_model = np.isin(ratings["rater"], models)
    separate = bool(is_model.any() and not is_model.all())
    own_ratings = ratings[ratings["rater"] == rater_id]
    on_own_items = np.isin(ratings["item"], own_ratings["item"])
    ratings = ratings[on_own_items]
    is_peer = ~is_model[on_own_items] if separate else None
    day = tally.compute_comparison_days(ratings["item"], ratings["day"], others=is_peer)
    day = np.where(ratings["rater"] == rater_id, day, PEERS_ONLY)
    by_day = _count_peers_by_day(ratings, day, scale, is_peer)
    all_days = _sum_over_days(by_day, rater_id)
    (values,) = iter_values_by_name(scale.estimate_peers(all_days))
    pairs = _build_pairs_of_rater(ratings, rater_id, scale)
    not_peers = {rater_id, *models} if separate else {rater_id}
    pairs_with_peers = [row for row in pairs if not {row["a"], row["b"]} <= not_peers]
    means = _compute_means_over_pairs(pairs_with_peers, scale)
    return RaterResults(
        n_ratings=len(own_ratings),
        seconds=compute_median_seconds(own_ratings["seconds"]),
        coefficients=values | add_sample_sizes(values, means),
        table=all_days.tables[0].tolist(),
        trend={span: _compute_rater_trend(by_day, span, scale) for span in periods.SPANS},
        pairs=sorted(pairs, key=lambda row: -row["n"])[:MAX_PAIRS],
        clusters=clusters,
    )


def _sum_over_days(peers: PeerTables, rater_id: int) -> PeerTables:
    """Return the table over all days of the one rater of these tables; zeros without any."""
    moments = None if peers.moments is None else peers.moments.sum(axis=0, keepdims=True)
    tables = peers.tables.sum(axis=0, keepdims=True)
    return PeerTables(np.array([rater_id]), None, tables, moments, peers.n_items.sum(keepdims=True))


def _compute_means_over_pairs(pairs: Sequence[PairRow], scale: QuestionScale) -> Values:
    """Return the mean of the defined kappas of these pairs under each weighting, by name."""
    sums = {}
    for name in scale.list_weightings():
        values = [row["kappas"][name][0] for row in pairs]
        kappas = [float(value) for value in values if value is not None]
        sums[name] = sum(kappas), len(kappas)
    return build_rater_means(sums)


def _compute_rater_trend(
    by_day: PeerTables, span: str, scale: QuestionScale
) -> dict[str, list[Any]]:
    """Return the first days, and the rater's trend points by coefficient, of the newest periods.

    ``by_day``: the rater's tables by day.
    """
    newest = sum_by_period(by_day, span).select(slice(-MAX_POINTS, None))
    starts = [date_from_day(day).isoformat() for day in np.asarray(newest.day).tolist()]
    return {"starts": starts, **to_trend_points(scale.estimate_peers(newest))}


def _build_pairs_of_rater(
    ratings: np.ndarray, rater_id: int, scale: QuestionScale
) -> list[PairRow]:
    """Return the pair rows of the rater with each other rater, the rater as ``a``.

    In blocks of raters, to bound the memory.
    """
    other_raters = np.setdiff1d(ratings["rater"], [rater_id])
    own_ratings = ratings[ratings["rater"] == rater_id]
    own_ratings = own_ratings[np.argsort(own_ratings["item"])]
    rows = []
    size = max(1, MAX_CELLS // (scale.k**2 + 1))
    for start in range(0, len(other_raters), size):
        block = other_raters[start : start + size]
        block_ratings = ratings[np.isin(ratings["rater"], block)]
        own_codes = own_ratings["code"][np.searchsorted(own_ratings["item"], block_ratings["item"])]
        cell = (
            np.searchsorted(block, block_ratings["rater"]) * scale.k + own_codes
        ) * scale.k + block_ratings["code"]
        tables = np.bincount(cell, minlength=len(block) * scale.k**2).reshape(-1, scale.k, scale.k)
        rows += build_pair_rows(PairTables(np.full(len(block), rater_id), block, tables), scale)
    return rows
