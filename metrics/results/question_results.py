"""Compute and write the stored results of questions.

Several small questions are computed in one pass, in which the formulas cost as much as for one.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Q
from django.utils import timezone

from core.db import bulk
from metrics import periods
from metrics.agreement.coefficients import fleiss
from metrics.counting import store
from metrics.models import (
    ALL_DAYS,
    ALL_START,
    CountState,
    PatternTally,
    PeriodUnit,
    Population,
    Result,
)
from metrics.question_scale import QuestionScale

from . import pair_means
from .headline.headline_computation import CountedRaters, HeadlineBuilder
from .patterns import GroupedPatterns, GroupValues, PeriodPatterns
from .stored_values import ResultDetails


@dataclass(frozen=True)
class QuestionUpdate:
    """The periods of a question whose results are to be computed, with their patterns.

    ``headline``: its builder, with the items by pattern over all days (P,); ``changed``: the
    periods that changed; ``cumulative``: the periods whose cumulative results must be recomputed,
    none if these are ``deferred``.
    """

    state: CountState
    headline: HeadlineBuilder
    changed: list[PeriodPatterns]
    cumulative: list[PeriodPatterns]
    deferred: bool

    @classmethod
    def from_patterns(
        cls,
        stored: StoredPatterns,
        state: CountState,
        raters: CountedRaters,
        days: Collection[int],
        *,
        deferred: bool,
    ) -> QuestionUpdate:
        """Build the update for the changed ``days``, days since 1970-01-01.

        ``stored`` has the days of complete periods; and all days from the first changed one on,
        unless the cumulative results are ``deferred``.
        """
        all_time, stored_days, by_day = stored.select_question(state.question_id)
        headline = HeadlineBuilder(raters, stored.patterns, all_time, stored.scale)
        spans = [
            PeriodPatterns.from_days(span, stored_days, by_day)
            for span in (periods.SPANS if days else ())
        ]
        cumulative = [] if deferred else [span.select_since(min(days)) for span in spans]
        return cls(
            state, headline, [span.select_containing(days) for span in spans], cumulative, deferred
        )

    def stack_items(self) -> np.ndarray:
        """Return the items by pattern (n, P) of each result to be computed.

        First those of all days, then of the changed periods, then up to each cumulative period's
        end. Periods have only comparable items; items with one rating enter the expected agreement
        of all days and the cumulative results.
        """
        all_time, is_comparable = self.headline.n_items, self.headline.patterns.is_comparable
        return np.concatenate(
            [
                all_time[None],
                *(span.n_items * is_comparable for span in self.changed),
                *(span.compute_cumulative(all_time) for span in self.cumulative),
            ]
        )

    def build_rows(self, values: Iterator[GroupValues], details: ResultDetails) -> ResultRows:
        """Return the rows to be written; ``values`` come in the order of ``stack_items``."""
        question_id, builder = self.state.question_id, self.headline
        all_days = pair_means.add_means_over_pairs(self.state, next(values))
        headline, coefficients = builder.build_headline(all_days), all_days.pooled
        own_values = _take_by_period(values, self.changed)
        cumulative_values = _take_by_period(values, self.cumulative)
        empty_periods = {
            (span.span, start)
            for span in [*self.changed, *self.cumulative]
            for start in span.list_empty_start_dates(builder.patterns.is_comparable)
        }
        all_time: tuple[Any, ...] = (
            PeriodUnit.ALL,
            ALL_START,
            coefficients,
            coefficients,
            details,
            headline,
            {},
        )
        result_rows = ResultRows([(question_id, *all_time)])
        result_rows.empty_periods = [
            (question_id, *key) for key in empty_periods & own_values.keys()
        ]
        for key in empty_periods:
            own_values.pop(key, None)
            cumulative_values.pop(key, None)
        self._add_period_rows(result_rows, own_values, cumulative_values)
        return result_rows

    def _add_period_rows(
        self, result_rows: ResultRows, own_values: PeriodValues, cumulative_values: PeriodValues
    ) -> None:
        question_id, builder = self.state.question_id, self.headline
        own_rows = result_rows.without_cumulative if self.deferred else result_rows.complete
        for key, row in own_values.items():
            cumulative = cumulative_values.pop(key, GroupValues({}))
            columns: Any = (
                row.pooled,
                cumulative.pooled,
                {},
                builder.build_period_headline(row),
                builder.select_trend_values(cumulative),
            )
            own_rows.append((question_id, *key, *columns))
        # In the periods after the changed ones, only the cumulative values change.
        for key, row in cumulative_values.items():
            result_rows.cumulative_only.append(
                (question_id, *key, {}, row.pooled, {}, {}, builder.select_trend_values(row))
            )


PeriodValues = dict[tuple[str, datetime.date], GroupValues]  # by unit and first day


def _take_by_period(values: Iterator[GroupValues], spans: Sequence[PeriodPatterns]) -> PeriodValues:
    """Take the next values for each period of the spans; return {(span, first date): values}."""
    return {(span.span, start): next(values) for span in spans for start in span.list_start_dates()}


class ResultRows:
    """Rows of results to be written, grouped by the columns to be kept in existing rows."""

    def __init__(self, complete: Iterable[tuple[Any, ...]] = ()) -> None:
        self.complete = list(complete)
        self.without_cumulative: list[tuple[Any, ...]] = []  # without cumulative values
        self.cumulative_only: list[tuple[Any, ...]] = []  # cumulative values only
        self.empty_periods: list[tuple[int, str, datetime.date]] = []  # periods without an item

    def __add__(self, other: ResultRows) -> ResultRows:
        joined = ResultRows(self.complete + other.complete)
        joined.without_cumulative = self.without_cumulative + other.without_cumulative
        joined.cumulative_only = self.cumulative_only + other.cumulative_only
        joined.empty_periods = self.empty_periods + other.empty_periods
        return joined

    def save(self) -> None:
        """Write the rows and delete those of empty periods."""
        for question_id, name, start in self.empty_periods:
            Result.objects.filter(question=question_id, period_unit=name, start=start).delete()
        _save_rows(self.complete)
        _save_rows(self.without_cumulative, kept_columns=("cumulative", "people_cumulative"))
        _save_rows(self.cumulative_only, kept_columns=("coefficients", "details", "headline"))


def compute_and_store_results(
    updates: Sequence[QuestionUpdate], labels: Sequence[list[str]] | None = None
) -> None:
    """Compute and store the results of questions of one scale, in one call of the formulas.

    Their items all refer to the same patterns. ``labels``: those of each question's categories;
    None if they are those of the scale.
    """
    patterns, scale = updates[0].headline.patterns, updates[0].headline.scale
    values = patterns.iter_values(
        np.concatenate([update.stack_items() for update in updates]),
        scale,
        updates[0].headline.trend_coefficient,
    )
    details = compute_details(
        patterns, np.stack([update.headline.n_items for update in updates]), scale
    )
    result_rows = ResultRows()
    for index, update in enumerate(updates):
        if labels is not None:
            for category, label in zip(details[index]["categories"], labels[index], strict=True):
                category["label"] = label
        result_rows += update.build_rows(values, details[index])
    result_rows.save()


@dataclass(frozen=True)
class StoredPatterns:
    """Stored patterns of several questions: P patterns, and their items by question and day.

    ``keys`` (R, 2): question id and day; ``n_items`` (R, P).
    """

    scale: QuestionScale
    patterns: GroupedPatterns
    keys: np.ndarray
    n_items: np.ndarray

    @classmethod
    def load(cls, question_id: int, scale: QuestionScale, day_filter: Q) -> StoredPatterns:
        """Load the patterns of a question's days; ``day_filter`` selects rows of single days."""
        rows = PatternTally.objects.filter(day_filter | Q(day=ALL_DAYS), question_id=question_id)
        return cls.from_rows(list(rows.order_by("day")), scale)

    @classmethod
    def from_rows(cls, rows: Sequence[PatternTally], scale: QuestionScale) -> StoredPatterns:
        """Decode the rows and merge their patterns."""
        separate = any(row.separates_models for row in rows)
        decoded = [
            store.decode_patterns(row, scale.width, separate_models=separate) for row in rows
        ]
        # Patterns of each population are separate rows: their items count on other days.
        populations = Population.values
        sizes = [len(counts_part) for counts_part, _ in decoded]
        row_population = [populations.index(row.population) for row in rows]
        marked_counts, inverse = np.unique(
            np.column_stack(
                [
                    np.repeat(row_population, sizes),
                    np.concatenate([counts_part for counts_part, _ in decoded]),
                ]
            ),
            axis=0,
            return_inverse=True,
        )
        keys, key_index = np.unique(
            np.array([(row.question_id, row.day) for row in rows], np.int64),
            axis=0,
            return_inverse=True,
        )
        n_items = np.zeros((len(keys), len(marked_counts)), np.int64)
        n_items[np.repeat(key_index.ravel(), sizes), inverse.ravel()] = np.concatenate(
            [row_items for _, row_items in decoded]
        )
        population = np.array(populations)[marked_counts[:, 0]] if separate else None
        patterns = GroupedPatterns.from_code_counts(marked_counts[:, 1:], scale, population)
        return cls(scale, patterns, keys, n_items)

    def count_days_after(self, question_id: int, day: int) -> int:
        """Return the number of a question's days after this one."""
        return int(((self.keys[:, 0] == question_id) & (self.keys[:, 1] > day)).sum())

    def select_question(self, question_id: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return a question's items over all days (P,), its days (D,) and their items (D, P)."""
        indices = np.flatnonzero(self.keys[:, 0] == question_id)
        days, n_items = self.keys[indices, 1], self.n_items[indices]
        return n_items[days == ALL_DAYS][0], days[days != ALL_DAYS], n_items[days != ALL_DAYS]


def compute_details(
    patterns: GroupedPatterns, all_items: np.ndarray, scale: QuestionScale
) -> list[ResultDetails]:
    """Return the details of each row of items (D, P): items by number of ratings, and categories.

    The items count all raters' ratings. Each category has its ratings, and the agreement on it
    versus the others, by the raters shown: people, unless the lead pooled models with them.
    """
    counts, n_items = patterns.pooled, patterns.select_items(all_items, Population.ALL)
    ratings_per_item = counts.sum(axis=1)
    numbers, inverse = np.unique(ratings_per_item, return_inverse=True)
    shown_counts, shown_items = counts, n_items
    if patterns.separates_models and not scale.pooled:
        shown_counts = patterns.people
        shown_items = patterns.select_items(all_items, Population.PEOPLE)
    per_category = fleiss.category_kappas(shown_counts, shown_items)
    details: list[ResultDetails] = []
    for index, (items, ratings) in enumerate(zip(n_items, shown_items @ shown_counts, strict=True)):
        items_by_ratings = np.zeros(len(numbers), np.int64)
        np.add.at(items_by_ratings, inverse, items)
        frequencies = zip(numbers.tolist(), items_by_ratings.tolist(), strict=True)
        labelled = zip(scale.labels, ratings.tolist(), strict=True)
        details.append(
            {
                "by_ratings": {str(number): count for number, count in frequencies if count},
                "rated": int(items[ratings_per_item >= 1].sum()),
                "with_two_or_more": int(items[ratings_per_item >= 2].sum()),
                "categories": [
                    {
                        "label": label,
                        "ratings": number,
                        "agreement": per_category.to_value((index, category)),
                    }
                    for category, (label, number) in enumerate(labelled)
                ],
            }
        )
    return details


_COLUMNS = (
    "question_id",
    "period_unit",
    "start",
    "coefficients",
    "cumulative",
    "details",
    "headline",
    "people_cumulative",
    "computed_at",
)


def _save_rows(rows: list[tuple[Any, ...]], *, kept_columns: Collection[str] = ()) -> None:
    """Write rows; in existing ones, the ``kept_columns`` keep their values.

    A row: question, span, start, coefficients, cumulative, details, headline, people_cumulative.
    """
    # Rows share values (GroupedPatterns.iter_values): encoding these was a fifth of the work.
    parts = {id(part): part for row in rows for part in row[3:]}
    texts = {key: store.encode_json(part) for key, part in parts.items()}
    computed_at = connection.ops.adapt_datetimefield_value(timezone.now())
    adapt_day = connection.ops.adapt_datefield_value
    records = [
        (
            question_id,
            str(span),
            adapt_day(start),
            *(texts[id(part)] for part in values),
            computed_at,
        )
        for question_id, span, start, *values in rows
    ]
    updated_columns = {
        name: f'excluded."{name}"' for name in _COLUMNS[3:] if name not in kept_columns
    }
    bulk.upsert(
        "metrics_result",
        _COLUMNS,
        records,
        key=("question_id", "period_unit", "start"),
        update=updated_columns,
    )
