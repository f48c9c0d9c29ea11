"""Mean pairwise kappas of a question: of its pairs, and weighted by shared items.

The mean of the pairs comes from their stored sum. The one by shared items has an interval. It needs
all pairs, so it is computed after the other results (results.deferred_results).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from django.db.models import Q

from metrics.agreement.coefficients.light import PairKappas, mean_kappa_by_items
from metrics.agreement.registry import MEAN_BY_ITEMS, MEAN_PAIRWISE
from metrics.agreement.weights import CUSTOM, get_weighted_name
from metrics.counting import store
from metrics.models import CountState, PairTally
from metrics.question_scale import QuestionScale
from metrics.results.grouped_patterns import GroupValues
from metrics.results.period_patterns import AllTimePatterns
from metrics.results.values import Values, build_pair_mean_value, copy_sample_sizes

MAX_PAIRS = 20_000  # those with the most shared items; the others have almost no weight


def add_means_over_pairs(state: CountState, values: GroupValues) -> GroupValues:
    """Return the values with the mean kappas of all pairs that share items, and of pairs of people.

    Source: Light 1971. Call it under the question's lock, as the sums of the kappas are in
    ``state``.
    """
    sums = store.create_pair_sums() | state.pair_sums
    with_means = replace(
        values, pooled=values.pooled | _build_means(state, Q(), sums, values.pooled)
    )
    if values.people is None:
        return with_means
    with_model = Q(rater_a__in=state.model_raters) | Q(rater_b__in=state.model_raters)
    people_sums = {name: list(total) for name, total in sums.items()}
    # Few pairs have a model, and the sums are of integers, so the difference is exact.
    model_pairs = PairTally.objects.filter(with_model, question=state.question_id)
    store.add_kappas_to_sums(people_sums, store.read_kappas(model_pairs), sign=-1)
    means = _build_means(state, ~with_model, people_sums, values.people)
    return replace(with_means, people=values.people | means)


def _build_means(state: CountState, pair_filter: Q, sums: store.PairSums, values: Values) -> Values:
    """Return the mean of the defined kappas of these pairs, under each weighting."""
    means = {}
    for name, (total, n_pairs) in sums.items():
        if name == CUSTOM and not n_pairs:
            continue
        if n_pairs:
            mean = build_pair_mean_value(total / n_pairs / store.KAPPA_UNITS, n_pairs)
        else:
            pairs = PairTally.objects.filter(pair_filter, question=state.question_id)
            reason = "single_category" if pairs.exists() else "no_pairable_items"
            mean = build_pair_mean_value(None, 0, undefined_reason=reason)
        means[get_weighted_name(MEAN_PAIRWISE, name)] = mean
    return copy_sample_sizes(means, values["percent_agreement"])


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
