"""How many ratings an item should get, from the stored counts of those that there are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from metrics.agreement import sample_size
from metrics.results.all_time import Ever
from metrics.results.headline.stored_weights import weights_of
from metrics.scale import QuestionScale
from projects.models import Question

MOST_PATTERNS = 2_000  # of as many ratings as the fullest item has: some ten milliseconds
HALF_WIDTH = 0.05


@dataclass(frozen=True)
class Overlaps:
    """Fleiss' kappa with 2, 3, .. ratings an item. Without ``plans``: too little is known, or
    ``too_many`` ratings an item to work it out."""

    half_width: float
    plans: list[sample_size.Plan]
    cheapest: sample_size.Plan | None = None
    too_many: bool = False


def overlaps(question: Question, half_width: float = HALF_WIDTH) -> Overlaps:
    """Under the weights of what is read first, of people where models are kept apart."""
    scale = QuestionScale.of(question)
    ever = Ever.of(question.pk, scale)
    if not len(ever.n_items) or scale.k < 2:
        return Overlaps(half_width, [])
    told = ever.told
    most = int(told.sum(axis=1).max()) if len(told) else 0
    if math.comb(most + scale.k - 1, scale.k - 1) > MOST_PATTERNS:
        return Overlaps(half_width, [], too_many=True)
    weights = scale.weightings()[weights_of(question, scale)]
    distinct, where = np.unique(told, axis=0, return_inverse=True)
    items = np.bincount(where.ravel(), ever.n_items, len(distinct))
    found = sample_size.plans(distinct, items, half_width, weights)
    return Overlaps(half_width, found, sample_size.cheapest(found))
