"""Attributions: what explains a move between two periods, asked for by a page, computed by a worker
and kept in a row (core.jobs.on_demand)."""

from __future__ import annotations

import datetime
from typing import Any

from core.jobs.on_demand import AskedWork, forget_oldest
from metrics.models import Attribution, CountState
from metrics.scale import QuestionScale
from projects.models import Question

from .attribution_result import attributed

KEPT = 100  # attributions of a question


def ask(question: Question, **which: Any) -> Attribution:
    """The stored attribution of a move, or a new one that waits; an old one is computed anew when
    numbers moved.

    ``which``: span ("week" or "month"), start_from, start_to (first days of the periods), weights.
    """
    row, new = WORK.ask(question=question, **which)
    if new:
        forget_oldest(Attribution.objects.filter(question=question), kept=KEPT)
    else:
        WORK.ask_again(row, behind=lambda: row.version != CountState.version_of(question.pk))
    return row


def _made(row: Attribution) -> dict[str, Any] | None:
    scale = QuestionScale.of(row.question)
    if row.weights not in scale.weighting_names():
        return None  # the custom weights were taken away
    # Read first: a count that goes on meanwhile makes the result old, not wrong.
    version = CountState.version_of(row.question_id)
    return {"result": attributed(row, scale), "version": version}


WORK = AskedWork(
    rows=Attribution.objects.select_related("question").defer("result"),
    result="result",
    task="metrics.tasks.attribute_move",
    make=_made,
    shortest_rest=datetime.timedelta(seconds=30),
)
