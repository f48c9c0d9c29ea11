"""Outcome of an exam by Wald's sequential test.

Registered with ratings.annotation.assignments.exams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metrics.agreement.rater_quality import gold
from quality.models import GoldItem
from ratings.annotation.assignments.exams import ExamPolicy, ExamResult


def evaluate_exam_answers(answers: Sequence[bool], test: Mapping[str, Any]) -> ExamResult | None:
    """Return the result, or None while the answers do not decide the test.

    ``error_probability`` of the result is the error probability of its outcome: the promised one
    where the test reached a limit, the exact one of the whole exam where it ended undecided.
    """
    result = gold.evaluate_exam(answers, **test)
    if result.outcome == "undecided":
        return None
    by_limit = (
        gold.evaluate_exam(answers, **{**test, "max_answers": len(answers) + 1}).outcome
        != "undecided"
    )
    if result.outcome == "passed":
        exact = gold.exam_pass_probability(test["p_fail"], **test)
        return ExamResult("passed", test["alpha"] if by_limit else exact)
    exact = 1 - gold.exam_pass_probability(test["p_pass"], **test)
    return ExamResult("failed", test["beta"] if by_limit else exact)


def get_suspected_items(question_id: int) -> set[int]:
    """Return ids of items whose gold answer may be wrong, which exams leave out."""
    rows = GoldItem.objects.filter(question=question_id, suspected=True)
    return set(rows.values_list("item_id", flat=True))


SEQUENTIAL_TEST_POLICY = ExamPolicy(evaluate_exam_answers, get_suspected_items)
