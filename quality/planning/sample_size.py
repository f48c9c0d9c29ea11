"""Further items needed for a narrower interval, from the stored result of a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from metrics.agreement import sample_size
from metrics.agreement.estimate import Value
from metrics.agreement.explain import bands
from metrics.agreement.headline import COHEN, FLEISS
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results.headline.trends import get_headline_weighting
from metrics.results.intervals import QuestionClusters
from metrics.results.patterns import AllTimePatterns
from metrics.results.question_agreement import load_question_agreement
from metrics.results.stored_values import get_all_ratings_headline
from projects.models import Question

MAX_PATTERNS = 2_000  # possible patterns of the item with most ratings: some ten milliseconds
HALF_WIDTH = 0.05


@dataclass(frozen=True)
class OverlapPlans:
    """Plans for Fleiss' kappa with 2, 3 and more ratings per item, to reach one half-width.

    ``plans`` is empty without enough data, or if there are too many patterns to compute
    (``too_many``). ``cheapest`` needs the fewest ratings.
    """

    half_width: float
    plans: list[sample_size.OverlapPlan]
    cheapest: sample_size.OverlapPlan | None = None
    too_many: bool = False


def compute_overlap_plans(question: Question, half_width: float = HALF_WIDTH) -> OverlapPlans:
    """Return how many items a question needs if each gets 2, 3 or more ratings.

    ``half_width``: the half-width that the interval of Fleiss' kappa must reach, with the
    headline's weights. Based on the stored counts: of people only, if people and models are shown
    separately.
    """
    scale = QuestionScale.for_question(question)
    all_time = AllTimePatterns.load(question.pk, scale)
    if not len(all_time.n_items) or scale.k < 2:
        return OverlapPlans(half_width, [])
    patterns = all_time.displayed_counts
    max_ratings = int(patterns.sum(axis=1).max()) if len(patterns) else 0
    if math.comb(max_ratings + scale.k - 1, scale.k - 1) > MAX_PATTERNS:
        return OverlapPlans(half_width, [], too_many=True)
    weighting = get_headline_weighting(question, scale)
    weights = scale.build_weight_matrices()[weighting]
    distinct, pattern_index = np.unique(patterns, axis=0, return_inverse=True)
    items = np.bincount(pattern_index.ravel(), all_time.n_items, len(distinct))
    stored = QuestionClusters.load(question.pk, question.project)
    clusters = None
    if stored is not None:
        clusters = stored.get_effect(get_weighted_name(FLEISS, weighting)), stored.n_clusters
    plans = sample_size.compute_plans(distinct, items, half_width, weights, clusters=clusters)
    return OverlapPlans(half_width, plans, sample_size.find_cheapest_plan(plans))


HALF_WIDTHS = (0.1, 0.05, 0.03, 0.02)


@dataclass(frozen=True)
class WidthPlan:
    """Items needed for one half-width: in total (``items``) and in addition (``more``).

    ``expected``: items with which about half of such studies reach it, if the standard error stays
    as it is. Each is None if it cannot be estimated.
    """

    half_width: float
    items: int | None
    more: int | None
    expected: int | None


_MISSING_RATINGS = ("no_pairable_items", "too_few_items")


@dataclass(frozen=True)
class SampleSizePlan:
    """A question's coefficient, and the items needed for narrower intervals."""

    name: str
    value: Value | None
    widths: list[WidthPlan]
    clusters: QuestionClusters | None = None
    error: float | None = None  # to plan from: that of the interval shown
    error_factor: float = 1.0  # by which the error is too small in one of ten studies
    pilot_items: int = 0  # items that tell the error well enough to plan from them

    @property
    def is_pilot_too_small(self) -> bool:
        """Return whether the standard error is too uncertain to plan a sample size with it."""
        return self.error_factor > sample_size.MAX_ERROR_FACTOR

    @property
    def design_effect(self) -> float:
        """Return the design effect of clusters of items; 1 where there are none."""
        return self.clusters.get_effect(self.name) if self.clusters else 1.0

    @property
    def is_rough(self) -> bool:
        """Return whether too few items, or too few that differ, make the standard error unreliable.

        If too few differ, the interval shown is much wider than the standard error implies.
        """
        if self.value is None or self.error is None or self.value["se"] is None:
            return False
        has_few_items = (self.value["n_items"] or 0) < bands.MIN_ITEMS_ZERO_WIDTH
        return has_few_items or self.error > sample_size.MAX_ERROR_FACTOR * self.value["se"]

    @property
    def reason(self) -> str:
        """Return the name of the reason for a missing estimate; "" if only ratings are missing."""
        reason = (self.value and self.value["reason"]) or ""
        return "" if reason in _MISSING_RATINGS else reason


@dataclass(frozen=True)
class StudyPlan:
    """Number of items of a study with two raters per item, and its cost.

    The cost has the unit of the cost of a rating; None if that is unknown.
    """

    items: int
    cost: float | None

    @property
    def ratings(self) -> int:
        return 2 * self.items


def plan_study(
    *,
    kappa: float,
    prevalence: float | Sequence[float],
    half_width: float,
    cost: float | None = None,
) -> StudyPlan:
    """Return the number of items with which 9 of 10 studies get an interval of this half-width.

    ``kappa``: the expected value; ``prevalence``: the share of one of two categories, or of every
    category; ``cost``: the cost of one rating, None if unknown. Raises ValueError for assumptions
    that no study can meet.
    """
    items = sample_size.compute_items_needed_before(
        kappa, prevalence, half_width, with_assurance=True
    )
    return StudyPlan(items, None if cost is None else 2 * items * cost)


def plan_sample_size(
    question: Question, half_widths: Sequence[float] = HALF_WIDTHS
) -> SampleSizePlan:
    """Return the items that a question needs for each half-width, if further items are like these.

    With so many items, 9 of 10 such studies reach the half-width. The coefficient is the headline
    if it is a kappa, else Fleiss' kappa. The uncertainty of the standard error is estimated from
    the patterns of the present ratings, for Fleiss' kappa with the same weights. Clusters are
    assumed to keep their size.
    """
    scale = QuestionScale.for_question(question)
    weights = get_headline_weighting(question, scale)
    name = get_weighted_name(FLEISS, weights)
    agreement = load_question_agreement(question)
    value = agreement.displayed_coefficients.get(name) if agreement else None
    headline = get_all_ratings_headline(agreement.headline) if agreement else {}
    if headline and headline["name"].startswith(COHEN):
        name, value = headline["name"], headline["value"]
    clusters = agreement.clusters if agreement else None
    n_clusters = clusters.n_clusters if clusters else None
    se = sample_size.compute_planning_error(value, n_clusters) if value else None
    n = (value["n_items"] or 0) if value else 0
    log_se_sd = _estimate_log_se_sd(question, scale, weights) if se is not None else 0.0
    plan = partial(sample_size.compute_items_needed, se, n, n_clusters=n_clusters)
    widths = []
    for width in half_widths:
        needed, expected = plan(width, log_se_sd=log_se_sd), plan(width)
        widths.append(WidthPlan(width, needed.items, needed.additional, expected.items))
    log_se_sd = sample_size.add_cluster_variance(log_se_sd, n_clusters)
    return SampleSizePlan(
        name,
        value,
        widths,
        clusters,
        error=se,
        error_factor=sample_size.compute_error_factor(log_se_sd),
        pilot_items=sample_size.compute_pilot_items(log_se_sd, n),
    )


def _estimate_log_se_sd(question: Question, scale: QuestionScale, weights: str) -> float:
    """Estimate how uncertain the standard error is: the standard deviation of its logarithm.

    It is estimated from the displayed patterns of ratings, with these weights; 0 without data.
    """
    all_time = AllTimePatterns.load(question.pk, scale)
    if not len(all_time.n_items) or scale.k < 2:
        return 0.0
    distinct, index = np.unique(all_time.displayed_counts, axis=0, return_inverse=True)
    items = np.bincount(index.ravel(), all_time.n_items, len(distinct))
    is_rated = distinct.sum(axis=1) > 0
    return sample_size.estimate_log_se_sd(
        distinct[is_rated], items[is_rated], scale.build_weight_matrices()[weights]
    )
