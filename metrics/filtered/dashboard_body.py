"""The ratings of a slice -> what its page shows, as plain JSON. Every number is that of
metrics.agreement on them.

``ratings`` is an array of slice_bodies.ROW: item, rater, code (place in declared order), day,
seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from metrics import periods
from metrics.agreement.counts import tally
from metrics.models import Reading
from metrics.results import bootstrap, question_results
from metrics.results.disagreement import disputed_items, findings
from metrics.results.grouped_patterns import Patterns
from metrics.results.headline import random_sample
from metrics.results.headline.headline_computation import of_ratings
from metrics.results.values import resting_on
from metrics.scale import QuestionScale, headlines
from ratings.services.days import date_of

from . import pair_bodies, rater_bodies
from .compact_values import CELLS, POINTS, Body, point, short

SHOWN_RATERS = 40  # of a heat map
RATERS = 500  # rows of the raters' table: those with the most ratings
FIRST = 5_000  # items that are told in their order


def dashboard(
    ratings: np.ndarray, scale: QuestionScale, *, models: Sequence[int], left_out: np.ndarray
) -> Body:
    """Everything of a filtered dashboard. Where both people and models rate, what is told is the
    people's, unless the lead wants them pooled; ``models``: the raters who are; ``left_out``: the
    ratings (M,) on which what is read first does not rest (readings.drawn)."""
    of_models = np.isin(ratings["rater"], models)
    apart = bool(of_models.any() and not of_models.all())
    first, row = of_ratings(ratings, of_models, scale)
    headline, coefficients = first.whole(row), row.pooled
    told = ratings[~of_models] if apart and not scale.pooled else ratings
    counted = tally.patterns(told["item"], told["code"], scale.k)
    everybody = tally.patterns(ratings["item"], ratings["code"], scale.k)
    everything, items = Patterns(everybody.counts, scale.k), everybody.n_items
    resampled = bootstrap.bootstrap(everybody.counts, items, scale)
    coefficients = bootstrap.filled(coefficients, resampled)
    if apart:
        resampled = bootstrap.bootstrap(counted.counts, counted.n_items, scale)
        headline["coefficients"] = bootstrap.filled(headline["coefficients"], resampled)
    headline = random_sample.instead(
        headline, ratings, of_models=of_models, left_out=left_out, scale=scale
    )
    raters, n_ratings = np.unique(ratings["rater"], return_counts=True)
    busiest = raters[np.lexsort((raters, -n_ratings))]
    pairwise, by_rater = pair_bodies.mean_pairwise(ratings, raters, scale)
    shown = np.sort(busiest[:SHOWN_RATERS])
    mine = ratings[np.isin(ratings["rater"], shown)]
    tables = tally.pair_tables(mine["item"], mine["rater"], mine["code"], scale.k)
    mine = told[np.isin(told["rater"], shown)]
    of_told = tally.pair_tables(mine["item"], mine["rater"], mine["code"], scale.k)
    by_items = pair_bodies.by_items(told, counted, scale)
    return {
        "n_ratings": len(ratings),
        "coefficients": coefficients | resting_on(pairwise, coefficients["percent_agreement"]),
        "headline": headline,
        "details": question_results.whole_details(everything, items, scale),
        "trend": trend(_of_latest_day(told, ratings), scale),
        "n_raters": len(raters),
        "raters": rater_bodies.rater_rows(
            ratings, busiest[:RATERS], by_rater, scale, others=~of_models if apart else None
        ),
        "shown": shown.tolist(),
        "pairs": pair_bodies.pair_rows(tables, scale, cells=True),
        "means": by_items,
        "findings": findings.in_order(
            [
                *findings.of(counted.counts, counted.n_items, of_told, scale),
                *findings.of_reading(
                    Reading(coefficients=coefficients, headline=headline), by_items
                ),
            ]
        ),
        "confusions": findings.confusions(counted.counts, counted.n_items),
        "disputes": most_disputed(ratings, scale),
    }


# --- over time


def _of_latest_day(told: np.ndarray, ratings: np.ndarray) -> np.ndarray:
    """``told`` with the day of the item's latest rating among all ``ratings``, as items are dated
    however many of their ratings are told."""
    items, place = np.unique(ratings["item"], return_inverse=True)
    latest = np.full(items.size, np.iinfo(np.int32).min)
    np.maximum.at(latest, place, ratings["day"])
    dated = told.copy()
    dated["day"] = latest[np.searchsorted(items, told["item"])]
    return dated


def trend(ratings: np.ndarray, scale: QuestionScale) -> Body:
    """Span -> {"starts": [...], coefficient -> [[reading, cumulative], ...]} of the newest POINTS
    periods."""
    counted = tally.patterns(ratings["item"], ratings["code"], scale.k, day=ratings["day"])
    if counted.day is None or not len(counted.n_items):
        return {}
    distinct, pattern = np.unique(counted.counts, axis=0, return_inverse=True)
    found = {}
    for span in periods.SPANS:
        begins, place = np.unique(periods.starts(counted.day, span), return_inverse=True)
        lines: Body = {name: [] for name in headlines(scale)}
        for part in _trend_chunks(
            place.ravel(), pattern.ravel(), counted.n_items, (len(begins), len(distinct))
        ):
            estimates = scale.patterns(distinct, part, names=headlines(scale))
            for name, estimate in estimates.items():
                own, total = estimate[0].readings(), estimate[1].readings()
                for one, other in zip(own, total, strict=True):
                    lines[name].append([point(one), short(other)])
        starts = [date_of(begin).isoformat() for begin in begins[-POINTS:].tolist()]
        found[span] = {"starts": starts, **lines}
    return found


def _trend_chunks(
    place: np.ndarray, pattern: np.ndarray, n_items: np.ndarray, shape: tuple[int, int]
) -> Iterator[np.ndarray]:
    """Items by pattern (2, D, P) of the newest periods: of each one, and of all until its end."""
    n_periods, n_patterns = shape
    first = max(0, n_periods - POINTS)
    total = np.bincount(pattern[place < first], n_items[place < first], n_patterns).astype(np.int64)
    step = max(1, CELLS // (4 * n_patterns))
    for start in range(first, n_periods, step):
        end = min(start + step, n_periods)
        here = (place >= start) & (place < end)
        cell = (place[here] - start) * n_patterns + pattern[here]
        sums = np.bincount(cell, n_items[here], (end - start) * n_patterns)
        own = sums.astype(np.int64).reshape(-1, n_patterns)
        until = total + own.cumsum(axis=0)
        total = until[-1]
        yield np.stack([own, until])


# --- where


def most_disputed(ratings: np.ndarray, scale: QuestionScale) -> Body:
    """Weighting -> [[item, counts, distance], ...], over as many of the newest items as CELLS
    allow."""
    items = np.unique(ratings["item"])
    most = max(1, CELLS // scale.k)
    newest = items[-most:]
    found = disputed_items.most_disputed(newest, _counts(ratings, newest, scale.k), scale)
    return found | {"whole": len(items) <= most}


def order(ratings: np.ndarray, scale: QuestionScale) -> Body:
    """The FIRST of all items, by each order that a list may have.

    {"n_items": items with ratings, "ratings": ids, "disagreement": {weighting: ids}}
    """
    items = np.unique(ratings["item"])
    weightings = scale.weightings()
    total = np.zeros(len(items), np.int64)
    apart = {name: np.zeros(len(items)) for name in weightings}
    step = max(1, CELLS // scale.k)
    for start in range(0, len(items), step):
        part = slice(start, start + step)
        counts = _counts(ratings, items[part], scale.k)
        total[part] = counts.sum(axis=1)
        for name, matrix in weightings.items():
            apart[name][part] = disputed_items.disagreement(counts, matrix)
    return {
        "n_items": len(items),
        "ratings": items[disputed_items.first(items, total, total)[:FIRST]].tolist(),
        "disagreement": {
            name: items[disputed_items.first(items, total, distance)[:FIRST]].tolist()
            for name, distance in apart.items()
        },
    }


def _counts(ratings: np.ndarray, items: np.ndarray, k: int) -> np.ndarray:
    """(n, k) ratings of each of these items, which follow each other among all (sorted ids)."""
    if not len(items):
        return np.zeros((0, k), np.int64)
    mine = ratings[(ratings["item"] >= items[0]) & (ratings["item"] <= items[-1])]
    cell = np.searchsorted(items, mine["item"]) * k + mine["code"]
    return np.bincount(cell, minlength=len(items) * k).reshape(-1, k)
