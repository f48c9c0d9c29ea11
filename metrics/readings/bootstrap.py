"""Intervals for coefficients that have no standard error of their own: the bootstrap over items,
from patterns.

They cost more than a counting does, so the sweep makes them, seconds after the numbers moved.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from django.db.models import F

from metrics.agreement import intervals, registry
from metrics.agreement.scales import SCALES
from metrics.counting import store
from metrics.models import EVER, CountState, PatternTally
from metrics.scale import QuestionScale
from projects.models import Question

logger = logging.getLogger(__name__)

REPLICATES = 2000
# at most, over all replicates: a scale of very many patterns gets fewer replicates
DRAWS = 2_000_000
# the types of scale on which some coefficient has no analytic standard error
SOME = [name for name in SCALES if registry.bootstrapped(name)]

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

    def statistic(name: str) -> intervals.Statistic:
        return lambda sample: scale.patterns(counts, sample, names=[name], interval=False)[name]

    replicates = int(np.clip(DRAWS // len(counts), 200, REPLICATES))
    found = intervals.bootstrap_patterns(
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


def sweep() -> None:
    """Renew the intervals that are older than the readings; a failure of one does not keep the
    others waiting."""
    states = CountState.objects.exclude(bootstrapped=F("version")).filter(question__scale__in=SOME)
    for question_id in list(states.order_by("pk").values_list("pk", flat=True)):
        try:
            renew(question_id)
        except Exception:
            logger.exception(
                "the bootstrap of question %s failed; the next sweep tries again", question_id
            )


def renew(question_id: int) -> None:
    """Make a question's intervals anew. Counting may go on meanwhile: then they are not stored, but
    made again."""
    question = Question.objects.select_related("count_state").get(pk=question_id)
    version = question.count_state.version
    row = PatternTally.objects.filter(question_id=question_id, day=EVER).first()
    found: Intervals = {}
    if row is not None:
        scale = QuestionScale.of(question)
        counts, n_items = store.decode_patterns(row, scale.width)
        found = bootstrap(scale.ordered(counts), n_items, scale)
    # The version rises, so that open pages show the interval.
    CountState.objects.filter(pk=question_id, version=version).update(
        bootstrap=found, bootstrapped=version + 1, version=version + 1
    )
