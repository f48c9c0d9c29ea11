"""Bootstrap intervals, over items, for coefficients without a standard error.

They take longer than counting, so they are computed later (results.deferred_results).
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from metrics.agreement import bootstrap as agreement_bootstrap
from metrics.agreement import registry
from metrics.agreement.counts.additive import PatternCounts
from metrics.question_scale import QuestionScale

from .patterns import GroupedPatterns
from .values import HeadlineResult, Value, Values

REPLICATES = 2000
# Over all replicates: a question with very many patterns gets fewer replicates.
MAX_PATTERN_DRAWS = 2_000_000


class Interval(TypedDict):
    """A bootstrap interval, and the number of its replicates."""

    low: float | None
    high: float | None
    bootstrap: int


Intervals = dict[str, Interval]  # by the name of the coefficient


def compute_intervals(counts: np.ndarray, n_items: np.ndarray, scale: QuestionScale) -> Intervals:
    """Return name -> {"low", "high", "bootstrap": number of replicates} for patterns (P, k).

    ``n_items`` (P,): numbers of items. Percentile intervals with a fixed seed: the same counts give
    the same interval. Coefficients that have no bootstrap interval are left out.
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


def add_intervals(coefficients: Values, bootstrap_intervals: Intervals) -> Values:
    """Return the values by name, with these bootstrap intervals added to defined ones."""
    with_intervals = dict(coefficients)
    for name, interval in bootstrap_intervals.items():
        if name in coefficients and coefficients[name]["value"] is not None:
            with_intervals[name] = {**coefficients[name], **interval}
    return with_intervals


def add_missing_interval(name: str, value: Value, bootstrap_intervals: Intervals) -> Value:
    """Return a value, with its bootstrap interval if it is defined and has none."""
    if value.get("low") is not None:
        return value
    return add_intervals({name: value}, bootstrap_intervals)[name]


def compute_pooled_and_people_intervals(
    patterns: GroupedPatterns, n_items: np.ndarray, scale: QuestionScale
) -> tuple[Intervals, Intervals]:
    """Return the intervals of all raters and those of people, {} where models are not separate.

    ``n_items`` (P,): number of items with each pattern.
    """
    pooled = compute_intervals(patterns.pooled, n_items, scale)
    people = compute_intervals(patterns.people, n_items, scale) if patterns.separates_models else {}
    return pooled, people


def add_headline_intervals(
    headline: HeadlineResult, coefficients: Values, patterns: PatternCounts, scale: QuestionScale
) -> Values:
    """Return the coefficients with bootstrap intervals added where these exist.

    The headline's value gets one too, in place, if it has none.
    """
    intervals = compute_intervals(patterns.counts, patterns.n_items, scale)
    headline["value"] = add_missing_interval(headline["name"], headline["value"], intervals)
    return add_intervals(coefficients, intervals)
