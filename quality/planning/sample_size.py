"""Further items needed for a narrower interval, from the stored result of a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics.agreement import sample_size
from metrics.agreement.explain import bands
from metrics.agreement.headline import COHEN, FLEISS
from metrics.models import PeriodUnit, Result
from metrics.results.all_time_patterns import AllTimePatterns
from metrics.results.headline import sample_headline
from metrics.results.headline.stored_weights import get_headline_weights
from metrics.scale import QuestionScale, get_weighted_name
from projects.models import Question

HALF_WIDTHS = (0.1, 0.05, 0.03, 0.02)


@dataclass(frozen=True)
class WidthPlan:
    """Items needed for one half-width: in total, and in addition; None where unknown."""

    half_width: float
    items: int | None
    more: int | None


@dataclass(frozen=True)
class SampleSizePlan:
    """A question's coefficient, and the items needed for narrower intervals."""

    name: str
    value: dict[str, Any] | None
    widths: list[WidthPlan]

    @property
    def is_rough(self) -> bool:
        """Return whether the standard error itself is based on too few items."""
        return (
            bool(self.value) and (self.value or {}).get("n_items", 0) < bands.MIN_ITEMS_ZERO_WIDTH
        )


def plan_sample_size(
    question: Question, half_widths: Sequence[float] = HALF_WIDTHS
) -> SampleSizePlan:
    """Return the items needed for each half-width, assuming further items of the same kind.

    So many that it is reached in 9 of 10 such studies. How far the error may still change is
    estimated from the patterns of the same ratings, for Fleiss' kappa with the same weights.

    For the headline kappa: Cohen's with two raters, else Fleiss' with the same weights, of the
    ratings that it describes (Result.displayed_coefficients).
    """
    scale = QuestionScale.for_question(question)
    weights = get_headline_weights(question, scale)
    name = get_weighted_name(FLEISS, weights)
    unfiltered = Result.objects.filter(question=question, period_unit=PeriodUnit.ALL).first()
    value = unfiltered.displayed_coefficients.get(name) if unfiltered else None
    headline = sample_headline.get_all_ratings_headline(unfiltered.headline) if unfiltered else {}
    if headline and headline["name"].startswith(COHEN):
        name, value = headline["name"], headline["value"]
    se, n = (value.get("se"), value.get("n_items") or 0) if value else (None, 0)
    log_se_sd = _estimate_log_se_sd(question, scale, weights) if se is not None else 0.0
    widths = []
    for half_width in half_widths:
        needed = sample_size.compute_items_needed(se, n, half_width, log_se_sd=log_se_sd)
        widths.append(WidthPlan(half_width, needed.items, needed.additional))
    return SampleSizePlan(name, value, widths)


def _estimate_log_se_sd(question: Question, scale: QuestionScale, weights: str) -> float:
    """Return how far the standard error may still change, from the displayed patterns."""
    all_time = AllTimePatterns.load(question.pk, scale)
    if not len(all_time.n_items) or scale.k < 2:
        return 0.0
    distinct, index = np.unique(all_time.displayed_counts, axis=0, return_inverse=True)
    items = np.bincount(index.ravel(), all_time.n_items, len(distinct))
    is_rated = distinct.sum(axis=1) > 0
    return sample_size.estimate_log_se_sd(
        distinct[is_rated], items[is_rated], scale.build_weight_matrices()[weights]
    )
