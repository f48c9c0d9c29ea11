"""Rules of a question's exam, its sequential test, further attempts and waivers.

The outcome of Wald's sequential test is registered with ratings.annotation.assignments.exams.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from core.text import describe_range, describe_whole_range
from metrics.agreement.rater_quality import gold
from projects.models import Question, Rater
from quality.models import GoldItem
from quality.settings_changes import (
    InvalidSettings,
    find_required_reason_error,
    record_rules_change,
)
from ratings.annotation.assignments import exams
from ratings.annotation.assignments.exams import ExamPolicy, ExamResult
from ratings.models import Exam, ExamRules, Rating
from ratings.models.exam import ExamTest

RULES = ("required", "p_fail", "p_pass", "alpha", "beta", "max_answers", "max_attempts")
# Preset -> its numbers; the number of attempts and of items is the same for all.
PRESETS = {
    "easy": {"p_fail": 0.5, "p_pass": 0.7, "alpha": 0.1, "beta": 0.05},
    "standard": {"p_fail": 0.6, "p_pass": 0.8, "alpha": 0.05, "beta": 0.05},
    "strict": {"p_fail": 0.75, "p_pass": 0.9, "alpha": 0.05, "beta": 0.05},
}
CUSTOM = "custom"
MAX_ITEMS = 500
MAX_ATTEMPTS = 20
# Stored as the reason of a waiver; pages show it translated.
RATED_BEFORE = "rated before the exam was asked for"
BATCH_SIZE = 500
MAX_REASON_LENGTH = 2_000  # characters; of an attempt or a waiver


def get_preset_name(rules: ExamRules) -> str:
    """Return the preset that has the numbers of these rules, or CUSTOM."""
    for preset, numbers in PRESETS.items():
        if all(getattr(rules, name) == number for name, number in numbers.items()):
            return preset
    return CUSTOM


def get_exam_rules(question: Question) -> ExamRules:
    """Return the stored rules of a question, or the defaults (not stored)."""
    return ExamRules.objects.filter(question=question).first() or ExamRules(question=question)


@transaction.atomic
def set_exam_rules(
    *, question: Question, by: Any, everybody: bool = False, **values: Any
) -> ExamRules:
    """Set some of RULES for a question, record the change, and return the stored rules.

    When an exam becomes required, raters who have rated already get a waiver, unless
    ``everybody`` must take it. Running exams continue unchanged. Raises InvalidSettings,
    without changes.
    """
    ExamRules.objects.get_or_create(question=question)
    row = ExamRules.objects.select_for_update().get(question=question)
    before = {name: getattr(row, name) for name in RULES}
    new = before | {name: values[name] for name in values if name in before}
    errors = _find_rule_errors(new)
    if new["required"] and (problem := _find_constant_answer_problem(question)):
        errors["required"] = problem
    if errors:
        raise InvalidSettings(errors)
    if before == new:
        return row
    for name, value in new.items():
        setattr(row, name, value)
    row.save()
    n_waived = 0
    if new["required"] and not before["required"] and not everybody:
        n_waived = _waive_experienced_raters(question, by)
    record_rules_change("exam_rules.changed", question, before, new, by=by, waived=n_waived)
    return row


def _find_constant_answer_problem(question: Question) -> str | None:
    """Return the error message if one answer is right on all exam items, else None."""
    answer = get_most_frequent_answer(question)
    if answer is None or answer[1] < answer[2]:
        return None
    label, n, _n_items = answer
    return _("Always answering “%(label)s” passes. Add other gold answers first.") % {
        "n": n,
        "label": label,
    }


def get_most_frequent_answer(question: Question) -> tuple[str, int, int] | None:
    """Return (label, n, n_items): the label is right on n of the exam's items, more than any other.

    None without exam items.
    """
    answers = exams.get_eligible_answers(question)
    counts = Counter(code for codes in answers.values() for code in codes)
    if not counts:
        return None
    code, n = counts.most_common(1)[0]
    return question.categories.get(code=code).label, n, len(answers)


def _waive_experienced_raters(question: Question, by: Any) -> int:
    """Create a waiver for each person who has rated but attempted no exam; return how many."""
    ratings = Rating.objects.current().filter(question=question)
    attempts = Exam.objects.filter(question=question)
    people = Rater.objects.filter(
        project=question.project_id, kind=Rater.Kind.HUMAN, pk__in=ratings.values("rater")
    ).exclude(pk__in=attempts.values("rater"))
    now = timezone.now()
    rows = [
        Exam(
            question=question,
            rater=rater,
            number=1,
            state=Exam.State.WAIVED,
            started_at=now,
            ended_at=now,
            by=by,
            reason=RATED_BEFORE,
        )
        for rater in people
    ]
    Exam.objects.bulk_create(rows, batch_size=BATCH_SIZE)
    return len(rows)


def _find_rule_errors(values: Mapping[str, float]) -> dict[str, str]:
    """Return {name of the rule: error message} of invalid values; empty if all are valid."""
    errors = {}
    low, high = values["p_fail"], values["p_pass"]
    if not _is_finite(low) or not 0.05 <= low <= 0.95:
        errors["p_fail"] = describe_range(0.05, 0.95)
    if not _is_finite(high) or not 0.1 <= high <= 0.99:
        errors["p_pass"] = describe_range(0.1, 0.99)
    elif "p_fail" not in errors and high - low < 0.05:
        errors["p_pass"] = _("Must be at least 0.05 above the other share.")
    for name in ("alpha", "beta"):
        if not _is_finite(values[name]) or not 0.001 <= values[name] <= 0.3:
            errors[name] = describe_range(0.001, 0.3)
    for name, maximum in (("max_answers", MAX_ITEMS), ("max_attempts", MAX_ATTEMPTS)):
        if not 1 <= values[name] <= maximum:
            errors[name] = describe_whole_range(1, maximum)
    return errors


def _is_finite(value: float) -> bool:
    return math.isfinite(value)


MAX_LOOPHOLE = 0.1  # probability


def evaluate_exam_answers(answers: Sequence[bool], test: Mapping[str, Any]) -> ExamResult | None:
    """Return the result of the answers (True: right), or None while the test is undecided.

    ``test``: arguments of gold.evaluate_exam. ``error_probability`` of the result is the exact
    probability that a whole exam has this outcome wrongly: that a rater who should fail
    (``p_fail``) passes, or one who should pass (``p_pass``) fails.
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
    """An answer that passes too often (MAX_LOOPHOLE) when a rater gives it to every item.

    ``share``: the share of the exam's items on which it is right.
    """

    label: str
    share: float  # of the gold answers
    pass_probability: float


@dataclass(frozen=True)
class ExamPower:
    """The gold items that an exam can use and needs, and the error probabilities of one attempt.

    ``items_each``: the most items that an attempt can have; ``passing_low``: the probability that a
    rater whose accuracy is too low passes; ``failing_high``: that a good enough one fails.
    """

    n_gold: int
    min_items: int  # that an attempt needs
    items_each: int  # that an attempt uses at most
    passing_low: float  # probability that a rater who should fail passes
    failing_high: float
    loophole: ExamLoophole | None


def compute_exam_power(question: Question, rules: ExamRules) -> ExamPower:
    """Return the numbers of gold items and the error probabilities of an exam with these rules."""
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
    """Return the most frequent gold answer if always giving it passes too often, else None."""
    answer = get_most_frequent_answer(question)
    if answer is None:
        return None
    label, n, n_items = answer
    probability = gold.constant_answer_pass_probability(n, n_items, **test)
    return ExamLoophole(label, n / n_items, probability) if probability > MAX_LOOPHOLE else None


class InvalidExamAction(ValueError):
    """The attempt or waiver is not possible; the message says why."""


@transaction.atomic
def grant_attempt(*, question: Question, rater: Rater, by: Any, reason: str) -> Exam:
    """Create one more attempt at the exam for the rater, and return it.

    Raises InvalidExamAction while an attempt is open, without enough new gold items, for an
    invalid reason, and for a rater who has passed or has a waiver.
    """
    reason = _validate_action(question, rater, reason)
    if Exam.objects.filter(question=question, rater=rater, state=Exam.State.OPEN).exists():
        raise InvalidExamAction(_("An attempt is in progress."))
    try:
        exam = exams.get_or_start_exam(question=question, rater=rater, by=by, reason=reason)
    except exams.ExamNotAvailable:
        message = _("An exam needs %(n)s gold items new to this rater.")
        raise InvalidExamAction(
            message % {"n": exams.compute_min_correct_answers(question)}
        ) from None
    _record_security_event("exam_retry_granted", exam, by)
    return exam


@transaction.atomic
def waive_exam(*, question: Question, rater: Rater, by: Any, reason: str) -> Exam:
    """Create a waiver, with which the rater may rate without having passed, and return it.

    Raises InvalidExamAction for an invalid reason, and for a rater who has passed or has a
    waiver.
    """
    exam = exams.waive_exam(
        question=question, rater=rater, by=by, reason=_validate_action(question, rater, reason)
    )
    _record_security_event("exam_waived", exam, by)
    return exam


def _validate_action(question: Question, rater: Rater, reason: str) -> str:
    """Return the stripped reason.

    Raises InvalidExamAction for an invalid one, and for a rater who has passed or has a waiver.
    """
    reason = reason.strip()
    if problem := find_required_reason_error(reason, max_length=MAX_REASON_LENGTH):
        raise InvalidExamAction(problem)
    final_states = (Exam.State.PASSED, Exam.State.WAIVED)
    if Exam.objects.filter(question=question, rater=rater, state__in=final_states).exists():
        raise InvalidExamAction(_("This rater no longer needs an exam."))
    return reason


def _record_security_event(event_name: str, exam: Exam, by: Any) -> None:
    security_log.log_event(
        event_name,
        project_id=exam.question.project_id,
        by=by.pk,
        question=exam.question.key,
        rater=exam.rater.key,
        after={"attempt": exam.number, "reason": exam.reason},
    )
