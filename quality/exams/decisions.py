"""What a lead does about a rater who does not pass: another try, or none is needed."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from projects.models import Question, Rater
from quality import validation
from ratings.annotation.assignments import exams
from ratings.models import Exam

LONGEST_REASON = 2_000


class Refused(ValueError):
    """It cannot be done; the message says why."""


@transaction.atomic
def grant(*, question: Question, rater: Rater, by: Any, reason: str) -> Exam:
    """One more try, drawn now. Raises Refused."""
    reason = _checked(question, rater, reason)
    if Exam.objects.filter(question=question, rater=rater, state=Exam.State.OPEN).exists():
        raise Refused(_("A try is under way."))
    try:
        exam = exams.begin(question=question, rater=rater, by=by, reason=reason)
    except exams.NoExam:
        said = _("Too few gold items are new to this rater: an exam needs %(n)s at least.")
        raise Refused(said % {"n": exams.least(question)}) from None
    _tell("exam_granted", exam, by)
    return exam


@transaction.atomic
def waive(*, question: Question, rater: Rater, by: Any, reason: str) -> Exam:
    """The rater rates without having passed. Raises Refused."""
    exam = exams.waive(
        question=question, rater=rater, by=by, reason=_checked(question, rater, reason)
    )
    _tell("exam_waived", exam, by)
    return exam


def _checked(question: Question, rater: Rater, reason: str) -> str:
    reason = reason.strip()
    if wrong := validation.trouble_with_needed(reason, longest=LONGEST_REASON):
        raise Refused(wrong)
    done = (Exam.State.PASSED, Exam.State.WAIVED)
    if Exam.objects.filter(question=question, rater=rater, state__in=done).exists():
        raise Refused(_("This rater has no exam to pass any more."))
    return reason


def _tell(what: str, exam: Exam, by: Any) -> None:
    security_log.event(
        what,
        project_id=exam.question.project_id,
        by=by.pk,
        question=exam.question.key,
        rater=exam.rater.key,
        after={"try": exam.number, "reason": exam.reason},
    )
