"""Number of ratings an item should get, computed from the stored counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from metrics.agreement import sample_size
from metrics.agreement.headline import FLEISS
from metrics.results.all_time_patterns import AllTimePatterns
from metrics.results.clusters import QuestionClusters
from metrics.results.headline.headline_trend import get_headline_weighting
from metrics.scale import QuestionScale, get_weighted_name
from projects.models import Question

MAX_PATTERNS = 2_000  # possible patterns of the item with most ratings: some ten milliseconds
HALF_WIDTH = 0.05


@dataclass(frozen=True)
class OverlapPlans:
    """Fleiss' kappa with 2, 3, ... ratings per item.

    ``plans`` is empty without enough data, or where there are too many patterns to compute
    (``too_many``).
    """

    half_width: float
    plans: list[sample_size.OverlapPlan]
    cheapest: sample_size.OverlapPlan | None = None
    too_many: bool = False


def compute_overlap_plans(question: Question, half_width: float = HALF_WIDTH) -> OverlapPlans:
    """Return the plans for a question, with the weighting of the headline.

    Based on people only where people and models are shown separately.
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
