"""Scores of raters on gold answers: how often each rater is right, with the evidence.

A response is a current rating of an item with gold, or an answer to hidden gold. Answers of an
exam do not count: the rater knew of the test, and it ended when they had done well or badly.
Where gold allows several categories, any of them is right; such responses enter the accuracy and
the evidence, but only gold of a single category enters the table and thus kappa, chance, bias and
classes. On ordered scales, the question's tolerance makes categories near the gold answer right as
well; kappa, chance and bias compare with the gold answer itself. Gold given as shares of categories
is not scored.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from metrics.agreement.estimate import wilson_interval
from metrics.agreement.rater_quality import gold as formulas
from metrics.periods import compute_start_days
from metrics.scale import QuestionScale
from quality.models import GoldScore

from .answers import CurrentGold, GoldResponse

# Upper limit of the stored evidence; larger numbers make no difference.
MAX_EVIDENCE = 1e300


def group_scored_responses(
    responses: Sequence[GoldResponse],
    gold_of_item: Mapping[int, CurrentGold],
    *,
    excluded_items: Collection[int] = (),
) -> dict[int, list[GoldResponse]]:
    """Return {rater id: responses that can be right or wrong}, in the order given.

    ``excluded_items``: ids of items whose gold is suspected.
    """
    responses_of_rater: dict[int, list[GoldResponse]] = {}
    for response in responses:
        if (
            not response.is_exam
            and gold_of_item[response.item].right
            and response.item not in excluded_items
        ):
            responses_of_rater.setdefault(response.rater, []).append(response)
    return responses_of_rater


def compute_gold_score(
    responses: Sequence[GoldResponse],
    gold_of_item: Mapping[int, CurrentGold],
    scale: QuestionScale,
    *,
    question_id: int,
    pass_mark: float,
    since: datetime.datetime | None = None,
) -> GoldScore:
    """Return the gold score of one rater from their responses (at least one, by time).

    ``pass_mark``: the pass mark. The evidence counts responses after ``since``.
    """
    right = [response.code in gold_of_item[response.item].right for response in responses]
    table = np.zeros((scale.k, scale.k), np.int64)
    for response in responses:
        category = gold_of_item[response.item].single_category
        if category is not None:
            table[response.code, category] += 1
    values = scale.values if scale.type.numeric else None
    result = formulas.compute_score(table, None, values)
    n, n_right = len(responses), sum(right)
    low, high = wilson_interval(n_right, n)
    start = 0 if since is None else sum(response.at <= since for response in responses)
    evidence_by_answer = np.ones(n)  # evidence before the first answer
    evidence_by_answer[start:] = np.minimum(
        formulas.compute_evidence(right[start:], pass_mark), MAX_EVIDENCE
    )
    reached = formulas.find_pause(evidence_by_answer)
    return GoldScore(
        question_id=question_id,
        rater_id=responses[0].rater,
        n=n,
        right=n_right,
        accuracy=n_right / n,
        low=low,
        high=high,
        table=table.tolist(),
        chance=result.chance,
        kappa=result.kappa,
        bias=result.bias if scale.type.ordered else None,
        classes=_list_class_scores(responses, gold_of_item, scale),
        weeks=_list_week_scores(responses, np.array(right), evidence_by_answer),
        evidence=float(evidence_by_answer[-1]),
        max_evidence=float(evidence_by_answer.max()),
        n_until_pause=reached,
        pause_reached_at=None if reached is None else responses[reached - 1].at,
    )


def _list_class_scores(
    responses: Sequence[GoldResponse],
    gold_of_item: Mapping[int, CurrentGold],
    scale: QuestionScale,
) -> list[dict[str, Any]]:
    """Return the rater's accuracy for each gold category."""
    outcomes: dict[int, list[bool]] = {}
    for response in responses:
        gold = gold_of_item[response.item]
        if gold.single_category is not None:
            outcomes.setdefault(gold.single_category, []).append(response.code in gold.right)
    rows = []
    for category, is_right in sorted(outcomes.items()):
        n, right = len(is_right), sum(is_right)
        low, high = wilson_interval(right, n)
        code = int(scale.codes[category])
        rows.append({"code": code, "n": n, "right": right, "low": low, "high": high})
    return rows


def _list_week_scores(
    responses: Sequence[GoldResponse], right: np.ndarray, evidence_by_answer: np.ndarray
) -> list[dict[str, Any]]:
    """Return the rater's accuracy by week, and the evidence at the end of each week."""
    weeks = compute_start_days(np.array([response.day for response in responses]), "week")
    rows = []
    for start in np.unique(weeks).tolist():
        of_week = np.flatnonzero(weeks == start)
        n, n_right = int(of_week.size), int(right[of_week].sum())
        low, high = wilson_interval(n_right, n)
        rows.append(
            {
                "start": start,
                "n": n,
                "right": n_right,
                "low": low,
                "high": high,
                "evidence": float(evidence_by_answer[of_week[-1]]),
            }
        )
    return rows
