"""The results that an audit expects, computed from a recount, and the stored ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from metrics import periods
from metrics.counting import store
from metrics.models import ALL_DAYS, ALL_START, CountState, RaterResult, Result
from metrics.question_scale import QuestionScale
from metrics.results.grouped_patterns import GroupedPatterns, iter_values_by_name
from metrics.results.headline.headline_computation import CountedRaters, HeadlineBuilder
from metrics.results.pairs import mean_kappas
from metrics.results.raters import rater_results
from ratings.services.rating_times import date_from_day

from .recount import PeerRows, Recount

ResultsByKey = dict[Any, Any]


# --- results of periods


def get_expected_and_stored_periods(
    state: CountState, recount: Recount, scale: QuestionScale
) -> tuple[ResultsByKey, ResultsByKey]:
    """Return the expected and the stored results, by (span, first day).

    Each: [values of the period, cumulative values, headline, cumulative values of people].
    """
    expected = _compute_period_results(state, recount, scale)
    stored = {}
    for row in Result.objects.filter(question_id=state.question_id):
        values = [row.coefficients, row.cumulative, row.headline, row.people_cumulative]
        stored[row.period_unit, row.start.isoformat()] = values
    if not recount.n_ratings:
        # When all ratings are withdrawn, a result of undefined values remains.
        stored.pop(("all", ALL_START.isoformat()), None)
    return expected, stored


def _compute_period_results(
    state: CountState, recount: Recount, scale: QuestionScale
) -> ResultsByKey:
    days, patterns, by_day = _join_populations(recount, scale)
    if not len(days):
        return {}
    all_time = by_day.sum(axis=0)
    builder = HeadlineBuilder(CountedRaters.from_state(state, scale), patterns, all_time, scale)
    keys = [("all", ALL_START.isoformat())]
    n_items = [all_time, all_time]  # two for each key: of the period, and up to its end
    for span in periods.SPANS:
        start_days, index = np.unique(periods.compute_start_days(days, span), return_inverse=True)
        of_period = np.zeros((len(start_days), len(patterns.counts)), np.int64)
        np.add.at(of_period, index, by_day)
        until_end = of_period.cumsum(axis=0)
        of_period *= patterns.is_comparable
        for position, start_day in enumerate(start_days.tolist()):
            if of_period[position].any():
                keys.append((span, date_from_day(start_day).isoformat()))
                n_items += [of_period[position], until_end[position]]
    values = list(patterns.iter_values(np.stack(n_items), scale, builder.trend_coefficient))
    expected = {}
    for position, key in enumerate(keys):
        period_values, cumulative_values = values[2 * position], values[2 * position + 1]
        expected[key] = [
            period_values.pooled,
            cumulative_values.pooled,
            builder.build_period_headline(period_values),
            builder.select_trend_values(cumulative_values),
        ]
    # From the stored kappas and their sums, which are compared themselves.
    all_time_values = mean_kappas.add_means_over_pairs(state, values[0])
    pooled = all_time_values.pooled
    expected[keys[0]] = [pooled, pooled, builder.build_headline(all_time_values), {}]
    return expected


def _join_populations(
    recount: Recount, scale: QuestionScale
) -> tuple[np.ndarray, GroupedPatterns, np.ndarray]:
    """Return the days (D,), the patterns (P) of all populations and their items by day (D, P)."""
    parts = [counts.split_by_day() for counts in recount.patterns.values()]
    days = np.unique(np.concatenate([part_days for part_days, _counts, _items in parts]))
    by_day = np.zeros((len(days), sum(len(counts) for _days, counts, _items in parts)), np.int64)
    end = 0
    for part_days, counts, items in parts:
        start, end = end, end + len(counts)
        by_day[np.searchsorted(days, part_days), start:end] = items
    population = np.repeat(list(recount.patterns), [len(counts) for _days, counts, _items in parts])
    patterns = GroupedPatterns.from_code_counts(
        np.concatenate([counts for _days, counts, _items in parts]),
        scale,
        population if recount.kinds.separates_models else None,
    )
    return days, patterns, by_day


# --- results of raters


def get_expected_and_stored_raters(
    question_id: int, recount: Recount, scale: QuestionScale
) -> tuple[ResultsByKey, ResultsByKey]:
    """Return the expected and the stored results: rater -> [number of own ratings, values].

    Days, weeks and months have no stored results: they are computed from counts, which are compared
    themselves.
    """
    expected = _compute_rater_results(PeerRows.from_recount(recount, scale.width), recount, scale)
    means = rater_results.compute_mean_pairwise_by_rater([question_id], sorted(expected))
    for rater, (_n_ratings, values) in expected.items():
        values.update(rater_results.add_sample_sizes(values, means[rater]))
    stored = {}
    of_raters = recount.filter_stored_rows(
        RaterResult.objects.filter(question_id=question_id), "rater"
    )
    for row in of_raters.iterator(chunk_size=store.ROWS_AT_ONCE):
        stored[row.rater_id] = [row.n_ratings, row.coefficients]
    return expected, stored


def _compute_rater_results(rows: PeerRows, recount: Recount, scale: QuestionScale) -> ResultsByKey:
    indices = [index for index, (_rater, day) in enumerate(rows.keys) if day == ALL_DAYS]
    if not indices:
        return {}
    tables = scale.reorder_to_declared(rows.tables[indices], axes=2)
    moments = None
    if rows.moments is not None:
        moments = scale.reorder_to_declared(rows.moments[indices], axes=3)
    n_items = np.array(rows.n_items, np.int64)[indices]
    values_by_rater = iter_values_by_name(scale.estimate_peers(tables, moments, n_items))
    keys = [rows.keys[index] for index in indices]
    return {
        key[0]: [recount.own_counts[key], values]
        for key, values in zip(keys, values_by_rater, strict=True)
    }
