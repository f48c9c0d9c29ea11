"""Exams of raters: gold items in random order, until the answers are conclusive.

The answers are check answers, as for hidden gold, and final: they are not corrected, and no item is
skipped. A rater gets each gold item at most once, in an exam or hidden. A gold answer that is
retired during the exam is not scored.

The decision is made by the policy that is registered in ``EXAM_POLICY`` (quality.exams), because
this package knows no statistics.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from core.hooks import Hook
from events.services import record_event
from projects.models import GoldAnswer, Item, Question, Rater
from projects.services.gold import get_positions, get_right_codes
from ratings.models import Assignment, CheckAnswer, Exam, ExamRules, Rating
from ratings.services import permissions, slots

from . import hidden_checks

State = Exam.State
Kind = Assignment.Kind


@dataclass(frozen=True)
class ExamResult:
    """Outcome of an exam.

    ``outcome``: passed or failed. ``error_probability``: for passed, the probability of this result
    for a rater whose answers are correct with probability p_fail; for failed, with probability
    p_pass.
    """

    outcome: str
    error_probability: float


@dataclass(frozen=True)
class ExamPolicy:
    """Registered functions that decide exams and list suspected gold answers.

    ``evaluate`` maps the correctness of the answers and the test parameters to a result, or to None
    while the answers are inconclusive. ``get_suspected_items`` maps a question id to the ids of
    items whose gold answer is suspected to be wrong; exams do not use these items.
    """

    evaluate: Callable[[Sequence[bool], Mapping[str, Any]], ExamResult | None]
    get_suspected_items: Callable[[int], set[int]]


EXAM_POLICY: Hook[ExamPolicy] = Hook("exam_policy")


class ExamNotAvailable(Exception):
    """No exam can start: ``reason`` is too_few_gold_items or no_attempt_left."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class ExamStatus:
    """A rater's status in the exam that is due.

    ``exam`` is the latest attempt, None before the first. ``attempts_left``: number of attempts
    that the rules still allow. The unused gold items suffice for at most ``possible_attempts`` of
    these, and in any case for ``guaranteed_attempts``. The next attempt has at most ``max_items``
    items, 0 if there are too few; the rater passes if the first ``min_correct`` answers are
    correct.
    """

    question: Question
    rules: ExamRules
    exam: Exam | None
    attempts_left: int
    max_items: int = 0
    min_correct: int = 0
    guaranteed_attempts: int = 0
    possible_attempts: int = 0

    @property
    def pass_rate_per_ten(self) -> float:
        """Return p_pass times 10: correct answers in 10 of a rater who should pass."""
        return 10 * self.rules.p_pass

    @property
    def fail_rate_per_ten(self) -> float:
        """Return p_fail times 10: correct answers in 10 of a rater who should fail."""
        return 10 * self.rules.p_fail

    @property
    def availability(self) -> str:
        """Return open, not_started, too_few_gold_items or no_attempt_left."""
        if self.exam is not None and self.exam.state == State.OPEN:
            return "open"
        if not self.attempts_left:
            return "no_attempt_left"
        return "not_started" if self.max_items else "too_few_gold_items"


# --- the exam that is due


def get_exam_status(rater: Rater) -> ExamStatus | None:
    """Return the rater's exam status, or None if no exam is due."""
    question_id = permissions.get_due_question_ids_by_rater([rater.pk]).get(rater.pk)
    if question_id is None:
        return None
    question = Question.objects.select_related("exam_rules").get(pk=question_id)
    attempts = list(Exam.objects.filter(question=question, rater=rater))
    latest = attempts[-1] if attempts else None
    attempts_left = max(question.exam_rules.max_attempts - len(attempts), 0)
    is_open = latest is not None and latest.state == State.OPEN
    status = ExamStatus(question, question.exam_rules, latest, attempts_left)
    if is_open or not attempts_left:
        return status
    min_correct = compute_min_correct_answers(question)
    n_available = len(get_new_items_by_rater(question, [rater])[rater.pk])
    if n_available < min_correct:
        return replace(status, min_correct=min_correct)
    # Each attempt has other items. A failed one uses at most ``rules.max_answers`` of them, and as
    # few as fail it if all answers are wrong.
    guaranteed_attempts, possible_attempts = (
        min(attempts_left, 1 + (n_available - min_correct) // n_used)
        for n_used in (
            question.exam_rules.max_answers,
            _compute_min_answers(question, is_right=False),
        )
    )
    max_items = min(question.exam_rules.max_answers, n_available)
    return replace(
        status,
        max_items=max_items,
        min_correct=min_correct,
        guaranteed_attempts=guaranteed_attempts,
        possible_attempts=possible_attempts,
    )


def _get_exam_policy() -> ExamPolicy:
    (policy,) = EXAM_POLICY
    return policy


def compute_min_correct_answers(question: Question) -> int:
    """Return the smallest number of answers with which the exam is passed if all are correct."""
    return _compute_min_answers(question, is_right=True)


def _compute_min_answers(question: Question, *, is_right: bool) -> int:
    """Return the smallest number of answers that ends the exam if all are correct or all wrong.

    ``is_right``: all are correct. At most the rules' ``max_answers``.
    """
    rules = question.exam_rules.get_test_parameters()
    for number in range(1, rules["max_answers"]):
        if _get_exam_policy().evaluate([is_right] * number, rules) is not None:
            return number
    return rules["max_answers"]


def get_eligible_answers(question: Question) -> dict[int, frozenset[int]]:
    """Return item id -> codes that count as correct, for the items that an exam may use.

    These items have a gold answer in force whose categories are all active, and which is not
    suspected to be wrong. Left out are withdrawn items, items without content, and gold answers
    that are shares instead of categories.
    """
    positions, tolerance = get_positions(question), question.effective_gold_tolerance
    rows = GoldAnswer.objects.in_force().filter(
        question=question, item__has_content=True, item__withdrawn_at=None
    )
    doubted = _get_exam_policy().get_suspected_items(question.pk)
    return {
        item: get_right_codes(answer, positions, tolerance)
        for item, answer in rows.values_list("item_id", "answer")
        if isinstance(answer, list) and positions.keys() >= set(answer) and item not in doubted
    }


def get_encountered_items(raters: Sequence[Rater], items: Collection[int]) -> dict[int, set[int]]:
    """Return {rater id: ids of the given items that the rater already encountered}.

    The rater was assigned such an item (and the assignment has not expired), rated it, or has a
    check answer to it.
    """
    item_ids_by_rater: dict[int, set[int]] = {rater.pk: set() for rater in raters}
    assignments = Assignment.objects.exclude(state=Assignment.State.EXPIRED)
    for rows in (assignments, Rating.objects.all(), CheckAnswer.objects.all()):
        own_rows = rows.filter(rater__in=raters, item__in=items)
        for rater_id, item_id in own_rows.values_list("rater_id", "item_id"):
            item_ids_by_rater[rater_id].add(item_id)
    return item_ids_by_rater


def get_new_items_by_rater(question: Question, raters: Sequence[Rater]) -> dict[int, set[int]]:
    """Return rater id -> ids of the items that an exam may use and that are new to the rater."""
    eligible = set(get_eligible_answers(question))
    return {
        rater_id: eligible - items
        for rater_id, items in get_encountered_items(raters, eligible).items()
    }


# --- running an exam


@transaction.atomic
def get_or_start_exam(
    *, question: Question, rater: Rater, by: Any = None, reason: str = ""
) -> Exam:
    """Return the rater's open exam, or start the next attempt.

    ``by`` is the lead who grants an attempt beyond the rules for a ``reason``, None for an attempt
    that the rules allow. Raises ExamNotAvailable if no attempt or too few new gold items are left.
    """
    hidden_checks.lock_queue(rater)
    attempts = list(Exam.objects.filter(question=question, rater=rater))
    if attempts and attempts[-1].state == State.OPEN:
        return attempts[-1]
    if by is None and len(attempts) >= question.exam_rules.max_attempts:
        raise ExamNotAvailable("no_attempt_left")
    items = sorted(get_new_items_by_rater(question, [rater])[rater.pk])
    if len(items) < compute_min_correct_answers(question):
        raise ExamNotAvailable("too_few_gold_items")
    secrets.SystemRandom().shuffle(items)
    rules = question.exam_rules.get_test_parameters()
    exam = Exam.objects.create(
        question=question,
        rater=rater,
        number=len(attempts) + 1,
        rules=rules,
        items=items[: rules["max_answers"]],
        started_at=timezone.now(),
        by=by,
        reason=reason,
    )
    _record_event(exam, "exam.retry_granted" if by else "exam.started", by=by)
    return exam


@transaction.atomic
def get_next_exam_item(
    rater: Rater, question_id: int, *, exclude_item_ids: Collection[int] = ()
) -> Item | None:
    """Assign and return the next item of the open exam; None without an open exam.

    Also None if the gold answers of all remaining items were retired, which ends the exam, or if
    ``exclude_item_ids`` is not empty: the rater already sees an item then, and whether another one
    follows depends on the answer.
    """
    if exclude_item_ids:
        return None
    hidden_checks.lock_queue(rater)
    exam = Exam.objects.filter(question=question_id, rater=rater, state=State.OPEN).first()
    if exam is None:
        return None
    answered_ids = {item for item, *_rest in exam.answers}
    in_force = GoldAnswer.objects.in_force().filter(question=question_id, item=OuterRef("pk"))
    remaining_ids = [pk for pk in exam.items if pk not in answered_ids]
    items = Item.objects.filter(pk__in=remaining_ids, has_content=True, withdrawn_at=None)
    items_by_id = {item.pk: item for item in items.filter(Exists(in_force))}
    item = next((items_by_id[pk] for pk in remaining_ids if pk in items_by_id), None)
    if item is None:
        _end_exhausted_exam(exam)
    else:
        hidden_checks.open_check_assignment(rater, item.pk, Kind.EXAM)
    return item


def record_exam_answer(rater: Rater, item: Item, codes: Mapping[Question, int]) -> Exam | None:
    """Store the answer to an exam item; return the exam if this answer ended it, else None.

    ``codes`` maps questions to the codes of the answer; only that of the exam's question counts.
    Must run in the transaction that holds the rater's queue row.
    """
    exam = get_open_exam(rater, item)
    if exam is None:
        return None
    question = next(question for question in codes if question.pk == exam.question_id)
    code = codes[question]
    gold = GoldAnswer.objects.in_force().filter(question=exam.question_id, item=item).first()
    right = None if gold is None else _is_right(code, gold, question)
    exam.answers = [*exam.answers, [item.pk, code, right, gold and gold.pk]]
    exam.save(update_fields=["answers"])
    result = _get_exam_policy().evaluate(
        exam.scored_answers, {**exam.rules, "max_answers": exam.max_answers}
    )
    return None if result is None else _end_exam(exam, result.outcome, result.error_probability)


def _is_right(code: int, gold: GoldAnswer, question: Question) -> bool:
    tolerance = question.effective_gold_tolerance
    return code in get_right_codes(gold.answer, get_positions(question), tolerance)


def get_open_exam(rater: Rater, item: Item) -> Exam | None:
    """Return the rater's open exam in which the item is still to be answered, or None."""
    for exam in Exam.objects.filter(rater=rater, state=State.OPEN):
        answered_items = {item_id for item_id, *_rest in exam.answers}
        if item.pk in exam.items and item.pk not in answered_items:
            return exam
    return None


@transaction.atomic
def waive_exam(*, question: Question, rater: Rater, by: Any, reason: str) -> Exam:
    """Waive the exam for the rater, ending an open attempt; return the exam that records it."""
    hidden_checks.lock_queue(rater)
    number = Exam.objects.filter(question=question, rater=rater).count() + 1
    now = timezone.now()
    open_exam = Exam.objects.filter(question=question, rater=rater, state=State.OPEN).first()
    if open_exam is not None:
        open_exam.by, open_exam.reason = by, reason
        return _end_exam(open_exam, State.WAIVED)
    exam = Exam.objects.create(
        question=question,
        rater=rater,
        number=number,
        state=State.WAIVED,
        started_at=now,
        ended_at=now,
        by=by,
        reason=reason,
    )
    _record_event(exam, "exam.waived", by=by)
    return exam


def _end_exhausted_exam(exam: Exam) -> None:
    """End an exam whose remaining items were retired; the answers given so far decide.

    An exam without any scored answer is deleted.
    """
    if not exam.scored_answers:
        exam.delete()
        return
    result = _get_exam_policy().evaluate(
        exam.scored_answers, {**exam.rules, "max_answers": exam.n_scored}
    )
    if result is not None:
        _end_exam(exam, result.outcome, result.error_probability)


def _end_exam(exam: Exam, state: str, error_probability: float | None = None) -> Exam:
    exam.state, exam.error_probability, exam.ended_at = state, error_probability, timezone.now()
    exam.save(update_fields=["state", "error_probability", "ended_at", "by", "reason"])
    # Open assignments of the exam count as not seen.
    assignments = Assignment.objects.filter(rater=exam.rater_id, kind=Kind.EXAM)
    assignments.filter(state=Assignment.State.OPEN).exclude(
        item__in=[item for item, *_rest in exam.answers]
    ).update(state=Assignment.State.EXPIRED, closed_at=exam.ended_at)
    if state == State.FAILED:
        _release_open_items(exam.rater, exam.ended_at)
    _record_event(exam, f"exam.{state}", by=exam.by if state == State.WAIVED else None)
    return exam


def _release_open_items(rater: Rater, now: datetime.datetime) -> None:
    """Expire the rater's open assignments outside exams and free their slots for others."""
    is_open = Assignment.objects.filter(rater=rater, state=Assignment.State.OPEN)
    open_items = list(is_open.exclude(kind=Kind.EXAM).values_list("item_id", flat=True))
    is_open.exclude(kind=Kind.EXAM).update(state=Assignment.State.EXPIRED, closed_at=now)
    slots.recount_slots(open_items)


def _record_event(exam: Exam, kind: str, *, by: Any) -> None:
    record_event(
        project_id=exam.question.project_id,
        kind=kind,
        subject=f"rater/{exam.rater_id}",
        data={
            "question": exam.question.key,
            "rater": exam.rater.key,
            "attempt": exam.number,
            "answers": exam.n_scored,
            "right": exam.n_right,
        },
        by=by,
    )
