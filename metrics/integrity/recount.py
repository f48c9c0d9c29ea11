"""Recount of a question in memory, from all its ratings, for audits.

An audit compares the stored results with those computed from the recount.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet

from metrics import periods
from metrics.agreement.counts import tally
from metrics.counting import store
from metrics.counting.rater_kinds import PatternsByPopulation, RaterKinds, RatingColumns
from metrics.models import ALL_DAYS, ALL_START, CountState, RaterResult, Result
from metrics.question_scale import QuestionScale
from metrics.results import pair_means, rater_results
from metrics.results.headline.headline_computation import CountedRaters, HeadlineBuilder
from metrics.results.patterns import GroupedPatterns, iter_values_by_name
from ratings.models import NO_CODE, Rating
from ratings.services.rating_timestamps import date_from_day

RATINGS_AT_ONCE = 200_000

ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("counted", "i8"), ("counted_day", "i8")])


@dataclass
class Recount:
    """All counts of a question, computed from its ratings in batches of items."""

    n_ratings: int
    patterns: PatternsByPopulation
    pairs: tally.PairTables
    peers: tally.PeerTables
    own_counts: dict[tuple[int, int], int]
    kinds: RaterKinds
    rater: int | None = None  # counts other than patterns are of this rater only

    @classmethod
    def for_question(
        cls, question_id: int, width: int, kinds: RaterKinds, rater_id: int | None = None
    ) -> Recount:
        """Count all ratings of a question, from which an audit computes what should be stored.

        ``width``: number of codes. With ``rater_id``, only the ratings of items that this rater
        rated are counted, and pair tables, peer tables and numbers of ratings are those of the
        rater.
        """
        no_rows = np.zeros(0, np.int64)
        recount = cls(
            0,
            kinds.tally_patterns(RatingColumns(no_rows, no_rows, no_rows, no_rows), width),
            tally.PairTables.empty(width),
            tally.PeerTables.empty(width, by_day=True),
            {},
            kinds,
            rater_id,
        )
        for rows in _iter_complete_items(question_id, rater_id):
            recount._add_batch(rows, width)
        return recount if rater_id is None else recount._restrict_to(rater_id)

    def _restrict_to(self, rater_id: int) -> Recount:
        pairs, peers = self.pairs, self.peers
        is_pair = (pairs.rater_a == rater_id) | (pairs.rater_b == rater_id)
        return replace(
            self,
            pairs=pairs.select(is_pair),
            peers=peers.select(peers.rater == rater_id),
            own_counts={
                key: number for key, number in self.own_counts.items() if key[0] == rater_id
            },
        )

    def count_raters(self) -> dict[str, int]:
        """Return how many people and models have a counted rating."""
        rated = [
            rater for (rater, day), number in self.own_counts.items() if day == ALL_DAYS and number
        ]
        n_models = len(self.kinds.models.intersection(rated))
        return {"people": len(rated) - n_models, "models": n_models}

    def filter_stored_rows(self, rows: QuerySet, *rater_columns: str) -> QuerySet:
        """Return the stored rows that belong to this recount: all, or those of one rater.

        ``rater_columns``: names of the columns of ``rows`` that hold raters.
        """
        if self.rater is None:
            return rows
        return rows.filter(
            functools.reduce(operator.or_, (Q(**{name: self.rater}) for name in rater_columns))
        )

    def _add_batch(self, rows: np.ndarray, width: int) -> None:
        item, rater, code, day = (rows[name] for name in ROW.names or ())
        self.n_ratings += len(rows)
        ratings = RatingColumns(item, rater, code, day)
        for population, counts in self.kinds.tally_patterns(ratings, width).items():
            self.patterns[population] += counts
        self.pairs += tally.count_pair_tables(item, rater, code, width)
        self.peers += self.kinds.tally_peers(ratings, width)
        keys, numbers = np.unique(np.stack([rater, day]), axis=1, return_counts=True)
        for rater_id, rating_day, number in zip(*keys.tolist(), numbers.tolist(), strict=True):
            for key in ((rater_id, rating_day), (rater_id, ALL_DAYS)):
                self.own_counts[key] = self.own_counts.get(key, 0) + number


def _iter_complete_items(question_id: int, rater_id: int | None) -> Iterator[np.ndarray]:
    """Yield the counted ratings (arrays of ROW) in batches that contain all ratings of their items.

    With ``rater_id``, those of the items which that rater rated.
    """
    last_item = -1
    counted = Rating.objects.filter(question_id=question_id, counted__gt=NO_CODE)
    if rater_id is not None:
        counted = counted.filter(item__in=counted.filter(rater=rater_id).values("item"))
    while True:
        rows = counted.filter(item__gt=last_item).order_by("item_id", "rater_id")
        columns = rows.values_list("item_id", "rater_id", "counted", "counted_day")[
            :RATINGS_AT_ONCE
        ]
        batch = np.fromiter(columns.iterator(chunk_size=20_000), dtype=ROW)
        if len(batch) == RATINGS_AT_ONCE:
            cut_item = batch["item"][-1]
            if batch["item"][0] == cut_item:
                batch = np.fromiter(
                    counted.filter(item=int(cut_item)).values_list(
                        "item_id", "rater_id", "counted", "counted_day"
                    ),
                    dtype=ROW,
                )
            else:
                batch = batch[batch["item"] < cut_item]
        if not len(batch):
            return
        yield batch
        last_item = int(batch["item"].max())


@dataclass
class PeerRows:
    """Peer counts of G keys (rater, day), including ALL_DAYS and raters without shared items.

    Each list or array has one entry for each key.
    """

    keys: list[tuple[int, int]]
    tables: np.ndarray
    moments: np.ndarray | None
    n_items: list[int]

    @classmethod
    def from_recount(cls, recount: Recount, width: int) -> PeerRows:
        """Sum the peer tables of a recount by rater and day, and over all days."""
        peers = recount.peers
        days = peers.day if peers.day is not None else np.zeros(0, np.int64)
        table_keys = list(zip(peers.rater.tolist(), days.tolist(), strict=True))
        # On some days a rating was given, on others it could first be compared.
        keys = sorted({*recount.own_counts, *table_keys})
        indices = {key: index for index, key in enumerate(keys)}
        moments = None if peers.moments is None else np.zeros((len(keys), *[width] * 3), np.int64)
        rows = cls(keys, np.zeros((len(keys), width, width), np.int64), moments, [0] * len(keys))
        for index, (rater, day) in enumerate(table_keys):
            for key in ((rater, day), (rater, ALL_DAYS)):
                rows._add_peer_tables(indices[key], peers, index)
        return rows

    def _add_peer_tables(self, target: int, peers: tally.PeerTables, index: int) -> None:
        self.tables[target] += peers.tables[index]
        self.n_items[target] += int(peers.n_items[index])
        if self.moments is not None and peers.moments is not None:
            self.moments[target] += peers.moments[index]


ResultsByKey = dict[Any, Any]


# --- results of periods


def get_expected_and_stored_periods(
    state: CountState, recount: Recount, scale: QuestionScale
) -> tuple[ResultsByKey, ResultsByKey]:
    """Return the expected and the stored results of periods, each by (span, first day).

    A result is a list: values of the period, cumulative values, headline, cumulative values of
    people.
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
    all_time_values = pair_means.add_means_over_pairs(state, values[0])
    pooled = all_time_values.pooled
    expected[keys[0]] = [pooled, pooled, builder.build_headline(all_time_values), {}]
    return expected


def _join_populations(
    recount: Recount, scale: QuestionScale
) -> tuple[np.ndarray, GroupedPatterns, np.ndarray]:
    """Return the days (D,), the patterns (P) of all populations, and their items by day (D, P)."""
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
    """Return the expected and the stored results: each {rater: [number of own ratings, values]}.

    Results are stored over all time only; those of periods follow from the counts, which are
    compared elsewhere.
    """
    expected = _compute_rater_results(PeerRows.from_recount(recount, scale.width), recount, scale)
    means = pair_means.load_means_by_rater([question_id], sorted(expected))
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
    keys = [rows.keys[index] for index in indices]
    raters = np.array([rater for rater, _day in keys], np.int64)
    peers = tally.PeerTables(raters, None, tables, moments, n_items)
    values_by_rater = iter_values_by_name(scale.estimate_peers(peers))
    return {
        key[0]: [recount.own_counts[key], values]
        for key, values in zip(keys, values_by_rater, strict=True)
    }
