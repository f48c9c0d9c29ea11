"""Preview of agreement under other weights, from the stored counts of all days.

There are few patterns, however many ratings.
"""

from __future__ import annotations

import numpy as np

from metrics.agreement.coefficients import cohen, fleiss
from metrics.agreement.headline import HeadlineFacts
from metrics.agreement.weights import CUSTOM, get_weight_matrix
from metrics.counting import store
from metrics.models import ALL_DAYS, CountState, PatternTally, Population
from metrics.question_scale import QuestionScale
from metrics.results.patterns import GroupedPatterns, GroupValues
from projects.models import Question

from .headline_computation import ALL, PEOPLE, CountedRaters

MAX_CELLS = 2_000_000  # of the patterns; a larger question gets no preview


def preview_weights(question_id: int, weights: list[list[float]]) -> dict[str, object] | None:
    """Return the weighted kappa under the declared weights (`now`) and under ``weights`` (`then`).

    The third key is the coefficient's `name`. None before anything is counted, if ``weights`` has
    another number of categories, and if the patterns have more than MAX_CELLS cells.
    """
    question = Question.objects.filter(pk=question_id).first()
    state = CountState.objects.filter(pk=question_id).first()
    row = PatternTally.objects.filter(
        question_id=question_id, day=ALL_DAYS, population=Population.ALL
    ).first()
    if question is None or state is None or row is None:
        return None
    scale = QuestionScale.for_question(question)
    if len(weights) != scale.k or len(row.patterns) // 8 > MAX_CELLS:
        return None
    counts, n_items = store.decode_patterns(row, scale.width)
    groups = CountedRaters.from_state(state, scale).build_groups(
        GroupedPatterns.from_code_counts(counts, scale), n_items, GroupValues({})
    )
    group = groups[ALL if scale.pooled else PEOPLE]
    name = HeadlineFacts(scale.kind, 0, scale.weights).weighting
    current_weights = scale.matrix if name == CUSTOM else get_weight_matrix(name, scale.k)
    new_weights = np.array(weights, float)
    if group.n_raters == 2:
        tables = group.tables()
        if not len(tables):
            return None
        kappas = [
            cohen.kappa(tables[0], matrix_weights).to_value()
            for matrix_weights in (current_weights, new_weights)
        ]
        return {"name": "cohen_kappa", "now": kappas[0], "then": kappas[1]}
    patterns = group.counts, group.n_items
    kappas = [
        fleiss.fleiss_kappa(*patterns, weights=matrix_weights).to_value()
        for matrix_weights in (current_weights, new_weights)
    ]
    return {"name": "fleiss_kappa", "now": kappas[0], "then": kappas[1]}
