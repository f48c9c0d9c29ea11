"""Error rates of an exam, and answers that pass it without looking at the item."""

from __future__ import annotations

from dataclasses import dataclass

from metrics.agreement.rater_quality.gold import exam_pass_probability
from projects.models import Question
from ratings.annotation.assignments import exams
from ratings.models import ExamRules
from ratings.models.exam import ExamTest

from . import settings

MAX_LOOPHOLE = 0.1  # probability


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
        passing_low=exam_pass_probability(rules.p_fail, **test),
        failing_high=1 - exam_pass_probability(rules.p_pass, **test),
        loophole=_find_loophole(question, test),
    )


def _find_loophole(question: Question, test: ExamTest) -> ExamLoophole | None:
    """Return the most frequent gold answer if a rater who always gives it often passes."""
    answer = settings.get_most_frequent_answer(question)
    if answer is None:
        return None
    label, n, n_items = answer
    probability = exam_pass_probability(n / n_items, **test)
    return ExamLoophole(label, n / n_items, probability) if probability > MAX_LOOPHOLE else None
