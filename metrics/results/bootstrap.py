"""Intervals for coefficients that have no standard error of their own: the bootstrap over items,
from patterns.

They cost more than a counting does, so they are made later (readings.later).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metrics.agreement import bootstrap as agreement_bootstrap
from metrics.agreement import registry
from metrics.models import CountState
from metrics.scale import QuestionScale

from .all_time import Ever

REPLICATES = 2000
# at most, over all replicates: a scale of very many patterns gets fewer replicates
DRAWS = 2_000_000

Intervals = dict[str, dict[str, Any]]


def bootstrap(counts: np.ndarray, n_items: np.ndarray, scale: QuestionScale) -> Intervals:
    """Patterns (P, k) and numbers of items (P,) -> name -> {"low", "high", "bootstrap": number of
    replicates}.

    Percentile intervals, seeded: the same counts give the same interval. Nothing where none can be
    had.
    """
    names = registry.bootstrapped(scale.kind)
    if not names or n_items[counts.sum(axis=1) >= 2].sum() < 2:
        return {}

    def statistic(name: str) -> agreement_bootstrap.Statistic:
        return lambda sample: scale.patterns(counts, sample, names=[name], interval=False)[name]

    replicates = int(np.clip(DRAWS // len(counts), 200, REPLICATES))
    found = agreement_bootstrap.bootstrap_patterns(
        n_items, {name: statistic(name) for name in names}, replicates=replicates
    )
    return {
        name: {"low": one.low, "high": one.high, "bootstrap": one.replicates}
        for name, one in found.items()
        if one.low is not None
    }


def filled(coefficients: dict[str, Any], found: Intervals) -> dict[str, Any]:
    """Readings by name, with these intervals where a value is known."""
    known = {
        name: one
        for name, one in found.items()
        if coefficients.get(name, {}).get("value") is not None
    }
    return coefficients | {name: coefficients[name] | one for name, one in known.items()}


def first_filled(first: dict[str, Any], state: CountState | None) -> dict[str, Any]:
    """What is read first (Reading.headline) with its interval by the bootstrap, where it has no
    other."""
    made = "drawn" in first or first["value"].get("low") is not None
    if state is None or made:
        return first
    of_people = first["of"] == "people" and "coefficients" in first
    found = state.bootstrap_people if of_people else state.bootstrap
    named = {first["name"]: first["value"]}
    value = filled(named, found)[first["name"]]
    return first | {"value": value} | ({"people": value} if of_people else {})


def of_question(ever: Ever) -> tuple[Intervals, Intervals]:
    """`bootstrap` of all raters and of the people; nothing for the people where these are all."""
    patterns, scale = ever.patterns, ever.scale
    pooled = bootstrap(patterns.pooled, ever.n_items, scale)
    return pooled, bootstrap(patterns.people, ever.n_items, scale) if patterns.apart else {}
