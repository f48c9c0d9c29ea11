"""Raters of a slice against their peers: all of them for the dashboard, or one over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metrics import periods
from metrics.agreement.counts import tally
from metrics.agreement.counts.additive import MOMENTS_UP_TO
from metrics.agreement.counts.tally import PairTables
from metrics.agreement.estimate import Estimate, number
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.agreement.weights import weighted
from metrics.results.values import resting_on
from metrics.scale import QuestionScale
from ratings.services.days import date_of

from .compact_values import CELLS, POINTS, Body, median_seconds, points
from .pair_bodies import mean, pair_rows

SPARK_RATERS = 100
SPARK_WEEKS = 26
PAIRS = 100  # of one rater
LUMP = np.iinfo(np.int64).min  # the day of ratings that are peers alone


def rater_rows(
    ratings: np.ndarray,
    raters: np.ndarray,
    pairwise: dict[int, Body],
    scale: QuestionScale,
    *,
    others: np.ndarray | None = None,
) -> list[Body]:
    """One dict a rater: id, number of ratings, readings, median seconds, sparklines. ``others``:
    which ratings are compared with; all when left out."""
    ids, tables, moments, n_items = _peers(ratings, raters, scale, others)
    estimates = scale.peers(tables, moments, n_items)
    sparks = _sparks(ratings, raters[:SPARK_RATERS], scale, others)
    order = np.argsort(ratings["rater"], kind="stable")
    starts, ends = np.searchsorted(ratings["rater"][order], [ids, ids + 1])
    places = np.searchsorted(ids, raters).tolist()
    rows = []
    for rater, place in zip(raters.tolist(), places, strict=True):
        own = ratings[order[starts[place] : ends[place]]]
        coefficients = {name: estimate.reading((place,)) for name, estimate in estimates.items()}
        coefficients |= resting_on(pairwise[rater], coefficients["vs_peers"])
        rows.append(
            {
                "id": rater,
                "n": len(own),
                "seconds": median_seconds(own["seconds"]),
                "coefficients": coefficients,
                "spark": sparks.get(rater, {}),
            }
        )
    return rows


def _peers(
    ratings: np.ndarray,
    raters: np.ndarray,
    scale: QuestionScale,
    others: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """ids (R,) ascending, tables (R, k, k), moments (R, k, k, k) or None, n_items (R,); zeros
    without shared items."""
    k = scale.k
    ids = np.sort(raters)
    columns = ratings["item"], ratings["rater"], ratings["code"]
    found = tally.peer_tables(*columns, k, others=others)
    wanted = np.isin(found.rater, ids)
    place = np.searchsorted(ids, found.rater[wanted])
    tables = np.zeros((len(ids), k, k), np.int64)
    tables[place] = found.tables[wanted]
    n_items = np.zeros(len(ids), np.int64)
    n_items[place] = found.n_items[wanted]
    moments = None
    if k <= MOMENTS_UP_TO:
        moments = np.zeros((len(ids), k, k, k), np.int64)
        if found.moments is not None:
            moments[place] = found.moments[wanted]
    return ids, tables, moments, n_items


def _sparks(
    ratings: np.ndarray, raters: np.ndarray, scale: QuestionScale, others: np.ndarray | None
) -> dict[int, Body]:
    """Rater -> coefficient -> values of the newest weeks. All other ratings are lumped together:
    peers alone."""
    if not len(ratings):
        return {}
    weeks = periods.starts(ratings["day"], "week")
    newest = weeks.max()
    told = np.isin(ratings["rater"], raters) & (weeks > newest - 7 * SPARK_WEEKS)
    day = np.where(told, weeks, LUMP)
    of_weeks, _starts, estimates = _over_time(ratings, day, scale, others)
    sparks: dict[int, Body] = {}
    for weights in scale.weighting_names():
        name = weighted("vs_peers", weights)
        if not estimates:
            continue
        firm = np.asarray(estimates[name].n_items) >= periods.FIRM
        values = np.where(firm, estimates[name].value, np.nan).tolist()
        for rater, value in zip(of_weeks.tolist(), values, strict=True):
            line = sparks.setdefault(rater, {}).setdefault(name, [])
            line.append(number(value))
    return sparks


def _over_time(
    ratings: np.ndarray, day: np.ndarray, scale: QuestionScale, others: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, dict[str, Estimate]]:
    """Raters (T,), days (T,) and estimates (T,) against the others, of the ratings whose ``day`` is
    no LUMP."""
    columns = ratings["item"], ratings["rater"], ratings["code"]
    found = tally.peer_tables(*columns, scale.k, day=day, others=others)
    if found.day is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), {}
    kept = found.day > LUMP
    moments = None if found.moments is None else found.moments[kept]
    estimates = scale.peers(found.tables[kept], moments, found.n_items[kept])
    return found.rater[kept], found.day[kept], estimates


# --- one rater


def rater(
    ratings: np.ndarray, rater_id: int, scale: QuestionScale, *, models: Sequence[int] = ()
) -> Body:
    """One rater against the others on the own items: readings, table, trend, pairs. The others are
    the people where both people and ``models`` rate."""
    of_models = np.isin(ratings["rater"], models)
    apart = bool(of_models.any() and not of_models.all())
    own = ratings[ratings["rater"] == rater_id]
    mine = np.isin(ratings["item"], own["item"])
    ratings = ratings[mine]
    others = ~of_models[mine] if apart else None
    wanted = np.array([rater_id])
    _ids, tables, moments, n_items = _peers(ratings, wanted, scale, others)
    estimates = scale.peers(tables, moments, n_items)
    coefficients = {name: estimate.reading((0,)) for name, estimate in estimates.items()}
    pairs = _pairs_with(ratings, rater_id, scale)
    for name in scale.weighting_names():
        kappas = [row[name][0] for row in pairs if row[name][0] is not None]
        coefficients[weighted(MEAN_PAIRWISE, name)] = mean(sum(kappas), len(kappas))
    return {
        "n_ratings": len(own),
        "seconds": median_seconds(own["seconds"]),
        "coefficients": coefficients,
        "table": tables[0].tolist(),
        "trend": {
            span: _rater_trend(ratings, rater_id, span, scale, others=others)
            for span in periods.SPANS
        },
        "pairs": sorted(pairs, key=lambda row: -row["n"])[:PAIRS],
    }


def _rater_trend(
    ratings: np.ndarray,
    rater_id: int,
    span: str,
    scale: QuestionScale,
    *,
    others: np.ndarray | None,
) -> Body:
    mine = ratings["rater"] == rater_id
    # The others' own readings are of no interest: one lump.
    day = np.where(mine, periods.starts(ratings["day"], span), LUMP)
    newest = np.unique(day[mine])[-POINTS:]
    if not len(newest):
        return {}
    day = np.where(mine & (day >= newest[0]), day, LUMP)
    _raters, begins, estimates = _over_time(ratings, day, scale, others)
    starts = [date_of(begin).isoformat() for begin in begins.tolist()]
    return {"starts": starts, **points(estimates)}


def _pairs_with(ratings: np.ndarray, rater_id: int, scale: QuestionScale) -> list[Body]:
    """Rows of pair_rows of the rater with each other one, the rater as ``a``; portions of raters
    bound the memory."""
    others = np.setdiff1d(ratings["rater"], [rater_id])
    mine = ratings[ratings["rater"] == rater_id]
    mine = mine[np.argsort(mine["item"])]
    found = []
    size = max(1, CELLS // (scale.k**2 + 1))
    for start in range(0, len(others), size):
        part = others[start : start + size]
        theirs = ratings[np.isin(ratings["rater"], part)]
        own = mine["code"][np.searchsorted(mine["item"], theirs["item"])]
        cell = (np.searchsorted(part, theirs["rater"]) * scale.k + own) * scale.k + theirs["code"]
        tables = np.bincount(cell, minlength=len(part) * scale.k**2).reshape(-1, scale.k, scale.k)
        found += pair_rows(PairTables(np.full(len(part), rater_id), part, tables), scale)
    return found
