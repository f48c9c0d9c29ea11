"""The results of a filtered dashboard, and the order of a question's items, as plain JSON.

Every number is computed by metrics.agreement from ``ratings``: an array of filtered_jobs.ROW with
item, rater, code (index in declared order), day, seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self, TypedDict

import numpy as np

from metrics import periods
from metrics.agreement.counts import tally
from metrics.agreement.counts.tally import PairTables
from metrics.question_scale import QuestionScale, list_headline_coefficients
from metrics.results import disputed_items, findings, question_results
from metrics.results.disputed_items import MAX_DISPUTED_ITEMS, StoredDisputes
from metrics.results.findings import DisplayedRatings, QuestionDiagnosis
from metrics.results.headline import random_sample
from metrics.results.headline.headline_computation import build_headline_from_ratings
from metrics.results.intervals import QuestionClusters
from metrics.results.patterns import compute_pooled_and_people_intervals
from metrics.results.question_agreement import AgreementParts, QuestionAgreement
from metrics.results.stored_values import Values, copy_sample_sizes
from ratings.services.rating_times import date_from_day

from . import pair_results, rater_results
from .compact_values import (
    MAX_CELLS,
    MAX_POINTS,
    Trend,
    TrendResults,
    to_short_list,
    to_trend_point,
)
from .pair_results import PairMeans, PairRow
from .rater_results import RaterRow

MAX_HEATMAP_RATERS = 40
MAX_TABLE_RATERS = 500  # those with the most ratings
MAX_ORDERED_ITEMS = 5_000


@dataclass(frozen=True, kw_only=True)
class DashboardResults(TrendResults):
    """The agreement of the selected ratings, and the other results that a dashboard shows.

    ``n_items``: the number of items that the filter selects; None if it selects all.
    ``raters``: the MAX_TABLE_RATERS with the most ratings, or fewer; ``heat_map_raters``: ids of
    the MAX_HEATMAP_RATERS with the most, or fewer; ``pairs``: the pairs of the latter.
    """

    n_ratings: int
    n_items: int | None
    parts: AgreementParts
    diagnosis: QuestionDiagnosis
    raters: list[RaterRow]
    heat_map_raters: list[int]
    pairs: list[PairRow]

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        parts = AgreementParts(**stored["parts"])
        diagnosis = QuestionDiagnosis(**stored["diagnosis"])
        return super().from_json({**stored, "parts": parts, "diagnosis": diagnosis})

    @property
    def agreement(self) -> QuestionAgreement:
        """The agreement with its intervals."""
        return self.parts.join(self.clusters)


@dataclass(frozen=True)
class SelectedRatings:
    """The ratings that a filter selects (M,), as ROW.

    ``is_model`` (M,): mask of the ratings of models; ``is_excluded`` (M,): mask of the ratings on
    which the headline is not based (results.headline.random_sample); ``cluster_numbers`` (M,): the
    cluster of each rating's item, None where the project has no clusters.
    """

    ratings: np.ndarray
    is_model: np.ndarray
    is_excluded: np.ndarray
    cluster_numbers: np.ndarray | None

    @property
    def separates_models(self) -> bool:
        """True if both people and models rate."""
        return bool(self.is_model.any() and not self.is_model.all())

    def list_separate_models(self) -> np.ndarray:
        """Return the ids of the models where they are separate from people, else none."""
        return np.unique(self.ratings["rater"][self.is_model & self.separates_models])

    def select_displayed(self, scale: QuestionScale) -> np.ndarray:
        """Return the ratings to display: without models, unless these are pooled or rate alone."""
        return self.ratings[self.build_display_mask(scale)]

    def build_display_mask(self, scale: QuestionScale) -> np.ndarray:
        """Return a mask (M,) of the ratings to display."""
        has_own_values = self.separates_models and not scale.pooled
        return ~self.is_model if has_own_values else np.ones(len(self.ratings), bool)


def compute_dashboard(
    selected: SelectedRatings,
    scale: QuestionScale,
    *,
    clusters: QuestionClusters | None,
    n_items: int | None,
) -> DashboardResults:
    """Compute the results of a filtered dashboard.

    Where both people and models rate, it shows people, unless the lead pooled them.
    ``clusters``: None where the project has none. ``n_items``: number of items that the filter
    selects; None for all.
    """
    ratings, displayed = selected.ratings, selected.select_displayed(scale)
    raters = _rank_raters(ratings)
    heatmap_raters = np.sort(raters[:MAX_HEATMAP_RATERS])
    is_peer = ~selected.is_model if selected.separates_models else None
    all_raters = np.sort(raters)
    pair_means = pair_results.compute_mean_pairwise(
        ratings, all_raters, scale, is_peer=~np.isin(all_raters, selected.list_separate_models())
    )
    patterns = tally.count_patterns(displayed["item"], displayed["code"], scale.k)
    means = pair_results.compute_mean_kappas_by_shared_items(displayed, patterns, scale)
    parts = _compute_parts(selected, scale, pair_means, means)
    agreement = replace(parts.join(None), pairwise_means=means)
    pair_tables = _count_tables(ratings, heatmap_raters, scale)
    return DashboardResults(
        n_ratings=len(ratings),
        n_items=n_items,
        parts=parts,
        diagnosis=_build_diagnosis(agreement, selected, patterns, scale, raters=heatmap_raters),
        trend=compute_trend(displayed, scale),
        raters=rater_results.build_rater_rows(
            ratings, raters[:MAX_TABLE_RATERS], pair_means.by_rater, scale, is_peer=is_peer
        ),
        heat_map_raters=heatmap_raters.tolist(),
        pairs=pair_results.build_pair_rows(pair_tables, scale, cells=True),
        clusters=clusters,
    )


def _rank_raters(ratings: np.ndarray) -> np.ndarray:
    """Return the ids of the raters, those with the most ratings first."""
    raters, n_ratings = np.unique(ratings["rater"], return_counts=True)
    return raters[np.lexsort((raters, -n_ratings))]


def _build_diagnosis(
    agreement: QuestionAgreement,
    selected: SelectedRatings,
    patterns: tally.PatternCounts,
    scale: QuestionScale,
    *,
    raters: np.ndarray,
) -> QuestionDiagnosis:
    """Return what may explain the agreement of the displayed ratings.

    ``patterns``: those of the displayed ratings; ``raters``: ids of those whose pairs are compared.
    """
    is_displayed = selected.build_display_mask(scale)
    ratings, cluster_numbers = selected.ratings[is_displayed], selected.cluster_numbers
    displayed = DisplayedRatings(
        patterns.counts,
        patterns.n_items,
        _count_tables(ratings, raters, scale),
        ratings,
        None if cluster_numbers is None else cluster_numbers[is_displayed],
    )
    all_findings = findings.list_findings(agreement, displayed, scale)
    return QuestionDiagnosis(
        findings.sort_and_filter_findings(all_findings),
        findings.find_confusions(displayed.counts, displayed.n_items),
        find_most_disputed(displayed.ratings, scale),
    )


def _compute_parts(
    selected: SelectedRatings, scale: QuestionScale, pair_means: PairMeans, means: Values
) -> AgreementParts:
    """Compute the parts of the agreement, in the form that is stored for all ratings.

    ``pair_means``: means over all pairs; ``means``: mean pairwise kappas by shared items.
    """
    builder, row = build_headline_from_ratings(selected.ratings, selected.is_model, scale)
    patterns, n_items = builder.patterns, builder.n_items
    intervals, people_intervals = compute_pooled_and_people_intervals(patterns, n_items, scale)
    headline = random_sample.replace_by_sample_headline(
        builder.build_headline(row),
        selected.ratings,
        is_model=selected.is_model,
        is_excluded=selected.is_excluded,
        scale=scale,
    )
    if selected.separates_models:
        headline["coefficients"] = _add_pair_means(headline["coefficients"], pair_means.peers)
    return AgreementParts(
        coefficients=_add_pair_means(row.pooled, pair_means.pooled),
        headline=headline,
        details=question_results.compute_details(patterns, n_items, scale),
        bootstrap=intervals,
        bootstrap_people=people_intervals,
        pairwise_means=means,
    )


def _add_pair_means(values: Values, means: Values) -> Values:
    """Return the values with the means over pairs, with the sample sizes of percent agreement."""
    return values | copy_sample_sizes(means, values["percent_agreement"])


def _count_tables(ratings: np.ndarray, raters: np.ndarray, scale: QuestionScale) -> PairTables:
    """Return the tables of all pairs of these raters."""
    among = ratings[np.isin(ratings["rater"], raters)]
    return tally.count_pair_tables(among["item"], among["rater"], among["code"], scale.k)


# --- trend


def compute_trend(ratings: np.ndarray, scale: QuestionScale) -> Trend:
    """Return the values of the newest periods with comparable items, at most MAX_POINTS.

    ``ratings`` (M,): filtered_jobs.ROW. An item belongs to the period of its second rating, as in
    the stored results.
    """
    patterns = tally.count_patterns(ratings["item"], ratings["code"], scale.k, day=ratings["day"])
    if patterns.day is None or not len(patterns.n_items):
        return {}
    distinct, pattern = np.unique(patterns.counts, axis=0, return_inverse=True)
    is_comparable = patterns.counts.sum(axis=1) >= 2
    trends: Trend = {}
    for span in periods.SPANS:
        starts_of_patterns = periods.compute_start_days(patterns.day, span)
        start_days = np.unique(starts_of_patterns[is_comparable])
        # Items with one rating enter cumulative values only: from the next of these periods on.
        period_index = np.searchsorted(start_days, starts_of_patterns)
        included = period_index < len(start_days)
        points: dict[str, list[Any]] = {name: [] for name in list_headline_coefficients(scale)}
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
                points[name] += [
                    [to_trend_point(value), to_short_list(cumulative_value)]
                    for value, cumulative_value in zip(
                        estimate[0].to_values(), estimate[1].to_values(), strict=True
                    )
                ]
        starts = [date_from_day(day).isoformat() for day in start_days[-MAX_POINTS:].tolist()]
        trends[span] = {"starts": starts, **points}
    return trends


def _iter_trend_chunks(
    period_index: np.ndarray, pattern: np.ndarray, n_items: np.ndarray, shape: tuple[int, int]
) -> Iterator[np.ndarray]:
    """Yield arrays (2, D, P) of the newest periods: items by pattern of each, and up to its end.

    ``period_index``, ``pattern`` and ``n_items`` are parallel; ``shape``: (periods, patterns).
    """
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


def find_most_disputed(ratings: np.ndarray, scale: QuestionScale) -> StoredDisputes:
    """Return weighting -> [[item, counts, distance], ...], and n_items.

    ``ratings`` (M,): filtered_jobs.ROW.
    """
    order = compute_item_order(ratings, scale)
    first_ids = [ids[:MAX_DISPUTED_ITEMS] for ids in order["disagreement"].values()]
    top = np.array(sorted(set(chain.from_iterable(first_ids))), np.int64)
    top_ratings = ratings[np.isin(ratings["item"], top)]
    counts = _count_ratings(top_ratings, top, scale.k)
    return {
        **disputed_items.find_most_disputed(top, counts, scale),
        "n_items": order["n_items"],
    }


class ItemOrder(TypedDict):
    """The first items of a question in each order of an item list, and how many items have ratings.

    ``ratings``: item ids by number of ratings; ``disagreement``: weighting -> item ids by
    disagreement.
    """

    n_items: int
    ratings: list[int]
    disagreement: dict[str, list[int]]


def compute_item_order(ratings: np.ndarray, scale: QuestionScale) -> ItemOrder:
    """Return the first MAX_ORDERED_ITEMS rated items in each order of an item list."""
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
    """Return the counts (n, k) of ratings of these items by category.

    The item ids ascend, and no other rated item lies between them.
    """
    if not len(items):
        return np.zeros((0, k), np.int64)
    item_ratings = ratings[(ratings["item"] >= items[0]) & (ratings["item"] <= items[-1])]
    cell = np.searchsorted(items, item_ratings["item"]) * k + item_ratings["code"]
    return np.bincount(cell, minlength=len(items) * k).reshape(-1, k)
