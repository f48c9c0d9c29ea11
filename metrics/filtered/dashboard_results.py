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
from metrics.agreement.counts.tally import PairTables, PatternCounts
from metrics.question_scale import QuestionScale, list_headline_coefficients
from metrics.results import disputed_items, findings, question_results
from metrics.results.disputed_items import MAX_DISPUTED_ITEMS, StoredDisputes
from metrics.results.findings import DisplayedRatings, QuestionDiagnosis
from metrics.results.headline import random_sample
from metrics.results.headline.headline_computation import build_headline_from_ratings
from metrics.results.intervals import QuestionClusters
from metrics.results.pair_means import RatedPairs
from metrics.results.patterns import PeriodPatterns, compute_pooled_and_people_intervals
from metrics.results.question_agreement import AgreementParts, QuestionAgreement

from . import pair_results, rater_results
from .compact_values import (
    MAX_CELLS,
    MAX_POINTS,
    Trend,
    TrendResults,
    to_short_list,
    to_trend_point,
)
from .pair_results import PairRow
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

    def build_display_mask(self, scale: QuestionScale) -> np.ndarray:
        """Return a mask (M,) of the ratings to display.

        They are those without models, unless these are pooled or rate alone.
        """
        has_own_values = self.separates_models and not scale.pooled
        return ~self.is_model if has_own_values else np.ones(len(self.ratings), bool)

    def count_displayed_patterns(self, scale: QuestionScale) -> PatternCounts:
        """Return the patterns of the displayed ratings by day."""
        displayed = self.ratings[self.build_display_mask(scale)]
        return tally.count_patterns(
            displayed["item"], displayed["code"], scale.k, day=displayed["day"]
        )


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
    ratings = selected.ratings
    raters = _rank_raters(ratings)
    by_day = selected.count_displayed_patterns(scale)
    patterns = by_day.sum_over_days()
    pairs = RatedPairs.from_ratings(ratings, scale)
    parts = _compute_parts(selected, scale, pairs, patterns)
    heat_map_raters = np.sort(raters[:MAX_HEATMAP_RATERS])
    tables = _count_tables(ratings, heat_map_raters, scale)
    table_raters = raters[:MAX_TABLE_RATERS]
    return DashboardResults(
        n_ratings=len(ratings),
        n_items=n_items,
        parts=parts,
        diagnosis=_build_diagnosis(parts, selected, scale, patterns=patterns, tables=tables),
        trend=compute_trend(by_day, scale),
        raters=rater_results.build_rater_rows(
            ratings,
            table_raters,
            pairs.compute_means_by_rater(table_raters.tolist(), selected.list_separate_models()),
            scale,
            is_peer=~selected.is_model if selected.separates_models else None,
        ),
        heat_map_raters=heat_map_raters.tolist(),
        pairs=pair_results.build_pair_rows(tables, scale, cells=True),
        clusters=clusters,
    )


def _rank_raters(ratings: np.ndarray) -> np.ndarray:
    """Return the ids of the raters, those with the most ratings first."""
    raters, n_ratings = np.unique(ratings["rater"], return_counts=True)
    return raters[np.lexsort((raters, -n_ratings))]


def _build_diagnosis(
    parts: AgreementParts,
    selected: SelectedRatings,
    scale: QuestionScale,
    *,
    patterns: PatternCounts,
    tables: PairTables,
) -> QuestionDiagnosis:
    """Return what may explain the agreement of the displayed ratings.

    ``patterns``: those of the displayed ratings; ``tables``: those of the heat map.
    """
    is_displayed = selected.build_display_mask(scale)
    ratings, cluster_numbers = selected.ratings[is_displayed], selected.cluster_numbers
    displayed_raters = np.unique(ratings["rater"])
    displayed = DisplayedRatings(
        patterns.counts,
        patterns.n_items,
        tables.select(
            np.isin(tables.rater_a, displayed_raters) & np.isin(tables.rater_b, displayed_raters)
        ),
        ratings,
        None if cluster_numbers is None else cluster_numbers[is_displayed],
    )
    agreement = replace(parts.join(None), pairwise_means=parts.pairwise_means)
    all_findings = findings.list_findings(agreement, displayed, scale)
    return QuestionDiagnosis(
        findings.sort_and_filter_findings(all_findings),
        findings.find_confusions(displayed.counts, displayed.n_items),
        find_most_disputed(displayed.ratings, scale),
    )


def _compute_parts(
    selected: SelectedRatings,
    scale: QuestionScale,
    pairs: RatedPairs,
    displayed_patterns: PatternCounts,
) -> AgreementParts:
    """Compute the parts of the agreement, in the form that is stored for all ratings.

    ``pairs``: those of all raters; ``displayed_patterns``: those of the displayed ratings.
    """
    models = selected.list_separate_models()
    people_pairs = pairs.exclude_raters(models) if len(models) else pairs
    displayed_pairs = pairs if scale.pooled else people_pairs
    builder, row = build_headline_from_ratings(selected.ratings, selected.is_model, scale)
    patterns, n_items = builder.patterns, builder.n_items
    intervals, people_intervals = compute_pooled_and_people_intervals(patterns, n_items, scale)
    pooled = row.pooled | pairs.compute_means(row.pooled)
    if row.people is not None:
        row = replace(row, people=row.people | people_pairs.compute_means(row.people))
    headline = random_sample.replace_by_sample_headline(
        builder.build_headline(row),
        selected.ratings,
        is_model=selected.is_model,
        is_excluded=selected.is_excluded,
        scale=scale,
    )
    return AgreementParts(
        coefficients=pooled,
        headline=headline,
        details=question_results.compute_details(patterns, n_items[None], scale)[0],
        bootstrap=intervals,
        bootstrap_people=people_intervals,
        pairwise_means=displayed_pairs.compute_means_by_items(
            displayed_patterns.counts, displayed_patterns.n_items, scale
        ),
    )


def _count_tables(ratings: np.ndarray, raters: np.ndarray, scale: QuestionScale) -> PairTables:
    """Return the tables of all pairs of these raters."""
    among = ratings[np.isin(ratings["rater"], raters)]
    return tally.count_pair_tables(among["item"], among["rater"], among["code"], scale.k)


# --- trend


def compute_trend(by_day: PatternCounts, scale: QuestionScale) -> Trend:
    """Return the values of the newest periods with comparable items, at most MAX_POINTS.

    ``by_day``: the patterns by day. An item belongs to the period of its second rating, as in the
    stored results.
    """
    names = list_headline_coefficients(scale)
    counts, pattern = np.unique(by_day.counts, axis=0, return_inverse=True)
    is_comparable = counts.sum(axis=1) >= 2
    trends: Trend = {}
    for span in periods.SPANS if len(by_day) else ():
        lines: dict[str, list[Any]] = {name: [] for name in ("starts", *names)}
        for block, until_end in _iter_periods(
            by_day, pattern.ravel(), span, n_patterns=len(counts)
        ):
            own, cumulative = block.n_items * is_comparable, block.compute_cumulative(until_end)
            has_items = own.any(axis=1)
            starts = block.select(has_items).list_start_dates()
            lines["starts"] += [start.isoformat() for start in starts]
            estimates = scale.estimate_patterns(
                counts, np.stack([own[has_items], cumulative[has_items]]), names=names
            )
            for name, estimate in estimates.items():
                values = zip(estimate[0].to_values(), estimate[1].to_values(), strict=True)
                lines[name] += [[to_trend_point(value), to_short_list(up)] for value, up in values]
        trends[span] = lines
    return trends


def _iter_periods(
    by_day: PatternCounts, pattern: np.ndarray, span: str, *, n_patterns: int
) -> Iterator[tuple[PeriodPatterns, np.ndarray]]:
    """Yield the newest periods in blocks, oldest first, with the items up to each block's end (P,).

    They begin with the oldest of the MAX_POINTS newest periods that have comparable items.
    ``pattern``: the index of the pattern of each row of ``by_day``.
    """
    start_days, period = np.unique(
        periods.compute_start_days(np.asarray(by_day.day), span), return_inverse=True
    )
    comparable = np.unique(period[by_day.counts.sum(axis=1) >= 2])[-MAX_POINTS:]
    if not len(comparable):
        return
    first, end = int(comparable[0]), int(comparable[-1]) + 1
    earlier = period < first
    until_end = np.bincount(pattern[earlier], by_day.n_items[earlier], n_patterns).astype(np.int64)
    size = max(1, MAX_CELLS // (4 * n_patterns))
    for start in range(first, end, size):
        stop = min(start + size, end)
        in_block = (period >= start) & (period < stop)
        cell = (period[in_block] - start) * n_patterns + pattern[in_block]
        sums = np.bincount(cell, by_day.n_items[in_block], (stop - start) * n_patterns)
        n_items = sums.astype(np.int64).reshape(-1, n_patterns)
        until_end = until_end + n_items.sum(axis=0)
        yield PeriodPatterns(span, start_days[start:stop], n_items), until_end


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
