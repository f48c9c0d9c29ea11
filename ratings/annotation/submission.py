"""Submission of answers by annotators: answer an item, skip it, go back, undo.

To undo is to withdraw a rater's answers to an item and open it again.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from projects.models import Item, Project, Question, Rater
from projects.services import pseudonyms
from ratings.models import NO_CODE, Assignment, Exam, RaterQueue, Rating, Revision
from ratings.services import permissions, slots
from ratings.services.judgement import Judgement
from ratings.services.own_answers import record_own_answers
from ratings.services.permissions import (
    ANSWERABLE_STATES,
    CorrectionsClosed,
    ExamAnswersFinal,
    ItemNotAssigned,
    ProjectArchived,
    RatingNotAllowed,
    validate_exam_passed,
)
from ratings.services.slots import get_lease_time

from . import rater_selectors
from .assignments import exams, queue

State = Assignment.State
FORM = Revision.Source.FORM


class NoSlotLeft(RatingNotAllowed):
    """The rater lost or released the item's slot, and other raters have taken the last one."""


class AlreadyRated(RatingNotAllowed):
    """The rater has rated the item, so it cannot be skipped."""


class ExamItemNotSkippable(RatingNotAllowed):
    """The item is part of an exam, so it cannot be skipped."""


class AnsweredInOtherWindow(RatingNotAllowed):
    """The rater has changed the answer in another window since the page was loaded."""


class PageVersions(NamedTuple):
    """Versions of answers and guidelines that the submitted page showed; None for unknown.

    ``guidelines`` and ``item_version`` are version numbers, ``answers`` is the digest of the
    current answers (ratings.annotation.rater_selectors.compute_answer_version). ``is_delayed``: the
    browser had no connection when the rater answered, so how long the item was visible is unknown.
    """

    guidelines: int | None = None
    item_version: int | None = None
    answers: str | None = None
    is_delayed: bool = False


UNKNOWN_VERSIONS = PageVersions()


def get_or_create_rater(project: Project, user: Any) -> Rater:
    """Return the user's rater in the project, created if there is none.

    The key is the username, numbered if it is taken. Raises RuntimeError if 999 keys are taken.
    """
    name = user.get_username()[:140]
    for number in range(1, 1000):
        existing = rater_selectors.get_rater(project, user)
        if existing is not None:
            return existing
        key = name if number == 1 else f"{name}-{number}"
        # Never reuse another rater of the same name: only the lead knows who that is.
        if pseudonyms.get_rater_by_key(project, key) is not None:
            continue
        try:
            with transaction.atomic():
                rater = Rater.objects.create(
                    project=project, key=key, name=user.get_full_name(), user=user
                )
                if pseudonyms.assign_pseudonyms(project.pk):
                    rater.refresh_from_db()
                return rater
        except IntegrityError:
            continue  # a double click: the other request created it
    raise RuntimeError(f"a thousand raters are named {name}")


def submit_answers(
    *,
    rater: Rater,
    item: Item,
    codes: Mapping[Question, int],
    comment: str,
    flagged: bool,
    by: Any,
    page_versions: PageVersions = UNKNOWN_VERSIONS,
) -> Exam | None:
    """Store the rater's answers to the item, one per question, and keep its slot.

    Returns the exam that ended by this answer, or None. ``codes`` maps each question to the code of
    its answer; ``page_versions`` says what the rater saw. Answering again corrects, and the same
    answers again change nothing. Raises ItemNotAssigned, NoSlotLeft, ExamRequired, ProjectArchived,
    CorrectionsClosed, ExamAnswersFinal, AnsweredInOtherWindow (all of them RatingNotAllowed), or
    UnknownCode (of ratings.services.judgement); then no answer has changed.
    """
    ended_exams: list[Exam] = []
    store_answers = functools.partial(
        _store_answers,
        rater=rater,
        item=item,
        codes=codes,
        comment=comment,
        flagged=flagged,
        by=by,
        page_versions=page_versions,
        ended_exams=ended_exams,
    )
    # A lost slot is claimed before anything else is locked, to keep the lock order
    # (ratings.annotation.assignments.queue).
    if not store_answers() and not (queue.reclaim_slot(rater, item) and store_answers()):
        raise NoSlotLeft
    return ended_exams[-1] if ended_exams else None


@transaction.atomic
def _store_answers(
    *,
    rater: Rater,
    item: Item,
    codes: Mapping[Question, int],
    comment: str,
    flagged: bool,
    by: Any,
    page_versions: PageVersions,
    ended_exams: list[Exam],
) -> bool:
    """Store the answers and add an exam that they end; return False if the rater lost the slot."""
    assignment, last_closed_at, due_exam_question_id = rater_selectors.lock_assignment(rater, item)
    in_exam = assignment is not None and assignment.kind == Assignment.Kind.EXAM
    _validate_may_answer(rater, item, assignment, due_exam_question_id)
    if assignment is not None and assignment.state not in ANSWERABLE_STATES:
        return False
    is_first = assignment is not None and assignment.state == State.OPEN
    may_correct = rater.project.allows_corrections and not in_exam
    if may_correct and not is_first:
        current_answers = rater_selectors.get_current_answers(rater, item)
        _validate_page_is_current(current_answers, codes, comment, page_versions)
    now, seconds = timezone.now(), None
    if is_first and assignment is not None and not page_versions.is_delayed:
        seconds = _compute_seconds(last_closed_at, assignment, now)
    closed_item_ids = [] if is_first else [item.pk]
    record_own_answers(
        _build_judgements(_build_judgement(rater, item, page_versions, seconds), codes, comment),
        check_kinds={} if assignment is None else {item.pk: assignment.kind},
        by=by,
        source=FORM,
        closed_item_ids=None if may_correct else closed_item_ids,
    )
    if in_exam and is_first and (exam := exams.record_exam_answer(rater, item, codes)):
        ended_exams.append(exam)
    if assignment is not None:
        _close_assignment(assignment, now, flagged=flagged)
    if is_first:
        RaterQueue.objects.filter(rater=rater).update(last_closed_at=now)
    return True


def _build_judgement(
    rater: Rater, item: Item, page_versions: PageVersions, seconds: float | None
) -> Judgement:
    """Return a judgement of the item with NO_CODE, to be completed with a code and a comment.

    ``seconds``: time that the rater needed, None if it is unknown.
    """
    return Judgement(
        item.pk,
        rater.pk,
        NO_CODE,
        guidelines=page_versions.guidelines,
        item_version=page_versions.item_version,
        seconds=seconds,
    )


def _close_assignment(assignment: Assignment, now: datetime.datetime, *, flagged: bool) -> None:
    assignment.state = State.DONE
    assignment.closed_at = assignment.closed_at or now
    if flagged and not assignment.flagged:
        assignment.resolved_at = None
    assignment.flagged = flagged
    assignment.save(update_fields=["state", "closed_at", "flagged", "resolved_at"])


def _build_judgements(
    answer: Judgement, codes: Mapping[Question, int], comment: str
) -> dict[Question, list[Judgement]]:
    """Return question -> its judgement, in a list; only the first has the comment on the item.

    ``answer`` is the judgement without code, ``codes`` maps each question to its code.
    """
    return {
        question: [answer._replace(code=code, comment=None if index else comment)]
        for index, (question, code) in enumerate(codes.items())
    }


def _validate_may_answer(
    rater: Rater, item: Item, assignment: Assignment | None, due_exam_question_id: int | None
) -> None:
    """Raise ItemNotAssigned, or ExamRequired if an exam is due and the item is not part of it.

    Without an assignment, the rater may answer only an item that they have rated.
    ``due_exam_question_id`` is None if no exam is due.
    """
    if assignment is not None and assignment.kind == Assignment.Kind.EXAM:
        if assignment.state != State.DONE and exams.get_open_exam(rater, item) is None:
            raise ItemNotAssigned
        return
    permissions.validate_exam_passed(due_exam_question_id)
    if assignment is None and not get_ratings(rater, item).current().exists():
        raise ItemNotAssigned


def _validate_page_is_current(
    current_answers: Mapping[int, Rating],
    codes: Mapping[Question, int],
    comment: str,
    page_versions: PageVersions,
) -> None:
    """Raise AnsweredInOtherWindow if the submission changes answers that its page did not show."""
    if (
        page_versions.answers is None
        or page_versions.answers == rater_selectors.compute_answer_version(current_answers)
    ):
        return
    submitted_codes = {question.pk: code for question, code in codes.items()}
    current_codes = {question_id: answer.code for question_id, answer in current_answers.items()}
    comments = "".join(answer.comment for answer in current_answers.values())
    if submitted_codes != current_codes or comment != comments:
        raise AnsweredInOtherWindow


@transaction.atomic
def skip_item(*, rater: Rater, item: Item, reason: str) -> None:
    """Skip the item with a reason: free its slot, and do not assign it to the rater again.

    Raises ItemNotAssigned, AlreadyRated, ExamItemNotSkippable or ExamRequired (all of them
    RatingNotAllowed); then nothing has changed.
    """
    assignment, _last_closed_at, due_exam_question_id = rater_selectors.lock_assignment(rater, item)
    if assignment is None:
        raise ItemNotAssigned
    if assignment.state == State.DONE:
        raise AlreadyRated
    if assignment.kind == Assignment.Kind.EXAM:
        raise ExamItemNotSkippable
    permissions.validate_exam_passed(due_exam_question_id)
    assignment.state = State.SKIPPED
    assignment.skip_reason = reason
    assignment.closed_at = timezone.now()
    assignment.save(update_fields=["state", "skip_reason", "closed_at"])
    slots.recount_slots([item.pk])
    RaterQueue.objects.filter(rater=rater).update(last_closed_at=assignment.closed_at)


def get_assignment(rater: Rater, item_id: int) -> Assignment | None:
    return Assignment.objects.filter(rater=rater, item_id=item_id).first()


def get_ratings(rater: Rater, item: Item) -> Any:
    return Rating.objects.filter(item=item, rater=rater, question__project_id=rater.project_id)


def get_previous_item(rater: Rater, item_id: int | None) -> Item | None:
    """Return the item that the rater last answered or skipped, or None.

    If ``item_id`` is itself an answered or skipped item, return the one before it. Exam items are
    left out, because their answers are final.
    """
    closed_assignments = Assignment.objects.filter(
        rater=rater, state__in=[State.DONE, State.SKIPPED]
    )
    candidates = closed_assignments.exclude(kind=Assignment.Kind.EXAM).select_related("item")
    current_assignment = get_assignment(rater, item_id) if item_id is not None else None
    if (
        current_assignment is not None
        and current_assignment.state in (State.DONE, State.SKIPPED)
        and current_assignment.closed_at is not None
    ):
        candidates = candidates.filter(closed_at__lt=current_assignment.closed_at)
    previous_assignment = candidates.order_by("-closed_at").first()
    return previous_assignment.item if previous_assignment else None


def _compute_seconds(
    last_closed_at: datetime.datetime | None, assignment: Assignment, now: datetime.datetime
) -> float:
    """Return the seconds that the item was visible, by the server's clock, at most LEASE_SECONDS.

    The time starts when the item was assigned or, if it was prefetched, when the previous item was
    closed (None: there was no previous item).
    """
    visible_since = (
        assignment.created_at
        if last_closed_at is None
        else max(assignment.created_at, last_closed_at)
    )
    return min(max((now - visible_since).total_seconds(), 0.0), float(settings.LEASE_SECONDS))


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
    _reopen_assignment(assignment)
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


def _reopen_assignment(assignment: Assignment) -> None:
    assignment.state = State.OPEN
    assignment.created_at = timezone.now()
    assignment.leased_until = assignment.created_at + get_lease_time()
    assignment.closed_at = None
    assignment.save(update_fields=["state", "created_at", "leased_until", "closed_at"])
