"""All ratings of a question as they are counted, of every day together: its patterns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from metrics.counting import store
from metrics.models import EVER, CountState, PatternTally
from metrics.scale import QuestionScale

from .grouped_patterns import Patterns


@dataclass(frozen=True)
class Ever:
    """``n_items`` (P,): on how many items each pattern stands; ``model_raters``: ids of raters."""

    question_id: int
    scale: QuestionScale
    patterns: Patterns
    n_items: np.ndarray
    model_raters: list[int]

    @classmethod
    def of(cls, question_id: int, scale: QuestionScale) -> Self:
        """No patterns (P = 0) before anything is counted."""
        row = PatternTally.objects.filter(question_id=question_id, day=EVER).first()
        row = row or PatternTally(width=scale.width)
        counts, n_items = store.decode_patterns(row, scale.width)
        states = CountState.objects.filter(pk=question_id)
        model_raters = states.values_list("model_raters", flat=True).first() or []
        return cls(question_id, scale, Patterns.of(counts, scale), n_items, model_raters)

    @property
    def people_alone(self) -> bool:
        """Models rate too, and the lead wants them told apart."""
        return self.patterns.apart and not self.scale.pooled

    @property
    def told(self) -> np.ndarray:
        """The patterns (P, k) that are told of first: the people's, unless the lead wants models
        pooled with them."""
        return self.patterns.pooled if self.scale.pooled else self.patterns.people
