"""The body of a filtered dashboard, and the order of a question's items, as plain JSON.

Every number is computed by metrics.agreement from ``ratings``: an array of bodies.ROW with item,
rater, code (index in declared order), day, seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from metrics import periods
from metrics.agreement.counts import tally
from metrics.models import Result
from metrics.results import bootstrap, question_results
from metrics.results.disagreement import disputed_items, findings
from metrics.results.grouped_patterns import GroupedPatterns
from metrics.results.headline import random_sample
from metrics.results.headline.headline_computation import build_headline_from_ratings
from metrics.results.values import copy_sample_sizes
from metrics.scale import QuestionScale, list_headline_coefficients
from ratings.services.rating_times import date_from_day

from . import pair_bodies, rater_bodies
from .compact_values import MAX_CELLS, MAX_POINTS, Body, to_short_list, to_trend_point

MAX_HEATMAP_RATERS = 40
MAX_TABLE_RATERS = 500  # those with the most ratings
MAX_ORDERED_ITEMS = 5_000


def compute_dashboard(
    ratings: np.ndarray, scale: QuestionScale, *, models: Sequence[int], is_excluded: np.ndarray
) -> Body:
    """Return the body of a filtered dashboard.

    Where both people and models rate, the results of people are shown, unless the lead pooled them.
    ``models``: ids of the raters that are models; ``is_excluded``: mask of the ratings (M,) that
    the headline is not based on (results.headline.random_sample).
    """
    is_model = np.isin(ratings["rater"], models)
    separate = bool(is_model.any() and not is_model.all())
    builder, row = build_headline_from_ratings(ratings, is_model, scale)
    headline, coefficients = builder.build_headline(row), row.pooled
    displayed = ratings[~is_model] if separate and not scale.pooled else ratings
    patterns = tally.count_patterns(displayed["item"], displayed["code"], scale.k)
    all_patterns = tally.count_patterns(ratings["item"], ratings["code"], scale.k)
    grouped, n_items = GroupedPatterns(all_patterns.counts, scale.k), all_patterns.n_items
    displayed_details = question_results.compute_details(
        GroupedPatterns(patterns.counts, scale.k), patterns.n_items, scale
    )
    intervals = bootstrap.compute_intervals(all_patterns.counts, n_items, scale)
    coefficients = bootstrap.add_intervals(coefficients, intervals)
    if separate:
        intervals = bootstrap.compute_intervals(patterns.counts, patterns.n_items, scale)
        headline["coefficients"] = bootstrap.add_intervals(headline["coefficients"], intervals)
    headline = random_sample.replace_by_sample_headline(
        headline, ratings, is_model=is_model, is_excluded=is_excluded, scale=scale
    )
    raters, n_ratings = np.unique(ratings["rater"], return_counts=True)
    busiest = raters[np.lexsort((raters, -n_ratings))]
    pairwise_means, means_by_rater = pair_bodies.compute_mean_pairwise(ratings, raters, scale)
    heatmap_raters = np.sort(busiest[:MAX_HEATMAP_RATERS])
    heatmap_ratings = ratings[np.isin(ratings["rater"], heatmap_raters)]
    tables = tally.count_pair_tables(
        heatmap_ratings["item"], heatmap_ratings["rater"], heatmap_ratings["code"], scale.k
    )
    heatmap_ratings = displayed[np.isin(displayed["rater"], heatmap_raters)]
    displayed_tables = tally.count_pair_tables(
        heatmap_ratings["item"], heatmap_ratings["rater"], heatmap_ratings["code"], scale.k
    )
    means_by_items = pair_bodies.compute_means_by_items(displayed, patterns, scale)
    return {
        "n_ratings": len(ratings),
        "coefficients": coefficients
        | copy_sample_sizes(pairwise_means, coefficients["percent_agreement"]),
        "headline": headline,
        "details": question_results.compute_details(grouped, n_items, scale)
        | {"categories": displayed_details["categories"]},
        "trend": compute_trend(displayed, scale),
        "n_raters": len(raters),
        "raters": rater_bodies.build_rater_rows(
            ratings,
            busiest[:MAX_TABLE_RATERS],
            means_by_rater,
            scale,
            is_peer=~is_model if separate else None,
        ),
        "heat_map_raters": heatmap_raters.tolist(),
        "pairs": pair_bodies.build_pair_rows(tables, scale, cells=True),
        "means": means_by_items,
        "findings": findings.sort_and_filter_findings(
            [
                *findings.diagnose_patterns(
                    patterns.counts, patterns.n_items, displayed_tables, scale
                ),
                *findings.find_coefficient_differences(
                    Result(coefficients=coefficients, headline=headline), means_by_items, scale
                ),
                *findings.find_outlying_raters(displayed, scale, headline["weights"]),
            ]
        ),
        "confusions": findings.find_confusions(patterns.counts, patterns.n_items),
        "disputes": find_most_disputed(ratings, scale),
    }


# --- trend


def compute_trend(ratings: np.ndarray, scale: QuestionScale) -> Body:
    """Return the values of the newest periods with comparable items, at most MAX_POINTS.

    An item belongs to the period of its second rating, as in the stored results.
    Period unit -> {"starts": [...], coefficient -> [[value, cumulative value], ...]}.
    """
    patterns = tally.count_patterns(ratings["item"], ratings["code"], scale.k, day=ratings["day"])
    if patterns.day is None or not len(patterns.n_items):
        return {}
    distinct, pattern = np.unique(patterns.counts, axis=0, return_inverse=True)
    is_comparable = patterns.counts.sum(axis=1) >= 2
    trends = {}
    for span in periods.SPANS:
        starts_of_patterns = periods.compute_start_days(patterns.day, span)
        start_days = np.unique(starts_of_patterns[is_comparable])
        # Items with one rating enter cumulative values only: from the next of these periods on.
        period_index = np.searchsorted(start_days, starts_of_patterns)
        included = period_index < len(start_days)
        points: Body = {name: [] for name in list_headline_coefficients(scale)}
        for n_items in _iter_trend_chunks(
            period_index[included],
            pattern.ravel()[included],
            patterns.n_items[included],
            (len(start_days), len(distinct)),
        ):
            n_items[0] *= distinct.sum(axis=1) >= 2
            estimates = scale.estimate_patterns(
                distinct, n_items, names=list_headline_coefficients(scale)
            )
            for name, estimate in estimates.items():
                period_values, cumulative_values = estimate[0].to_values(), estimate[1].to_values()
                for period_value, cumulative_value in zip(
                    period_values, cumulative_values, strict=True
                ):
                    points[name].append(
                        [to_trend_point(period_value), to_short_list(cumulative_value)]
                    )
        starts = [
            date_from_day(start_day).isoformat() for start_day in start_days[-MAX_POINTS:].tolist()
        ]
        trends[span] = {"starts": starts, **points}
    return trends


def _iter_trend_chunks(
    period_index: np.ndarray, pattern: np.ndarray, n_items: np.ndarray, shape: tuple[int, int]
) -> Iterator[np.ndarray]:
    """Yield items by pattern (2, D, P) of the newest periods: of each period, and up to its end."""
    n_periods, n_patterns = shape
    first = max(0, n_periods - MAX_POINTS)
    total = np.bincount(
        pattern[period_index < first], n_items[period_index < first], n_patterns
    ).astype(np.int64)
    step = max(1, MAX_CELLS // (4 * n_patterns))
    for start in range(first, n_periods, step):
        end = min(start + step, n_periods)
        in_chunk = (period_index >= start) & (period_index < end)
        cell = (period_index[in_chunk] - start) * n_patterns + pattern[in_chunk]
        sums = np.bincount(cell, n_items[in_chunk], (end - start) * n_patterns)
        by_period = sums.astype(np.int64).reshape(-1, n_patterns)
        cumulative = total + by_period.cumsum(axis=0)
        total = cumulative[-1]
        yield np.stack([by_period, cumulative])


# --- items


def find_most_disputed(ratings: np.ndarray, scale: QuestionScale) -> Body:
    """Return weighting -> [[item, counts, distance], ...] of the newest items.

    At most as many items as MAX_CELLS allows.
    """
    items = np.unique(ratings["item"])
    max_items = max(1, MAX_CELLS // scale.k)
    newest = items[-max_items:]
    result = disputed_items.find_most_disputed(
        newest, _count_ratings(ratings, newest, scale.k), scale
    )
    return result | {"is_complete": len(items) <= max_items}


def compute_item_order(ratings: np.ndarray, scale: QuestionScale) -> Body:
    """Return the first MAX_ORDERED_ITEMS items, by each order of an item list.

    {"n_items": items with ratings, "ratings": ids, "disagreement": {weighting: ids}}
    """
    items = np.unique(ratings["item"])
    weightings = scale.build_weight_matrices()
    total = np.zeros(len(items), np.int64)
    distances = {name: np.zeros(len(items)) for name in weightings}
    step = max(1, MAX_CELLS // scale.k)
    for start in range(0, len(items), step):
        part = slice(start, start + step)
        counts = _count_ratings(ratings, items[part], scale.k)
        total[part] = counts.sum(axis=1)
        for name, matrix in weightings.items():
            distances[name][part] = disputed_items.compute_disagreement(counts, matrix)
    return {
        "n_items": len(items),
        "ratings": items[
            disputed_items.rank_items(items, total, total)[:MAX_ORDERED_ITEMS]
        ].tolist(),
        "disagreement": {
            name: items[
                disputed_items.rank_items(items, total, distance)[:MAX_ORDERED_ITEMS]
            ].tolist()
            for name, distance in distances.items()
        },
    }


def _count_ratings(ratings: np.ndarray, items: np.ndarray, k: int) -> np.ndarray:
    """Return (n, k) ratings of each of these items.

    The ids are sorted and consecutive among those of all rated items.
    """
    if not len(items):
        return np.zeros((0, k), np.int64)
    item_ratings = ratings[(ratings["item"] >= items[0]) & (ratings["item"] <= items[-1])]
    cell = np.searchsorted(items, item_ratings["item"]) * k + item_ratings["code"]
    return np.bincount(cell, minlength=len(items) * k).reshape(-1, k)
