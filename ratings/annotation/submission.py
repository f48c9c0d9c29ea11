"""What an annotator does at the desk: answer an item, skip it, look back."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from projects.models import Item, Project, Question, Rater
from projects.services.raters import pseudonyms
from ratings.models import Assignment, Desk, Exam, Rating, Revision
from ratings.services import permissions, slots
from ratings.services.check_answers import record_apart
from ratings.services.judgement import Judgement
from ratings.services.permissions import HELD, NotAsked, Refused
from ratings.services.record import record

from . import rater_work
from .assignments import exams, queue

State = Assignment.State
FORM = Revision.Source.FORM


class NoPlaceLeft(Refused):
    """The rater gave up or lost the place of the item, and others have taken the last one."""


class AlreadyRated(Refused):
    """What is rated cannot be skipped any more."""


class ExamSkipped(Refused):
    """An item of an exam is answered."""


class AnsweredElsewhere(Refused):
    """The rater has said something else of the item since the page was made, in another window."""


class Shown(NamedTuple):
    """What the page showed to whom answers: the versions of the guidelines and of the item's
    content, and the stamp of what stood (ratings.annotation.rater_work); None where it did not say."""

    guidelines: int | None = None
    item_version: int | None = None
    said: str | None = None


NOT_SAID = Shown()


def begin(project: Project, user: Any) -> Rater:
    """The user's rater in the project, made when there is none. The key is the user's name,
    numbered when taken."""
    name = user.get_username()[:140]
    for number in range(1, 1000):
        mine = rater_work.rater_of(project, user)
        if mine is not None:
            return mine
        key = name if number == 1 else f"{name}-{number}"
        # Never somebody else's rater of the same name: whose that is, only the lead knows.
        if pseudonyms.by_key(project, key) is not None:
            continue
        try:
            with transaction.atomic():
                made = Rater.objects.create(
                    project=project, key=key, name=user.get_full_name(), user=user
                )
                if pseudonyms.settle(project.pk):
                    made.refresh_from_db()
                return made
        except IntegrityError:
            continue  # a double click: the other one made it
    raise RuntimeError(f"a thousand raters are named {name}")


def answer(
    *,
    rater: Rater,
    item: Item,
    codes: Mapping[Question, int],
    comment: str,
    flagged: bool,
    by: Any,
    shown: Shown = NOT_SAID,
) -> Exam | None:
    """Store the rater's answers to the item, one a question; the first time this turns the held
    place into a rating. The exam that the answer brought to its end.

    Answering again corrects, and saying the same again changes nothing. Raises NotAsked,
    NoPlaceLeft, NotExamined, CorrectionsClosed, ExamStands, AnsweredElsewhere (all of them
    Refused), or UnknownCode (of ratings.services.judgement); then nothing has changed.
    """
    ended: list[Exam] = []
    store = functools.partial(
        _store,
        rater=rater,
        item=item,
        codes=codes,
        comment=comment,
        flagged=flagged,
        by=by,
        shown=shown,
        ended=ended,
    )
    # A place is taken back before anything else is locked: locks go in one order
    # (ratings.annotation.assignments.queue).
    if not store() and not (queue.take_place(rater, item) and store()):
        raise NoPlaceLeft
    return ended[-1] if ended else None


@transaction.atomic
def _store(
    *,
    rater: Rater,
    item: Item,
    codes: Mapping[Question, int],
    comment: str,
    flagged: bool,
    by: Any,
    shown: Shown,
    ended: list[Exam],
) -> bool:
    """False, and nothing has changed, where the rater gave up or lost the item's place."""
    mine, last_closed_at, exam_due = rater_work.lock(rater, item)
    in_exam = mine is not None and mine.why == Assignment.Why.EXAM
    _refuse_unasked(rater, item, mine, exam_due)
    if mine is not None and mine.state not in HELD:
        return False
    first = mine is not None and mine.state == State.OPEN
    closed = None
    if not rater.project.corrections or in_exam:
        closed = [] if first else [item.pk]
    if not first and closed is None:
        _refuse_unseen(rater_work.standing_of(rater, item), codes, comment, shown)
    now = timezone.now()
    seconds = _seconds(last_closed_at, mine, now) if first and mine is not None else None
    judgements: dict[Question, Judgement] = {}
    for question, code in codes.items():
        # The comment speaks of the item: it is kept with the first question's rating alone.
        said = None if judgements else comment
        judgements[question] = Judgement(
            item.pk,
            rater.pk,
            code,
            comment=said,
            seconds=seconds,
            guidelines=shown.guidelines,
            item_version=shown.item_version,
        )
    exam = None
    if mine is not None and mine.why:
        is_closed = closed is not None and not first
        record_apart(judgements, why=mine.why, by=by, source=FORM, closed=is_closed)
        exam = exams.answered(rater, item, codes) if in_exam and first else None
        if mine.why == Assignment.Why.REPEAT and not first:
            _correct_repeated(rater, item, judgements, by=by)
    else:
        each = {question: [judgement] for question, judgement in judgements.items()}
        record(each, by=by, source=FORM, closed=closed)
    if mine is not None:
        mine.state = State.DONE
        mine.closed_at = mine.closed_at or now
        mine.flagged = flagged
        mine.save(update_fields=["state", "closed_at", "flagged"])
    if first:
        Desk.objects.filter(rater=rater).update(last_closed_at=now)
    ended += [exam] if exam is not None else []
    return True


def _correct_repeated(
    rater: Rater, item: Item, judgements: Mapping[Question, Judgement], *, by: Any
) -> None:
    """Who corrects what they were asked twice means their rating, too: only the second answer
    itself stands apart from it."""
    standing = own_ratings(rater, item).standing()
    rated = dict(standing.values_list("question_id", "comment"))
    each = {}
    for question, new in judgements.items():
        if question.pk in rated:
            comment = new.comment or rated[question.pk]
            each[question] = [new._replace(comment=comment)]
    record(each, by=by, source=FORM)


def _refuse_unasked(
    rater: Rater, item: Item, mine: Assignment | None, exam_due: int | None
) -> None:
    """Raises NotAsked, and NotExamined where an exam comes first and this is none of its items."""
    if mine is not None and mine.why == Assignment.Why.EXAM:
        if mine.state != State.DONE and exams.under_way(rater, item) is None:
            raise NotAsked
        return
    permissions.refuse_unexamined(exam_due)
    if mine is None and not own_ratings(rater, item).standing().exists():
        raise NotAsked


def _refuse_unseen(
    standing: Mapping[int, Rating], codes: Mapping[Question, int], comment: str, shown: Shown
) -> None:
    """Raises AnsweredElsewhere where the rater would overwrite what they have not seen."""
    if shown.said is None or shown.said == rater_work.stamp(standing):
        return
    said = {question.pk: code for question, code in codes.items()}
    stands = {question_id: one.code for question_id, one in standing.items()}
    comments = "".join(one.comment for one in standing.values())
    if said != stands or comment != comments:
        raise AnsweredElsewhere


@transaction.atomic
def skip(*, rater: Rater, item: Item, reason: str) -> None:
    """Put the item aside with a reason: its place is free for others, and the rater is not asked
    again."""
    mine, _last_closed_at, exam_due = rater_work.lock(rater, item)
    if mine is None:
        raise NotAsked
    if mine.state == State.DONE:
        raise AlreadyRated
    if mine.why == Assignment.Why.EXAM:
        raise ExamSkipped
    permissions.refuse_unexamined(exam_due)
    mine.state = State.SKIPPED
    mine.skip_reason = reason
    mine.closed_at = timezone.now()
    mine.save(update_fields=["state", "skip_reason", "closed_at"])
    slots.recount([item.pk])
    Desk.objects.filter(rater=rater).update(last_closed_at=mine.closed_at)


def assignment_of(rater: Rater, item_id: int) -> Assignment | None:
    return Assignment.objects.filter(rater=rater, item_id=item_id).first()


def own_ratings(rater: Rater, item: Item) -> Any:
    return Rating.objects.filter(item=item, rater=rater, question__project_id=rater.project_id)


def item_before(rater: Rater, item_id: int | None) -> Item | None:
    """The item that the rater answered or skipped last, or last before ``item_id`` when that one
    lies behind them. What an exam asked stands."""
    done = Assignment.objects.filter(rater=rater, state__in=[State.DONE, State.SKIPPED])
    closed = done.exclude(why=Assignment.Why.EXAM).select_related("item")
    here = assignment_of(rater, item_id) if item_id is not None else None
    if (
        here is not None
        and here.state in (State.DONE, State.SKIPPED)
        and here.closed_at is not None
    ):
        closed = closed.filter(closed_at__lt=here.closed_at)
    last = closed.order_by("-closed_at").first()
    return last.item if last else None


def _seconds(
    last_closed_at: datetime.datetime | None, mine: Assignment, now: datetime.datetime
) -> float:
    """How long the item was before the rater's eyes: since it was given or, when it was fetched
    ahead, since the last one was done. By the server's clock alone; nobody looks longer than a
    lease."""
    since = mine.created_at if last_closed_at is None else max(mine.created_at, last_closed_at)
    return min(max((now - since).total_seconds(), 0.0), float(settings.LEASE_SECONDS))
