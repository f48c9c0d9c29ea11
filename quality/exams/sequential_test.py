"""Wald's sequential test of an exam: its outcome, and its error rates for a question.

The outcome is registered with ratings.annotation.assignments.exams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metrics.agreement.rater_quality import gold
from projects.models import Question
from quality.models import GoldItem
from ratings.annotation.assignments import exams
from ratings.annotation.assignments.exams import ExamPolicy, ExamResult
from ratings.models import ExamRules
from ratings.models.exam import ExamTest

from . import exam_rules

MAX_LOOPHOLE = 0.1  # probability


def evaluate_exam_answers(answers: Sequence[bool], test: Mapping[str, Any]) -> ExamResult | None:
    """Return the result, or None while the answers do not decide the test.

    ``error_probability`` of the result is the exact probability that a whole exam with this many
    answers at most has this outcome wrongly.
    """
    result = gold.evaluate_exam(answers, **test)
    if result.outcome == "undecided":
        return None
    if result.outcome == "passed":
        return ExamResult("passed", gold.exam_pass_probability(test["p_fail"], **test))
    return ExamResult("failed", 1 - gold.exam_pass_probability(test["p_pass"], **test))


def get_suspected_items(question_id: int) -> set[int]:
    """Return ids of items whose gold answer may be wrong, which exams leave out."""
    rows = GoldItem.objects.filter(question=question_id, suspected=True)
    return set(rows.values_list("item_id", flat=True))


SEQUENTIAL_TEST_POLICY = ExamPolicy(evaluate_exam_answers, get_suspected_items)


@dataclass(frozen=True)
class ExamLoophole:
    """An answer that passes the exam more often than ``MAX_LOOPHOLE`` if it is always given."""

    label: str
    share: float  # of the gold answers
    pass_probability: float


@dataclass(frozen=True)
class ExamPower:
    """The gold items for an exam, and the error rates of one attempt."""

    n_gold: int
    min_items: int  # that an attempt needs
    items_each: int  # that an attempt uses at most
    passing_low: float  # probability that a rater who should fail passes
    failing_high: float
    loophole: ExamLoophole | None


def compute_power(question: Question, rules: ExamRules) -> ExamPower:
    n_gold = len(exams.get_eligible_answers(question))
    test = rules.get_test_parameters()
    test["max_answers"] = min(rules.max_answers, max(n_gold, 1))
    return ExamPower(
        n_gold=n_gold,
        min_items=exams.compute_min_correct_answers(question),
        items_each=test["max_answers"],
        passing_low=gold.exam_pass_probability(rules.p_fail, **test),
        failing_high=1 - gold.exam_pass_probability(rules.p_pass, **test),
        loophole=_find_loophole(question, test),
    )


def _find_loophole(question: Question, test: ExamTest) -> ExamLoophole | None:
    """Return the most frequent gold answer if a rater who always gives it often passes."""
    answer = exam_rules.get_most_frequent_answer(question)
    if answer is None:
        return None
    label, n, n_items = answer
    probability = gold.constant_answer_pass_probability(n, n_items, **test)
    return ExamLoophole(label, n / n_items, probability) if probability > MAX_LOOPHOLE else None
