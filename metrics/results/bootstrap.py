"""Bootstrap intervals, over items, for coefficients without a standard error.

They take longer than counting, so they are computed later (results.deferred_results).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metrics.agreement import bootstrap as agreement_bootstrap
from metrics.agreement import registry
from metrics.models import CountState
from metrics.scale import QuestionScale

from .all_time_patterns import AllTimePatterns

REPLICATES = 2000
# Over all replicates: a question with very many patterns gets fewer replicates.
MAX_PATTERN_DRAWS = 2_000_000

Intervals = dict[str, dict[str, Any]]


def compute_intervals(counts: np.ndarray, n_items: np.ndarray, scale: QuestionScale) -> Intervals:
    """Return name -> {"low", "high", "bootstrap": number of replicates} for patterns (P, k).

    ``n_items`` (P,): numbers of items. Percentile intervals with a fixed seed: the same counts give
    the same interval. Coefficients without an interval are left out.
    """
    names = registry.list_bootstrap_names(scale.kind)
    if not names or n_items[counts.sum(axis=1) >= 2].sum() < 2:
        return {}

    def build_statistic(name: str) -> agreement_bootstrap.Statistic:
        return lambda sample: scale.estimate_patterns(counts, sample, names=[name], interval=False)[
            name
        ]

    replicates = int(np.clip(MAX_PATTERN_DRAWS // len(counts), 200, REPLICATES))
    results = agreement_bootstrap.bootstrap_patterns(
        n_items, {name: build_statistic(name) for name in names}, replicates=replicates
    )
    return {
        name: {"low": result.low, "high": result.high, "bootstrap": result.replicates}
        for name, result in results.items()
        if result.low is not None
    }


def add_intervals(coefficients: dict[str, Any], bootstrap_intervals: Intervals) -> dict[str, Any]:
    """Return values by name, with these intervals added where the value is defined."""
    applicable = {
        name: interval
        for name, interval in bootstrap_intervals.items()
        if coefficients.get(name, {}).get("value") is not None
    }
    return coefficients | {
        name: coefficients[name] | interval for name, interval in applicable.items()
    }


def add_headline_interval(headline: dict[str, Any], state: CountState | None) -> dict[str, Any]:
    """Return the headline with its bootstrap interval where it has no other."""
    has_interval = "sample" in headline or headline["value"].get("low") is not None
    if state is None or has_interval:
        return headline
    of_people = headline["population"] == "people" and "coefficients" in headline
    bootstrap_intervals = state.bootstrap_people if of_people else state.bootstrap
    by_name = {headline["name"]: headline["value"]}
    value = add_intervals(by_name, bootstrap_intervals)[headline["name"]]
    return headline | {"value": value} | ({"people": value} if of_people else {})


def compute_pooled_and_people_intervals(all_time: AllTimePatterns) -> tuple[Intervals, Intervals]:
    """Compute the intervals of all raters and of people; none of people where no model rates."""
    patterns, scale = all_time.patterns, all_time.scale
    pooled = compute_intervals(patterns.pooled, all_time.n_items, scale)
    return pooled, compute_intervals(
        patterns.people, all_time.n_items, scale
    ) if patterns.separates_models else {}
