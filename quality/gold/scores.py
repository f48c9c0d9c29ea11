"""Each rater's answers on gold -> a score: what is known of how often the rater is right.

An answer is a standing rating of an item that has gold, or one to hidden gold. Those of an exam
are none: there the rater knew of the test, and it ended when they had done well or badly. Where
gold allows several categories, any of them is right, and such answers enter the accuracy and the
evidence; into the table, and so into kappa, chance, bias and classes, goes only gold of one
category. Gold that is shares of categories is not scored.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from metrics.agreement.estimate import wilson
from metrics.agreement.rater_quality import gold as formulas
from metrics.periods import starts
from metrics.scale import QuestionScale
from quality.models import GoldScore

from .answers import Gold, Said

# The evidence as it is stored: beyond that nobody tells numbers apart.
HIGHEST = 1e300


def of_question(question_id: int) -> list[GoldScore]:
    """The stored scores of a question's raters, in the order of their keys."""
    rows = GoldScore.objects.filter(question_id=question_id).select_related("rater")
    return list(rows.order_by("rater__key"))


def scored(
    said: Sequence[Said], golds: Mapping[int, Gold], *, without: Collection[int] = ()
) -> dict[int, list[Said]]:
    """Rater -> the answers that can be right or wrong, in the order in which they were given.
    ``without``: items whose gold is suspected."""
    found: dict[int, list[Said]] = {}
    for one in said:
        if not one.exam and golds[one.item].right and one.item not in without:
            found.setdefault(one.rater, []).append(one)
    return found


def score(
    answers: Sequence[Said],
    golds: Mapping[int, Gold],
    scale: QuestionScale,
    *,
    question_id: int,
    bar: float,
    since: datetime.datetime | None = None,
) -> GoldScore:
    """One rater's answers (at least one), in the order in which they were given, as a row. The
    evidence is of those after ``since``."""
    right = [one.code in golds[one.item].right for one in answers]
    table = np.zeros((scale.k, scale.k), np.int64)
    for one in answers:
        known = golds[one.item].single
        if known is not None:
            table[one.code, known] += 1
    values = scale.values if scale.type.numeric else None
    found = formulas.score(table, None, values)
    n, n_right = len(answers), sum(right)
    low, high = wilson(n_right, n)
    begin = 0 if since is None else sum(one.at <= since for one in answers)
    course = np.ones(n)  # the evidence of no answers
    course[begin:] = np.minimum(formulas.evidence(right[begin:], bar), HIGHEST)
    reached = formulas.paused_at(course)
    return GoldScore(
        question_id=question_id,
        rater_id=answers[0].rater,
        n=n,
        right=n_right,
        accuracy=n_right / n,
        low=low,
        high=high,
        table=table.tolist(),
        chance=found.chance,
        kappa=found.kappa,
        bias=found.bias if scale.type.ordered else None,
        classes=_classes(table, scale),
        weeks=_weeks(answers, np.array(right), course),
        evidence=float(course[-1]),
        highest=float(course.max()),
        reached=reached,
        reached_at=None if reached is None else answers[reached - 1].at,
    )


def _classes(table: np.ndarray, scale: QuestionScale) -> list[dict[str, Any]]:
    """How often the rater is right where the gold says each category."""
    found = []
    for place, code in enumerate(scale.codes.tolist()):
        n, right = int(table[:, place].sum()), int(table[place, place])
        if n:
            low, high = wilson(right, n)
            found.append({"code": code, "n": n, "right": right, "low": low, "high": high})
    return found


def _weeks(answers: Sequence[Said], right: np.ndarray, course: np.ndarray) -> list[dict[str, Any]]:
    """How often the rater was right week by week, and the evidence at the end of each."""
    weeks = starts(np.array([one.day for one in answers]), "week")
    found = []
    for start in np.unique(weeks).tolist():
        of_week = np.flatnonzero(weeks == start)
        n, n_right = int(of_week.size), int(right[of_week].sum())
        low, high = wilson(n_right, n)
        found.append(
            {
                "start": start,
                "n": n,
                "right": n_right,
                "low": low,
                "high": high,
                "evidence": float(course[of_week[-1]]),
            }
        )
    return found
