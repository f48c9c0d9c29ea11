"""Undo at the desk: what a rater said of an item is taken back, and the item lies before them
again."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from projects.models import Item, Question, Rater
from ratings.models import NOTHING, Assignment, Revision
from ratings.services.check_answers import record_apart
from ratings.services.judgement import Judgement
from ratings.services.permissions import (
    Archived,
    CorrectionsClosed,
    ExamStands,
    NotAsked,
    refuse_unexamined,
)
from ratings.services.record import record

from . import rater_work
from .assignments import queue
from .submission import NoPlaceLeft

State = Assignment.State
FORM = Revision.Source.FORM


@transaction.atomic
def take_back(*, rater: Rater, item: Item, by: Any) -> dict[int, int]:
    """Withdraw the rater's answers to the item, or their skip, and open it for them again.

    Returns the codes that stood, by the question's id; empty after a skip. The history keeps them,
    and the rater keeps the item's place, so that answering again is never refused for want of one.
    Raises NotAsked for an item that the rater is not done with, CorrectionsClosed, Archived, and
    NoPlaceLeft for a skipped one that others have taken meanwhile; then nothing has changed.
    """
    mine, _last_closed_at, exam_due = rater_work.lock(rater, item)
    if mine is None or mine.state not in (State.DONE, State.SKIPPED):
        raise NotAsked
    if rater.project.archived_at is not None:
        raise Archived
    if mine.why == Assignment.Why.EXAM:
        raise ExamStands
    refuse_unexamined(exam_due)
    if mine.state == State.SKIPPED:
        if not queue.take_place(rater, item):
            raise NoPlaceLeft
        return {}
    if not rater.project.corrections:
        raise CorrectionsClosed
    # The place first, the ratings after it: locks go in one order (ratings.annotation.assignments.queue).
    now = timezone.now()
    mine.state = State.OPEN
    mine.created_at = now
    mine.leased_until = now + queue.lease_time()
    mine.closed_at = None
    mine.save(update_fields=["state", "created_at", "leased_until", "closed_at"])
    standing = rater_work.standing_of(rater, item)
    asked = Question.objects.filter(pk__in=standing, project=rater.project_id)
    nothing = Judgement(item.pk, rater.pk, NOTHING)
    questions = list(asked.select_related("project"))
    if mine.why:
        record_apart(dict.fromkeys(questions, nothing), why=mine.why, by=by, source=FORM)
    else:
        record({question: [nothing] for question in questions}, by=by, source=FORM)
    return {question_id: said.code for question_id, said in standing.items()}
