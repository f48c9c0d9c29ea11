"""Another attempt, or a waiver, that a lead gives a rater who has not passed an exam."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from projects.models import Question, Rater
from quality.settings_changes import find_required_reason_error
from ratings.annotation.assignments import exams
from ratings.models import Exam

MAX_REASON_LENGTH = 2_000


class InvalidExamAction(ValueError):
    """The attempt or waiver is not possible; the message says why."""


@transaction.atomic
def grant_attempt(*, question: Question, rater: Rater, by: Any, reason: str) -> Exam:
    """Create one more attempt for the rater. Raises InvalidExamAction."""
    reason = _validate_action(question, rater, reason)
    if Exam.objects.filter(question=question, rater=rater, state=Exam.State.OPEN).exists():
        raise InvalidExamAction(_("An attempt is in progress."))
    try:
        exam = exams.get_or_start_exam(question=question, rater=rater, by=by, reason=reason)
    except exams.ExamNotAvailable:
        message = _("An exam needs %(n)s gold items that are new to this rater.")
        raise InvalidExamAction(
            message % {"n": exams.compute_min_correct_answers(question)}
        ) from None
    _record_security_event("exam_retry_granted", exam, by)
    return exam


@transaction.atomic
def waive_exam(*, question: Question, rater: Rater, by: Any, reason: str) -> Exam:
    """Create a waiver, with which the rater may rate without having passed.

    Raises InvalidExamAction.
    """
    exam = exams.waive_exam(
        question=question, rater=rater, by=by, reason=_validate_action(question, rater, reason)
    )
    _record_security_event("exam_waived", exam, by)
    return exam


def _validate_action(question: Question, rater: Rater, reason: str) -> str:
    """Return the stripped reason.

    Raises InvalidExamAction for an invalid reason, and for a rater who has passed or a waiver.
    """
    reason = reason.strip()
    if problem := find_required_reason_error(reason, max_length=MAX_REASON_LENGTH):
        raise InvalidExamAction(problem)
    final_states = (Exam.State.PASSED, Exam.State.WAIVED)
    if Exam.objects.filter(question=question, rater=rater, state__in=final_states).exists():
        raise InvalidExamAction(_("This rater doesn't need an exam any more."))
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
