"""What an annotator does at the desk: answer an item, skip it, look back."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from groundwork.database import bulk
from groundwork.database.rows import Row
from projects.access import LARGEST_ID
from projects.models import Item, Project, Question, Rater
from ratings.models import Assignment, Rating
from ratings.recording import places
from ratings.recording.days import aware
from ratings.recording.record import Group, NewRating, record_all

from . import queue

State = Assignment.State

_MINE = "SELECT id, state, created_at FROM ratings_assignment WHERE item_id = %s AND rater_id = %s"
_RATER = Row(Rater)
_RATER_OF = (
    f"SELECT {_RATER.columns('r')} FROM projects_rater r WHERE r.project_id = %s AND r.user_id = %s"  # noqa: S608 - only fixed names
)
_ITEM_OF = (
    f"SELECT {queue.ITEM.columns('i')} FROM projects_item i WHERE i.id = %s AND i.project_id = %s"  # noqa: S608 - only fixed names
    " AND (EXISTS (SELECT 1 FROM ratings_assignment a WHERE a.item_id = i.id AND a.rater_id = %s)"
    " OR EXISTS (SELECT 1 FROM ratings_rating r WHERE r.item_id = i.id AND r.rater_id = %s))"
)
_ASSIGNMENT = Row(Assignment)
_ASSIGNMENT_OF = f"SELECT {_ASSIGNMENT.columns('a')} FROM ratings_assignment a WHERE a.item_id = %s AND a.rater_id = %s"  # noqa: S608 - only fixed names
_RATING = Row(Rating, "id", "question_id", "code", "comment")
_RATINGS_OF = (
    f"SELECT {_RATING.columns('r')} FROM ratings_rating r WHERE r.item_id = %s AND r.rater_id = %s"  # noqa: S608 - only fixed names
)
_DONE = "UPDATE ratings_assignment SET state = 'done', closed_at = coalesce(closed_at, %s), flagged = %s WHERE id = %s"
_SKIP = "UPDATE ratings_assignment SET state = 'skipped', skip_reason = %s, closed_at = %s WHERE id = %s"
_LOOK_UP = "UPDATE ratings_desk SET last_closed_at = %s WHERE rater_id = %s"


class Refused(Exception):
    """What the rater wants cannot be done; nothing has changed."""


class NotAsked(Refused):
    """The item was never given to this rater."""


class NoPlaceLeft(Refused):
    """The rater gave up or lost the place of the item, and others have taken the last one."""


class CorrectionsClosed(Refused):
    """The project does not let raters change what they rated."""


class AlreadyRated(Refused):
    """What is rated cannot be skipped any more."""


def rater_of(project: Project, user: Any) -> Rater | None:
    """The rater that the user is in the project, with this very project: its role, its questions
    fetched once."""
    [found] = bulk.several([(_RATER_OF, [project.pk, user.pk])])
    if not found:
        return None
    rater = _RATER.made(found[0])
    rater.project = project
    return rater


def begin(project: Project, user: Any) -> Rater:
    """The user's rater in the project, made when there is none. The key is the user's name,
    numbered when taken."""
    name = user.get_username()[:140]
    for number in range(1, 1000):
        mine = rater_of(project, user)
        if mine is not None:
            return mine
        key = name if number == 1 else f"{name}-{number}"
        # Never somebody else's rater of the same name: whose that is, only the lead knows.
        if Rater.objects.filter(project=project, key=key).exists():
            continue
        try:
            with transaction.atomic():
                return Rater.objects.create(
                    project=project, key=key, name=user.get_full_name(), user=user
                )
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
    guidelines: int | None = None,
) -> None:
    """Store the rater's answers to the item, one a question; the first time this turns the held
    place into a rating.

    ``guidelines`` is the version that the page showed, None where it did not say.

    Answering again corrects, and saying the same again changes nothing. Raises NotAsked,
    NoPlaceLeft, CorrectionsClosed (all of them Refused), or ratings.recording.record.UnknownCode;
    then nothing has changed.
    """
    store = functools.partial(
        _store,
        rater=rater,
        item=item,
        codes=codes,
        comment=comment,
        flagged=flagged,
        by=by,
        guidelines=guidelines,
    )
    # A place is taken back before anything else is locked: locks go in one order
    # (ratings.desk.queue).
    if not store() and not (queue.take_place(rater, item) and store()):
        raise NoPlaceLeft


@transaction.atomic
def _store(
    *,
    rater: Rater,
    item: Item,
    codes: Mapping[Question, int],
    comment: str,
    flagged: bool,
    by: Any,
    guidelines: int | None,
) -> bool:
    """False, and nothing has changed, where the rater gave up or lost the item's place."""
    mine, last_closed_at = _lock(rater, item)
    if mine is None and not own_ratings(rater, item).standing().exists():
        raise NotAsked
    if mine is not None and mine.state not in (State.OPEN, State.DONE):
        return False
    first = mine is not None and mine.state == State.OPEN
    if not first and not rater.project.corrections and _differs(rater, item, codes, comment):
        raise CorrectionsClosed
    now = timezone.now()
    seconds = _seconds(last_closed_at, mine, now) if first and mine is not None else None
    answers: list[Group] = []
    for question, code in codes.items():
        # The comment speaks of the item: it is kept with the first question's rating alone.
        said = None if answers else comment
        new = NewRating(
            item.pk, rater.pk, code, comment=said, seconds=seconds, guidelines=guidelines
        )
        answers.append((question, [new]))
    moment = connection.ops.adapt_datetimefield_value(now)
    closing: list[bulk.Statement] = (
        [(_DONE, [moment, flagged, mine.pk])] if mine is not None else []
    )
    record_all(
        answers,
        by=by,
        source="form",
        then=[*closing, (_LOOK_UP, [moment, rater.pk])] if first else closing,
    )
    return True


@transaction.atomic
def skip(*, rater: Rater, item: Item, reason: str) -> None:
    """Put the item aside with a reason: its place is free for others, and the rater is not asked
    again."""
    mine, _ = _lock(rater, item)
    if mine is None:
        raise NotAsked
    if mine.state == State.DONE:
        raise AlreadyRated
    moment = connection.ops.adapt_datetimefield_value(timezone.now())
    freeing = [(_SKIP, [reason, moment, mine.pk]), *places.recounting([item.pk])]
    bulk.several([*freeing, (_LOOK_UP, [moment, rater.pk])])


@dataclass(frozen=True, slots=True)
class _Mine:
    """The rater's assignment, as it is locked."""

    pk: int
    state: str
    created_at: datetime.datetime


def _lock(rater: Rater, item: Item) -> tuple[_Mine | None, datetime.datetime | None]:
    """The rater's assignment of the item and when they closed one last, both locked until the
    transaction ends."""
    [(last_closed_at,)], mine = queue.lock_desk(
        rater, (_MINE + queue.locking(), [item.pk, rater.pk])
    )
    found = [_Mine(pk, state, aware(created_at)) for pk, state, created_at in mine]
    return found[0] if found else None, last_closed_at and aware(last_closed_at)


def assignment_of(rater: Rater, item_id: int) -> Assignment | None:
    return Assignment.objects.filter(rater=rater, item_id=item_id).first()


def item_of(rater: Rater, item_id: int) -> Item | None:
    """The item, when it was ever given to the rater or rated by them."""
    if item_id > LARGEST_ID:
        return None
    [found] = bulk.several([(_ITEM_OF, [item_id, rater.project_id, rater.pk, rater.pk])])
    return queue.ITEM.made(found[0]) if found else None


def said_of(rater: Rater, item: Item) -> tuple[Assignment | None, list[Rating]]:
    """The rater's assignment of the item, and their ratings of it, one a question."""
    mine, ratings = bulk.several(
        [(_ASSIGNMENT_OF, [item.pk, rater.pk]), (_RATINGS_OF, [item.pk, rater.pk])]
    )
    return _ASSIGNMENT.made(mine[0]) if mine else None, [_RATING.made(row) for row in ratings]


def own_ratings(rater: Rater, item: Item) -> Any:
    return Rating.objects.filter(item=item, rater=rater, question__project_id=rater.project_id)


def item_before(rater: Rater, item_id: int | None) -> Item | None:
    """The item that the rater answered or skipped last, or last before ``item_id`` when that one
    lies behind them."""
    closed = Assignment.objects.filter(
        rater=rater, state__in=[State.DONE, State.SKIPPED]
    ).select_related("item")
    here = assignment_of(rater, item_id) if item_id is not None else None
    if (
        here is not None
        and here.state in (State.DONE, State.SKIPPED)
        and here.closed_at is not None
    ):
        closed = closed.filter(closed_at__lt=here.closed_at)
    last = closed.order_by("-closed_at").first()
    return last.item if last else None


def _differs(rater: Rater, item: Item, codes: Mapping[Question, int], comment: str) -> bool:
    standing = {rating.question_id: rating for rating in own_ratings(rater, item)}
    for number, (question, code) in enumerate(codes.items()):
        rating = standing.get(question.pk)
        if rating is None or rating.code != code or (number == 0 and rating.comment != comment):
            return True
    return False


def _seconds(
    last_closed_at: datetime.datetime | None, mine: _Mine, now: datetime.datetime
) -> float:
    """How long the item was before the rater's eyes: since it was given or, when it was fetched
    ahead, since the last one was done. By the server's clock alone; nobody looks longer than a
    lease."""
    since = mine.created_at if last_closed_at is None else max(mine.created_at, last_closed_at)
    return min(max((now - since).total_seconds(), 0.0), float(settings.LEASE_SECONDS))
