"""Mean pairwise kappa, weighted by shared items, with an interval.

It needs all pairs, so it is computed after the other results (results.deferred_results).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metrics.agreement.coefficients.light import PairKappas, mean_kappa_by_items
from metrics.agreement.registry import MEAN_BY_ITEMS
from metrics.agreement.weights import get_weighted_name
from metrics.models import PairTally
from metrics.results.period_patterns import AllTimePatterns
from metrics.results.values import Values
from metrics.scale import QuestionScale

MAX_PAIRS = 20_000  # those with the most shared items; the others have almost no weight


def compute_question_mean_kappas(all_time: AllTimePatterns) -> Values:
    """Return name -> mean pairwise kappa of a question under each weighting.

    Of people where models are separate, unless the lead pooled them.
    """
    pairs = PairTally.objects.filter(question=all_time.question_id)
    if all_time.is_people_only:
        pairs = pairs.exclude(rater_a__in=all_time.model_raters)
        pairs = pairs.exclude(rater_b__in=all_time.model_raters)
    names = all_time.scale.list_weightings()
    columns = "rater_a_id", "rater_b_id", "n_items", *(f"kappa_{name}" for name in names)
    by_shared_items = pairs.order_by("-n_items", "rater_a_id", "rater_b_id")
    rows = list(by_shared_items.values_list(*columns)[:MAX_PAIRS])
    if not rows:
        return {}
    raters_a, raters_b, shared, *kappas = zip(*rows, strict=True)
    patterns = all_time.displayed_counts, all_time.n_items
    return compute_mean_kappas(
        np.array([raters_a, raters_b, shared], np.int64), kappas, patterns, all_time.scale
    )


def compute_mean_kappas(
    pairs: np.ndarray,
    kappas: list[Any],
    patterns: tuple[np.ndarray, np.ndarray],
    scale: QuestionScale,
) -> Values:
    """Return name -> mean of these pairs' kappas under each weighting, with intervals.

    ``pairs`` (3, P): rater a, rater b and shared items; ``kappas``: their kappas under each
    weighting, None where undefined; ``patterns``: counts (P, k) and numbers of items (P,).
    """
    means: Values = {}
    weights = scale.build_weight_matrices()
    for name, values in zip(scale.list_weightings(), kappas, strict=True):
        kappa = np.array(values, float)
        pair_kappas = PairKappas(pairs[0], pairs[1], pairs[2], kappa)
        mean, n_pairs = mean_kappa_by_items(pair_kappas, *patterns, weights[name])
        means[get_weighted_name(MEAN_BY_ITEMS, name)] = {**mean.to_value(), "n_pairs": n_pairs}
    return means
