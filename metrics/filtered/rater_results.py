"""Compute raters against their peers from filtered ratings: all raters, or one over time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from metrics import periods
from metrics.agreement.counts import tally
from metrics.agreement.counts.additive import MAX_MOMENT_CATEGORIES
from metrics.agreement.counts.tally import PairTables
from metrics.agreement.estimate import Estimate, to_finite_float
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.agreement.weights import get_weighted_name
from metrics.question_scale import QuestionScale
from metrics.results.intervals import QuestionClusters
from metrics.results.rater_results import RaterAgreement
from metrics.results.stored_values import Values, copy_sample_sizes
from projects.models import Rater
from ratings.services.rating_times import date_from_day

from .compact_values import (
    MAX_CELLS,
    MAX_POINTS,
    TrendResults,
    compute_median_seconds,
    to_trend_points,
)
from .pair_results import PairRow, build_mean_kappa_value, build_pair_rows

MAX_SPARK_RATERS = 100
SPARK_WEEKS = 26
MAX_PAIRS = 100  # of one rater
PEERS_ONLY = np.iinfo(np.int64).min  # the day of ratings that serve as peers only

Weeks = dict[str, list[float | None]]  # values of the newest weeks, by coefficient


class RaterRow(TypedDict):
    """A rater in a dashboard: number of ratings, median seconds, values, and weekly values."""

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
    ids, tables, moments, n_items = _tally_peers(ratings, raters, scale, is_peer)
    estimates = scale.estimate_peers(tables, moments, n_items)
    sparks = _compute_sparklines(ratings, raters[:MAX_SPARK_RATERS], scale, is_peer)
    order = np.argsort(ratings["rater"], kind="stable")
    starts, ends = np.searchsorted(ratings["rater"][order], [ids, ids + 1])
    indices = np.searchsorted(ids, raters).tolist()
    rows: list[RaterRow] = []
    for rater, index in zip(raters.tolist(), indices, strict=True):
        own_ratings = ratings[order[starts[index] : ends[index]]]
        coefficients = {name: estimate.to_value((index,)) for name, estimate in estimates.items()}
        coefficients |= copy_sample_sizes(pairwise_means[rater], coefficients["vs_peers"])
        rows.append(
            {
                "id": rater,
                "n": len(own_ratings),
                "seconds": compute_median_seconds(own_ratings["seconds"]),
                "coefficients": coefficients,
                "weekly_values": sparks.get(rater, {}),
            }
        )
    return rows


def _tally_peers(
    ratings: np.ndarray,
    raters: np.ndarray,
    scale: QuestionScale,
    is_peer: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """Return ids, tables, moments and n_items of these raters against the peers.

    ids (R,) ascending, tables (R, k, k), moments (R, k, k, k) or None, n_items (R,). They are zeros
    for raters without shared items.
    """
    k = scale.k
    ids = np.sort(raters)
    columns = ratings["item"], ratings["rater"], ratings["code"]
    peer_tables = tally.count_peer_tables(*columns, k, others=is_peer)
    selected = np.isin(peer_tables.rater, ids)
    indices = np.searchsorted(ids, peer_tables.rater[selected])
    tables = np.zeros((len(ids), k, k), np.int64)
    tables[indices] = peer_tables.tables[selected]
    n_items = np.zeros(len(ids), np.int64)
    n_items[indices] = peer_tables.n_items[selected]
    moments = None
    if k <= MAX_MOMENT_CATEGORIES:
        moments = np.zeros((len(ids), k, k, k), np.int64)
        if peer_tables.moments is not None:
            moments[indices] = peer_tables.moments[selected]
    return ids, tables, moments, n_items


def _compute_sparklines(
    ratings: np.ndarray, raters: np.ndarray, scale: QuestionScale, is_peer: np.ndarray | None
) -> dict[int, Weeks]:
    """Return rater -> coefficient -> values of the newest SPARK_WEEKS weeks, oldest first.

    None for a week with too few items. Ratings of other raters and weeks serve as peers only.
    """
    if not len(ratings):
        return {}
    weeks = periods.compute_start_days(
        tally.compute_comparison_days(ratings["item"], ratings["day"], others=is_peer), "week"
    )
    newest = weeks.max()
    displayed = np.isin(ratings["rater"], raters) & (weeks > newest - 7 * SPARK_WEEKS)
    day = np.where(displayed, weeks, PEERS_ONLY)
    rater_ids, _starts, estimates = _estimate_by_day(ratings, day, scale, is_peer)
    sparks: dict[int, Weeks] = {}
    for weights in scale.list_weightings():
        name = get_weighted_name("vs_peers", weights)
        if not estimates:
            continue
        has_enough_items = np.asarray(estimates[name].n_items) >= periods.MIN_ITEMS
        values = np.where(has_enough_items, estimates[name].value, np.nan).tolist()
        for rater, value in zip(rater_ids.tolist(), values, strict=True):
            points = sparks.setdefault(rater, {}).setdefault(name, [])
            points.append(to_finite_float(value))
    return sparks


def _estimate_by_day(
    ratings: np.ndarray, day: np.ndarray, scale: QuestionScale, is_peer: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, dict[str, Estimate]]:
    """Return raters (T,), days (T,) and estimates (T,) of the raters against their peers.

    Ratings whose ``day`` is PEERS_ONLY are compared with, but have no estimate of their own.
    """
    columns = ratings["item"], ratings["rater"], ratings["code"]
    peer_tables = tally.count_peer_tables(*columns, scale.k, day=day, others=is_peer)
    if peer_tables.day is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), {}
    included = peer_tables.day > PEERS_ONLY
    moments = None if peer_tables.moments is None else peer_tables.moments[included]
    estimates = scale.estimate_peers(
        peer_tables.tables[included], moments, peer_tables.n_items[included]
    )
    return peer_tables.rater[included], peer_tables.day[included], estimates


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
    rater_ids = np.array([rater_id])
    _ids, tables, moments, n_items = _tally_peers(ratings, rater_ids, scale, is_peer)
    estimates = scale.estimate_peers(tables, moments, n_items)
    coefficients = {name: estimate.to_value((0,)) for name, estimate in estimates.items()}
    pairs = _build_pairs_of_rater(ratings, rater_id, scale)
    not_peers = {rater_id, *models} if separate else {rater_id}
    pairs_with_peers = [row for row in pairs if not {row["a"], row["b"]} <= not_peers]
    coefficients |= _compute_means_over_pairs(pairs_with_peers, scale)
    return RaterResults(
        n_ratings=len(own_ratings),
        seconds=compute_median_seconds(own_ratings["seconds"]),
        coefficients=coefficients,
        table=tables[0].tolist(),
        trend={
            span: _compute_rater_trend(ratings, rater_id, span, scale, is_peer=is_peer)
            for span in periods.SPANS
        },
        pairs=sorted(pairs, key=lambda row: -row["n"])[:MAX_PAIRS],
        clusters=clusters,
    )


def _compute_means_over_pairs(pairs: Sequence[PairRow], scale: QuestionScale) -> Values:
    """Return the mean of the defined kappas of these pairs under each weighting, by name."""
    means: Values = {}
    for name in scale.list_weightings():
        values = [row["kappas"][name][0] for row in pairs]
        kappas = [float(value) for value in values if value is not None]
        means[get_weighted_name(MEAN_PAIRWISE, name)] = build_mean_kappa_value(
            sum(kappas), len(kappas)
        )
    return means


def _compute_rater_trend(
    ratings: np.ndarray,
    rater_id: int,
    span: str,
    scale: QuestionScale,
    *,
    is_peer: np.ndarray | None,
) -> dict[str, list[Any]]:
    """Return the first days, and the rater's trend points by coefficient, of the newest periods.

    ``is_peer``: mask of the ratings to compare with, None for all. Empty without a rating of
    the rater.
    """
    is_own = ratings["rater"] == rater_id
    # The values of the others are not needed: their ratings serve as peers only.
    day = tally.compute_comparison_days(ratings["item"], ratings["day"], others=is_peer)
    day = np.where(is_own, periods.compute_start_days(day, span), PEERS_ONLY)
    newest = np.unique(day[is_own])[-MAX_POINTS:]
    if not len(newest):
        return {}
    day = np.where(is_own & (day >= newest[0]), day, PEERS_ONLY)
    _raters, start_days, estimates = _estimate_by_day(ratings, day, scale, is_peer)
    starts = [date_from_day(start_day).isoformat() for start_day in start_days.tolist()]
    return {"starts": starts, **to_trend_points(estimates)}


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
