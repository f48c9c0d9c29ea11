"""The change of agreement between the last two periods, tested by permuting their items.

Fleiss' kappa of the items whose second rating came in the last week with enough items is compared
with that of the week before, or else of months. If no item's pattern depends on its week, every
assignment of the items to the two weeks is equally likely; so each test finds a change with a
probability of at most 5%, whatever the prevalence and the number of items.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np
from django.db.models import Q

from metrics import periods
from metrics.agreement.coefficients import fleiss
from metrics.agreement.comparison.before_after import permutation_p_value
from metrics.agreement.estimate import to_finite_float
from metrics.agreement.weights import UNWEIGHTED, get_weighted_name
from metrics.counting import store
from metrics.models import PatternTally, PeriodUnit, Population, Result
from metrics.results.patterns import AllTimePatterns, GroupedPatterns
from ratings.services.rating_times import EPOCH

SPANS = (PeriodUnit.WEEK.value, PeriodUnit.MONTH.value)
MAX_PERIODS = 24  # newest weeks and months, together, among which the last two are searched
ERROR_RATE = 0.05  # probability that one test finds a change that is due to chance
MIN_Z = 1.5  # standard errors; a smaller change is never clear, so that nothing is permuted

CLUSTER_Z = NormalDist().inv_cdf(1 - ERROR_RATE / 2)  # standard errors, of items in clusters

Patterns = tuple[np.ndarray, np.ndarray]


def find_recent_change(all_time: AllTimePatterns) -> list[Mapping[str, Any]]:
    """Return a finding with the change between the last two periods under each weighting, or none.

    It compares people only, unless models are pooled or are the only raters. Figures: span, first
    days, and weighting -> [value before, value after, whether the change is more than chance].
    """
    population = Population.PEOPLE if all_time.is_people_only else Population.ALL
    column = "headline__people" if all_time.is_people_only else "coefficients"
    rows = Result.objects.filter(question=all_time.question_id, period_unit__in=SPANS)
    sizes = rows.order_by("-start").values_list(
        "period_unit", "start", f"{column}__percent_agreement__n_items"
    )[:MAX_PERIODS]
    last_two = _choose_periods(list(sizes))
    if last_two is None:
        return []
    span, before_start, after_start = last_two
    before, after = (
        _load_period(all_time, population, span, start) for start in (before_start, after_start)
    )
    changes = {}
    for name, matrix in all_time.scale.build_weight_matrices().items():
        weights = None if name == UNWEIGHTED else matrix
        coefficient = get_weighted_name("fleiss_kappa", name)
        effect = all_time.clusters.get_effect(coefficient) if all_time.clusters else 1.0
        changes[coefficient] = compare_periods(before, after, weights, effect=effect)
    figures = {
        "span": span,
        "before": before_start.isoformat(),
        "after": after_start.isoformat(),
        "changes": changes,
    }
    return [{"name": "recent_change", "figures": figures}]


def compare_periods(
    before: Patterns, after: Patterns, weights: np.ndarray | None, *, effect: float = 1.0
) -> list[float | bool | None]:
    """Return [Fleiss' kappa before, kappa after, whether the change is more than chance].

    ``before``, ``after``: patterns (P, k) and their numbers of items (P,). ``effect``: the design
    effect of clusters. The change must exceed a multiple of its standard error and pass a
    permutation test. The multiple is larger with clusters, which that test ignores.
    """
    estimates = [fleiss.fleiss_kappa(*patterns, weights=weights) for patterns in (before, after)]
    values = [to_finite_float(estimate.value) for estimate in estimates]
    if values[0] is None or values[1] is None:
        return [*values, False]
    error = float(np.hypot(*(estimate.se for estimate in estimates)))
    critical_z = MIN_Z if effect == 1 else CLUSTER_Z * effect**0.5
    if not abs(values[1] - values[0]) > critical_z * error:
        return [*values, False]
    p = permutation_p_value(before, after, weights)
    return [*values, p is not None and p <= ERROR_RATE]


def _choose_periods(
    sizes: list[tuple[str, datetime.date, int | None]],
) -> tuple[str, datetime.date, datetime.date] | None:
    """Return the span and the first days of its last two periods with enough items, or None.

    ``sizes``: span, first day and number of items, newest first.
    """
    for span in SPANS:
        starts = [
            start
            for unit, start, n_items in sizes
            if unit == span and (n_items or 0) >= periods.MIN_ITEMS
        ]
        if len(starts) >= 2:
            return span, starts[1], starts[0]
    return None


def _load_period(
    all_time: AllTimePatterns, population: str, span: str, start: datetime.date
) -> Patterns:
    """Return the comparable patterns of one period, and their numbers of items."""
    first, end = ((day - EPOCH).days for day in (start, periods.get_end_date(start, span)))
    rows = PatternTally.objects.filter(
        Q(day__gte=first, day__lt=end), question_id=all_time.question_id, population=population
    )
    scale = all_time.scale
    parts = [
        store.decode_patterns(row, scale.width, separate_models=all_time.is_people_only)
        for row in rows
    ]
    patterns = GroupedPatterns.from_code_counts(
        np.concatenate([counts for counts, _n_items in parts]), scale
    )
    counts = patterns.people if all_time.is_people_only else patterns.pooled
    n_items = np.concatenate([n_items for _counts, n_items in parts])
    is_comparable = counts.sum(axis=1) >= 2
    return counts[is_comparable], n_items[is_comparable]
