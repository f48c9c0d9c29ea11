"""Numbers of items by pattern in each day, week or month, and of all time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from metrics import periods
from metrics.counting import store
from metrics.models import ALL_DAYS, CountState, PatternTally, Population
from metrics.question_scale import QuestionScale
from ratings.services.rating_times import date_from_day

from .clusters import QuestionClusters
from .grouped_patterns import GroupedPatterns


@dataclass(frozen=True)
class AllTimePatterns:
    """The patterns of a question over all days.

    ``n_items`` (P,): number of items with each pattern; ``model_raters``: ids of raters;
    ``clusters``: the clusters of the items, where they are known.
    """

    question_id: int
    scale: QuestionScale
    patterns: GroupedPatterns
    n_items: np.ndarray
    model_raters: list[int]
    clusters: QuestionClusters | None = None

    @classmethod
    def load(cls, question_id: int, scale: QuestionScale) -> Self:
        """Load the patterns of a question; none (P = 0) before anything is counted."""
        rows = PatternTally.objects.filter(question_id=question_id, day=ALL_DAYS)
        row = rows.filter(population=Population.ALL).first()
        row = row or PatternTally(width=scale.width)
        counts, n_items = store.decode_patterns(row, scale.width)
        states = CountState.objects.select_related("question__project").filter(pk=question_id)
        state = states.only(
            "model_raters", "cluster_effects", "question__project__cluster_attribute"
        ).first()
        return cls(
            question_id,
            scale,
            GroupedPatterns.from_code_counts(counts, scale),
            n_items,
            state.model_raters if state else [],
            QuestionClusters.from_state(state, state.question.project) if state else None,
        )

    @property
    def is_people_only(self) -> bool:
        """True if models rate too, and the lead has not pooled them with people."""
        return self.patterns.separates_models and not self.scale.pooled

    @property
    def displayed_counts(self) -> np.ndarray:
        """The patterns (P, k) to display: of people, unless the lead pooled models."""
        return self.patterns.pooled if self.scale.pooled else self.patterns.people


@dataclass(frozen=True)
class PeriodPatterns:
    """The periods of one span: first days (D,) and numbers of items by pattern (D, P)."""

    span: str
    start_days: np.ndarray
    n_items: np.ndarray

    @classmethod
    def from_days(cls, span: str, days: np.ndarray, by_day: np.ndarray) -> PeriodPatterns:
        """Sum the items by day and pattern over the days of each period."""
        start_days, index = np.unique(periods.compute_start_days(days, span), return_inverse=True)
        n_items = np.zeros((len(start_days), by_day.shape[1]), np.int64)
        np.add.at(n_items, index, by_day)
        return cls(span, start_days, n_items)

    def select_since(self, day: int) -> PeriodPatterns:
        """Return the periods that begin with that of ``day`` or later.

        The stored days may begin in the middle of an earlier period.
        """
        return self.select(
            self.start_days >= periods.compute_start_days(np.array([day]), self.span)[0]
        )

    def select_containing(self, days: Iterable[int]) -> PeriodPatterns:
        """Return the periods that contain one of these days."""
        return self.select(
            np.isin(
                self.start_days, periods.compute_start_days(np.fromiter(days, np.int64), self.span)
            )
        )

    def select(self, mask: np.ndarray) -> PeriodPatterns:
        """Return the periods that the mask selects."""
        return PeriodPatterns(self.span, self.start_days[mask], self.n_items[mask])

    def compute_cumulative(self, all_time: np.ndarray) -> np.ndarray:
        """Return the items by pattern up to each period's end (D, P).

        These periods must be the last ones.
        """
        return all_time - self.n_items.sum(axis=0) + self.n_items.cumsum(axis=0)

    def list_start_dates(self) -> list[Any]:
        """Return the first dates of the periods."""
        return [date_from_day(begin) for begin in self.start_days.tolist()]

    def list_empty_start_dates(self, is_comparable: np.ndarray) -> list[Any]:
        """Return the first dates of the periods without items of comparable patterns (P,)."""
        n_comparable = self.n_items[:, is_comparable].sum(axis=1)
        return [
            start
            for start, items in zip(self.list_start_dates(), n_comparable, strict=True)
            if not items
        ]
