"""What there is to say of a question's disagreement: the diagnoses that apply, and the most
disputed items.

Stored as names and figures (models.Diagnosis), so that pages read them and put them into the
reader's language.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from django.utils import timezone

from metrics.agreement.counts.tally import PairTables
from metrics.agreement.explaining import diagnosis
from metrics.counting import store
from metrics.models import EVER, Diagnosis, PatternTally
from metrics.scale import QuestionScale

from . import disputes, pairs

Findings = list[dict[str, Any]]


def diagnosis_of(question_id: int, scale: QuestionScale) -> Diagnosis:
    """What is to be stored of a question, from its counts and what is counted of its ratings."""
    return Diagnosis(
        question_id=question_id,
        findings=of_question(question_id, scale),
        disputes=disputes.newest_disputed(question_id, scale),
        computed_at=timezone.now(),
    )


def of_question(question_id: int, scale: QuestionScale) -> Findings:
    """Those of all ratings; what is said of raters rests on the pairs of the heat map."""
    row = PatternTally.objects.filter(question_id=question_id, day=EVER).first()
    if row is None:
        return []
    counts, n_items = store.decode_patterns(row, scale.width)
    raters = pairs.busiest(question_id).values_list("rater_id", flat=True)
    tables = pairs.tables_among(question_id, list(raters), scale)
    return of(scale.ordered(counts), n_items, tables, scale)


def of(
    counts: np.ndarray, n_items: np.ndarray, tables: PairTables, scale: QuestionScale
) -> Findings:
    """Patterns (P, k), items (P,) and the tables of pairs of raters -> what applies."""
    found = diagnosis.diagnose(
        counts,
        n_items,
        pairs=tables if len(tables) else None,
        ordered=scale.type.ordered,
        values=scale.values,
    )
    return [{"name": one.name, "figures": one.figures} for one in found]
