"""The mean pairwise kappa in which a pair counts by its shared items, with an interval. It looks at
all pairs, so it is made a moment after the readings (readings.later)."""

from __future__ import annotations

from typing import Any

import numpy as np

from metrics.agreement.coefficients.light import KappasOfPairs, by_items
from metrics.agreement.registry import MEAN_BY_ITEMS
from metrics.agreement.weights import weighted
from metrics.models import PairTally
from metrics.results.all_time import Ever
from metrics.scale import QuestionScale

PAIRS = 20_000  # those with the most items in common: the others weigh next to nothing


def of_question(ever: Ever) -> dict[str, Any]:
    """Name -> READING, for each weighting; of the people where models are kept apart, unless the
    lead wants them pooled."""
    pairs = PairTally.objects.filter(question=ever.question_id)
    if ever.people_alone:
        pairs = pairs.exclude(rater_a__in=ever.model_raters)
        pairs = pairs.exclude(rater_b__in=ever.model_raters)
    names = ever.scale.weighting_names()
    columns = "rater_a_id", "rater_b_id", "n_items", *(f"kappa_{name}" for name in names)
    most = pairs.order_by("-n_items", "rater_a_id", "rater_b_id")
    rows = list(most.values_list(*columns)[:PAIRS])
    if not rows:
        return {}
    a, b, shared, *kappas = zip(*rows, strict=True)
    patterns = ever.told, ever.n_items
    return of(np.array([a, b, shared], np.int64), kappas, patterns, ever.scale)


def of(
    pairs: np.ndarray,
    kappas: list[Any],
    patterns: tuple[np.ndarray, np.ndarray],
    scale: QuestionScale,
) -> dict[str, Any]:
    """rater a, rater b and shared items (3, P) and their kappas under each weighting, None where
    undefined; ``patterns``: the counts (P, k) and numbers of items (P,)."""
    found = {}
    weights = scale.weightings()
    for name, values in zip(scale.weighting_names(), kappas, strict=True):
        kappa = np.array(values, float)
        known = KappasOfPairs(pairs[0], pairs[1], pairs[2], kappa)
        mean, n_pairs = by_items(known, *patterns, weights[name])
        found[weighted(MEAN_BY_ITEMS, name)] = {**mean.reading(), "n_pairs": n_pairs}
    return found
