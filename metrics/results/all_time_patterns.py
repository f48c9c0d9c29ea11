"""Patterns of a question over all days, loaded from the stored counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from metrics.counting import store
from metrics.models import ALL_DAYS, CountState, PatternTally, Population
from metrics.scale import QuestionScale

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
        states = CountState.objects.filter(pk=question_id)
        model_raters = states.values_list("model_raters", flat=True).first() or []
        return cls(
            question_id,
            scale,
            GroupedPatterns.from_code_counts(counts, scale),
            n_items,
            model_raters,
        )

    @property
    def is_people_only(self) -> bool:
        """True if models rate too, and the lead has not pooled them with people."""
        return self.patterns.separates_models and not self.scale.pooled

    @property
    def displayed_counts(self) -> np.ndarray:
        """The patterns (P, k) to display: of people, unless the lead pooled models."""
        return self.patterns.pooled if self.scale.pooled else self.patterns.people
