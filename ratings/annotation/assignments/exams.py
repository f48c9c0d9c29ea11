"""Exams at the desk, openly: items with a gold answer, in an order that is drawn when the exam
begins, until the answers tell enough.

What is answered stands apart, as hidden gold does, and stays: it is not corrected, and nothing is
skipped. Each gold item comes once a rater at most, in an exam or hidden. A gold answer that is
retired while the exam lasts counts for nothing.

When there is enough to tell, whoever registered here says (``HOLDER``; quality.exams): this room
knows no statistics.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from core.db import bulk
from events.services import record
from projects.models import GoldAnswer, Item, Question, Rater
from ratings.annotation import rater_work
from ratings.models import Assignment, Exam, ExamRules
from ratings.services import exam_gate

from . import hidden_checks

State = Exam.State
Why = Assignment.Why


@dataclass(frozen=True)
class Verdict:
    """``outcome``: passed or failed. ``chance``: that somebody who is only right p_fail of the time
    passes so, or that somebody who is right p_pass of it fails so."""

    outcome: str
    chance: float


@dataclass(frozen=True)
class Holder:
    """``judge``: right and wrong answers, and the test's numbers -> a verdict, None while they tell
    too little. ``doubted``: a question -> items whose gold answer is suspected, which are in no
    exam."""

    judge: Callable[[Sequence[bool], Mapping[str, Any]], Verdict | None]
    doubted: Callable[[int], set[int]]


HOLDER: list[Holder] = []


class NoExam(Exception):
    """No exam can begin, and why: ``reason`` is too_few or no_try_left."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Standing:
    """How a rater stands with the exam that is due: ``exam`` is the latest try, None before the
    first; ``tries_left`` may be begun, ``sure`` of them however many items each takes; the next one
    asks ``most`` items at most, 0 where there are too few; ``least`` right answers from its start
    pass."""

    question: Question
    rules: ExamRules
    exam: Exam | None
    tries_left: int
    most: int = 0
    least: int = 0
    sure: int = 0

    @property
    def right_enough(self) -> float:
        """Who is right so many times in 10 is to pass."""
        return 10 * self.rules.p_pass

    @property
    def too_low(self) -> float:
        """Who is right so many times in 10 is not."""
        return 10 * self.rules.p_fail

    @property
    def state(self) -> str:
        """open, to_begin, too_few (gold items), or over (no try left: the lead knows)."""
        if self.exam is not None and self.exam.state == State.OPEN:
            return "open"
        if not self.tries_left:
            return "over"
        return "to_begin" if self.most else "too_few"


# --- what is due


def standing(rater: Rater) -> Standing | None:
    """None where the rater has no exam to pass."""
    question_id = exam_gate.due(rater.pk)
    if question_id is None:
        return None
    question = Question.objects.select_related("exam_rules").get(pk=question_id)
    tries = list(Exam.objects.filter(question=question, rater=rater))
    latest = tries[-1] if tries else None
    left = max(question.exam_rules.tries - len(tries), 0)
    going = latest is not None and latest.state == State.OPEN
    found = Standing(question, question.exam_rules, latest, left)
    if going or not left:
        return found
    enough, number = least(question), len(drawable_by_rater(question, [rater])[rater.pk])
    if number < enough:
        return replace(found, least=enough)
    # Each try has other items, and takes no more than it must.
    sure = min(left, 1 + (number - enough) // question.exam_rules.most)
    most = min(question.exam_rules.most, number)
    return replace(found, most=most, least=enough, sure=sure)


def least(question: Question) -> int:
    """The smallest number of items by which anybody can pass: with fewer there is no exam."""
    rules = question.exam_rules.test()
    for number in range(1, rules["most"]):
        verdict = HOLDER[0].judge([True] * number, rules)
        if verdict is not None and verdict.outcome == State.PASSED:
            return number
    return int(rules["most"])


def fit(question: Question) -> set[int]:
    """The items that an exam of the question may ask: with a gold answer of categories in use that
    nobody doubts."""
    codes = set(question.categories.filter(retired=False).values_list("code", flat=True))
    rows = GoldAnswer.objects.in_force().filter(
        question=question, item__has_content=True, item__withdrawn_at=None
    )
    items = {
        item
        for item, answer in rows.values_list("item_id", "answer")
        if isinstance(answer, list) and codes.issuperset(answer)
    }
    return items - HOLDER[0].doubted(question.pk)


def drawable_by_rater(question: Question, raters: Sequence[Rater]) -> dict[int, set[int]]:
    """Rater -> those of them that are new to them."""
    fitting = fit(question)
    return {
        rater_id: fitting - items for rater_id, items in rater_work.met(raters, fitting).items()
    }


# --- the course of an exam


@transaction.atomic
def begin(*, question: Question, rater: Rater, by: Any = None, reason: str = "") -> Exam:
    """Draw the rater's next exam; the one under way, where there is any. ``by``: the lead who
    grants a try beyond those of the rules, with a reason. Raises NoExam."""
    _lock(rater)
    tries = list(Exam.objects.filter(question=question, rater=rater))
    if tries and tries[-1].state == State.OPEN:
        return tries[-1]
    if by is None and len(tries) >= question.exam_rules.tries:
        raise NoExam("no_try_left")
    items = sorted(drawable_by_rater(question, [rater])[rater.pk])
    if len(items) < least(question):
        raise NoExam("too_few")
    secrets.SystemRandom().shuffle(items)
    rules = question.exam_rules.test()
    exam = Exam.objects.create(
        question=question,
        rater=rater,
        number=len(tries) + 1,
        rules=rules,
        items=items[: rules["most"]],
        began_at=timezone.now(),
        by=by,
        reason=reason,
    )
    _tell(exam, "exam_granted" if by else "exam_began", by=by)
    return exam


@transaction.atomic
def next_item(rater: Rater, question_id: int, *, besides: int | None = None) -> Item | None:
    """The item of the exam under way, put before the rater; None where none is under way, and
    ``besides`` another one: whether there is a next one hangs on the answer."""
    if besides is not None:
        return None
    _lock(rater)
    exam = Exam.objects.filter(question=question_id, rater=rater, state=State.OPEN).first()
    while exam is not None:
        done = {item for item, *_rest in exam.course}
        in_force = GoldAnswer.objects.in_force().filter(question=question_id, item=OuterRef("pk"))
        left = [pk for pk in exam.items if pk not in done]
        asked = Item.objects.filter(pk__in=left, has_content=True, withdrawn_at=None)
        found = {item.pk: item for item in asked.filter(Exists(in_force))}
        item = next((found[pk] for pk in left if pk in found), None)
        if item is not None:
            hidden_checks.put_before(rater, item.pk, Why.EXAM)
            return item
        exam = _exhausted(exam)
    return None


def answered(rater: Rater, item: Item, codes: Mapping[Question, int]) -> Exam | None:
    """Take an answer into account that was just recorded; the exam, where it ended by that. Inside
    the transaction that holds the rater's desk."""
    exam = under_way(rater, item)
    if exam is None:
        return None
    code = next(code for question, code in codes.items() if question.pk == exam.question_id)
    key = GoldAnswer.objects.in_force().filter(question=exam.question_id, item=item).first()
    right = None if key is None else code in key.answer
    exam.course = [*exam.course, [item.pk, code, right, key and key.pk]]
    exam.save(update_fields=["course"])
    verdict = HOLDER[0].judge(exam.answered, {**exam.rules, "most": exam.most})
    return None if verdict is None else _end(exam, verdict.outcome, verdict.chance)


def under_way(rater: Rater, item: Item) -> Exam | None:
    """The exam under way that asks the item and has no answer to it yet."""
    for exam in Exam.objects.filter(rater=rater, state=State.OPEN):
        answered_items = {item_id for item_id, *_rest in exam.course}
        if item.pk in exam.items and item.pk not in answered_items:
            return exam
    return None


@transaction.atomic
def waive(*, question: Question, rater: Rater, by: Any, reason: str) -> Exam:
    """The rater need not pass; a try under way ends by it."""
    _lock(rater)
    number = Exam.objects.filter(question=question, rater=rater).count() + 1
    now = timezone.now()
    running = Exam.objects.filter(question=question, rater=rater, state=State.OPEN).first()
    if running is not None:
        running.by, running.reason = by, reason
        return _end(running, State.WAIVED)
    exam = Exam.objects.create(
        question=question,
        rater=rater,
        number=number,
        state=State.WAIVED,
        began_at=now,
        ended_at=now,
        by=by,
        reason=reason,
    )
    _tell(exam, "exam_waived", by=by)
    return exam


def _exhausted(exam: Exam) -> Exam | None:
    """No item is left, for gold was retired meanwhile: what was answered decides. Where that is
    nothing, there was no exam."""
    if not exam.answered:
        exam.delete()
        return None
    verdict = HOLDER[0].judge(exam.answered, {**exam.rules, "most": len(exam.answered)})
    if verdict is not None:
        _end(exam, verdict.outcome, verdict.chance)
    return None


def _end(exam: Exam, state: str, chance: float | None = None) -> Exam:
    exam.state, exam.chance, exam.ended_at = state, chance, timezone.now()
    exam.save(update_fields=["state", "chance", "ended_at", "by", "reason"])
    # What lies open of it was not looked at, as far as anybody knows.
    mine = Assignment.objects.filter(rater=exam.rater_id, why=Why.EXAM)
    mine.filter(state=Assignment.State.OPEN).exclude(
        item__in=[item for item, *_rest in exam.course]
    ).update(state=Assignment.State.EXPIRED, closed_at=exam.ended_at)
    _tell(exam, f"exam_{state}", by=exam.by if state == State.WAIVED else None)
    return exam


def _lock(rater: Rater) -> None:
    """The desk of the rater, so that their windows and the lead take turns."""
    bulk.several(hidden_checks.locking_desk(rater))


def _tell(exam: Exam, kind: str, *, by: Any) -> None:
    record(
        project_id=exam.question.project_id,
        kind=kind,
        subject=f"rater/{exam.rater_id}",
        data={
            "question": exam.question.key,
            "try": exam.number,
            "answers": len(exam.answered),
            "right": exam.right,
        },
        by=by,
    )
