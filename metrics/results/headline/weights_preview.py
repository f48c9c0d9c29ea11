"""What agreement would be under other weights, from the stored counts of all days: few patterns,
however many ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from metrics.agreement.coefficients import cohen, fleiss
from metrics.agreement.headline import Facts
from metrics.agreement.weights import CUSTOM, matrix
from metrics.counting import store
from metrics.models import EVER, CountState, PatternTally
from metrics.results.grouped_patterns import Patterns, Row
from metrics.scale import QuestionScale
from projects.models import Question

from .headline_computation import ALL, PEOPLE, Counted

CELLS = 2_000_000  # of the patterns: with more, nobody waits for a preview


def of_weights(question_id: int, weights: list[list[float]]) -> dict[str, Any] | None:
    """The kappa that weights go into: its name, its READING under the declared weights (`now`) and
    under these (`then`); None before anything is counted."""
    question = Question.objects.filter(pk=question_id).first()
    state = CountState.objects.filter(pk=question_id).first()
    row = PatternTally.objects.filter(question_id=question_id, day=EVER).first()
    if question is None or state is None or row is None:
        return None
    scale = QuestionScale.of(question)
    if len(weights) != scale.k or len(row.patterns) // 8 > CELLS:
        return None
    counts, n_items = store.decode_patterns(row, scale.width)
    groups = Counted.of(state, scale).groups(Patterns.of(counts, scale), n_items, Row({}))
    group = groups[ALL if scale.pooled else PEOPLE]
    name = Facts(scale.kind, 0, scale.weights).weighting
    now = scale.matrix if name == CUSTOM else matrix(name, scale.k)
    then = np.array(weights, float)
    if group.n_raters == 2:
        tables = group.tables()
        if not len(tables):
            return None
        readings = [cohen.kappa(tables[0], one).reading() for one in (now, then)]
        return {"name": "cohen_kappa", "now": readings[0], "then": readings[1]}
    values = group.counts, group.n_items
    readings = [fleiss.fleiss_kappa(*values, weights=one).reading() for one in (now, then)]
    return {"name": "fleiss_kappa", "now": readings[0], "then": readings[1]}
