"""Undo on the annotation page: withdraw a rater's answers to an item and open it again."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from projects.models import Item, Question, Rater
from ratings.models import NO_CODE, Assignment, Revision
from ratings.services.judgement import Judgement
from ratings.services.own_answers import record_own_answers
from ratings.services.permissions import (
    CorrectionsClosed,
    ExamAnswersFinal,
    ItemNotAssigned,
    ProjectArchived,
    validate_exam_passed,
)

from . import rater_selectors
from .assignments import queue
from .assignments.leases import get_lease_time
from .submission import NoSlotLeft

State = Assignment.State
FORM = Revision.Source.FORM


@transaction.atomic
def undo_submission(*, rater: Rater, item: Item, by: Any) -> dict[int, int]:
    """Withdraw the rater's answers to the item, or their skip, and open it again.

    Returns question id -> withdrawn code; empty after a skip. The history keeps the codes, and the
    rater keeps the item's slot, so that answering again never fails for lack of one. Raises
    ItemNotAssigned for an item that the rater has not submitted or skipped, CorrectionsClosed,
    ProjectArchived, ExamAnswersFinal, ExamRequired, and NoSlotLeft for a skipped item that others
    have taken meanwhile; then nothing has changed.
    """
    assignment, _last_closed_at, due_exam_question_id = rater_selectors.lock_assignment(rater, item)
    if assignment is None or assignment.state not in (State.DONE, State.SKIPPED):
        raise ItemNotAssigned
    if rater.project.archived_at is not None:
        raise ProjectArchived
    if assignment.kind == Assignment.Kind.EXAM:
        raise ExamAnswersFinal
    validate_exam_passed(due_exam_question_id)
    if assignment.state == State.SKIPPED:
        if not queue.reclaim_slot(rater, item):
            raise NoSlotLeft
        return {}
    if not rater.project.allows_corrections:
        raise CorrectionsClosed
    # The assignment first, then the ratings: this is the lock order of
    # ratings.annotation.assignments.queue.
    _reopen(assignment)
    current_answers = rater_selectors.get_current_answers(rater, item)
    answered_questions = Question.objects.filter(pk__in=current_answers, project=rater.project_id)
    withdrawal = Judgement(item.pk, rater.pk, NO_CODE)
    questions = list(answered_questions.select_related("project"))
    record_own_answers(
        {question: [withdrawal] for question in questions},
        check_kinds={item.pk: assignment.kind},
        by=by,
        source=FORM,
    )
    return {question_id: answer.code for question_id, answer in current_answers.items()}


def _reopen(assignment: Assignment) -> None:
    assignment.state = State.OPEN
    assignment.created_at = timezone.now()
    assignment.leased_until = assignment.created_at + get_lease_time()
    assignment.closed_at = None
    assignment.save(update_fields=["state", "created_at", "leased_until", "closed_at"])
