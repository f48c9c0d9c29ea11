"""Who is asked next: every item gets as many raters as its project's ``overlap`` says, never one more through here.

A place of an item is taken by an open assignment and stays taken by the rating that follows (ratings.places). It is
handed out under the item's lock, after counting the rows that take places, so no two raters get the last one. Locks
are taken in one order everywhere: the rater's desk, assignments, ratings, items.

To find an item without counting: ``Item.places_taken`` is indexed, and an item is open on one of ``overlap`` levels
(0 taken, 1 taken, ...). Each level is entered behind the item that the rater was given last, so what they have rated
already lies behind, not in the way.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Iterator

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from projects.models import Item, Project, QueueOrder, Rater

from . import places
from .models import Assignment, Desk, Rating

State = Assignment.State
TakeOne = Callable[[Rater, list[int]], Item | None]

AT_ONCE = 16  # candidates in a probe: when others hold the first, there is a second
RANDOM_STARTS = 6  # places that are tried before the whole project is searched
RANDOM_SPAN = 1_000  # ids that are looked at from each of them
LEVELS_AT_ONCE = 100  # SQLite joins 500 SELECTs at most
EXPIRED_AT_ONCE = 20
END = 2**63 - 1


def lease_time() -> datetime.timedelta:
    return datetime.timedelta(seconds=settings.LEASE_SECONDS)


def next_item(rater: Rater, *, besides: int | None = None) -> Item | None:
    """The item to put before the rater: the one they have open, else a new one. None when nothing is left for them.

    ``besides`` is the id of an item that they have before them already: then the answer is the one after it.
    """
    if rater.paused:
        return None
    found = _open_on_desk(rater, besides)
    if found is not None:
        return found
    release_expired()
    for take in _ways_to_take():
        with transaction.atomic():
            desk = lock_desk(rater)
            # A second window may have been served while this one waited.
            found = _open_on_desk(rater, besides) or _hand_out(rater, desk, take)
        if found is not None:
            return found
    return None


def take_place(rater: Rater, item: Item) -> bool:
    """A place for a rater who comes back to an item whose place they gave up or lost. False when none is left."""
    with transaction.atomic():
        lock_desk(rater)
        Item.objects.select_for_update(no_key=True).get(pk=item.pk)
        others = places.of_item(item.pk) - {rater.pk}
        if len(others) >= rater.project.overlap:
            return False
        _open(rater, item, taken=len(others))
        return True


def release_expired() -> None:
    """Free the places of assignments whose time is over, a few at a time; every search for an item begins with it."""
    now = timezone.now()
    over = Assignment.objects.filter(state=State.OPEN, leased_until__lte=now).order_by("leased_until")
    # Looking first: on SQLite a transaction would take the place of the one writer.
    if over.exists():
        with transaction.atomic():
            rows = list(over.select_for_update(skip_locked=_can_skip_locked())[:EXPIRED_AT_ONCE])
            Assignment.objects.filter(pk__in=[row.pk for row in rows]).update(state=State.EXPIRED, closed_at=now)
            places.recount({row.item_id for row in rows})


def lock_desk(rater: Rater) -> Desk:
    """The rater's desk, locked until the transaction ends."""
    locked = Desk.objects.select_for_update(no_key=True).filter(rater=rater)
    desk = locked.first()
    if desk is None:
        Desk.objects.get_or_create(rater=rater)
        desk = locked.get()
    return desk


def _can_skip_locked() -> bool:
    return connection.features.has_select_for_update_skip_locked


def _open_on_desk(rater: Rater, besides: int | None) -> Item | None:
    """The item that the rater has had open longest; its time starts anew when half of it has gone."""
    rows = Assignment.objects.filter(rater=rater, state=State.OPEN).select_related("item").order_by("id")
    for assignment in rows:
        if assignment.item_id == besides or _answered_elsewhere(rater, assignment):
            continue
        _renew(assignment)
        return assignment.item
    return None


def _renew(assignment: Assignment) -> None:
    now = timezone.now()
    if assignment.leased_until - now > lease_time() / 2:
        return
    if assignment.leased_until < now:
        assignment.created_at = now  # they come back after a break: it is given to them anew
    renewed = Assignment.objects.filter(pk=assignment.pk, state=State.OPEN)
    renewed.update(leased_until=now + lease_time(), created_at=assignment.created_at)


def _answered_elsewhere(rater: Rater, assignment: Assignment) -> bool:
    """Whether the rater has meanwhile answered every question of it (by the API, by a file); then it is closed."""
    answered = Rating.objects.filter(item_id=assignment.item_id, rater=rater).standing().count()
    if not answered or answered < rater.project.questions.count():
        return False
    Assignment.objects.filter(pk=assignment.pk, state=State.OPEN).update(state=State.DONE, closed_at=timezone.now())
    return True


def _ways_to_take() -> tuple[TakeOne, ...]:
    """Items that somebody else holds locked for a moment are passed by; only when there is no other, they are waited
    for, in a transaction that holds no item: else two who wait may wait for each other."""
    return (_take_first, _wait_for_one) if _can_skip_locked() else (_take_first,)


def _hand_out(rater: Rater, desk: Desk, take: TakeOne) -> Item | None:
    item = next((item for ids in _candidates(rater, desk) if (item := take(rater, ids)) is not None), None)
    if item is None:
        return None
    Desk.objects.filter(pk=desk.pk).update(position=item.pk, handed_out=F("handed_out") + 1)
    return item


def _open(rater: Rater, item: Item, *, taken: int) -> None:
    """Under the item's lock, with ``taken`` places taken by others."""
    now = timezone.now()
    again = Assignment.objects.filter(item=item, rater=rater)
    opened = {"state": State.OPEN, "created_at": now, "leased_until": now + lease_time(), "closed_at": None}
    if not again.update(**opened, skip_reason=""):
        Assignment.objects.create(item=item, rater=rater, **opened)
    Item.objects.filter(pk=item.pk).update(places_taken=taken + 1)


def _candidates(rater: Rater, desk: Desk) -> Iterator[list[int]]:
    """Ids of open items that are new to the rater, some at a time, in the order in which they are to be tried."""
    project = rater.project
    starts = [desk.position] if project.queue_order == QueueOrder.FIXED else _random_starts(project, desk)
    questions = list(project.questions.values_list("id", flat=True))
    for start in starts[:-1]:
        yield _open_ids(project, start, start + RANDOM_SPAN, new_to=(rater, questions))
    for lower, upper in ((starts[-1], END), (0, starts[-1])):
        last = lower
        while ids := _open_ids(project, last, upper, new_to=(rater, questions)):
            yield ids
            last = ids[-1]


def _random_starts(project: Project, desk: Desk) -> list[int]:
    """Places between the first and the last open item, random to the eye and the same whenever they are asked again:
    nothing but the rater and their own number of items goes into them. Several, since the rater may have been there.
    """
    lowest = _open_ids(project, 0, END, size=1)
    if not lowest:
        return [0]
    highest = _open_ids(project, 0, END, size=1, descending=True)
    span = highest[0] - lowest[0] + 1
    starts = []
    for number in range(RANDOM_STARTS):
        digest = hashlib.blake2b(f"{desk.pk}:{desk.handed_out}:{number}".encode(), digest_size=8).digest()
        starts.append(lowest[0] - 1 + int.from_bytes(digest, "big") * span // 2**64)
    return starts


_PROBE = """
    SELECT id FROM (
        SELECT id FROM projects_item WHERE project_id = %s AND places_taken = %s AND id > %s AND id <= %s {unseen}
        ORDER BY id {order} LIMIT %s) AS level
"""
# By the unique indexes of both tables; a rating by that of (question, item, rater).
_NEW_TO = """
    AND NOT EXISTS (SELECT 1 FROM ratings_assignment AS mine
        WHERE mine.item_id = projects_item.id AND mine.rater_id = %s AND mine.state <> 'expired')
    AND NOT EXISTS (SELECT 1 FROM ratings_rating AS said
        WHERE said.question_id IN ({questions}) AND said.item_id = projects_item.id AND said.rater_id = %s)
"""


def _open_ids(
    project: Project,
    lower: int,
    upper: int,
    *,
    size: int = AT_ONCE,
    descending: bool = False,
    new_to: tuple[Rater, list[int]] | None = None,
) -> list[int]:
    """The first (or last) ``size`` ids in (lower, upper] of items with a free place: one index probe a level.

    ``new_to`` (a rater and the ids of the project's questions) leaves out what the rater was asked or ever said
    anything about. Raw SQL because the ORM cannot join limited SELECTs on SQLite.
    """
    unseen, seen_by = "", []
    if new_to is not None:
        rater, questions = new_to
        unseen = _NEW_TO.format(questions=", ".join(["%s"] * len(questions)) or "NULL")
        seen_by = [rater.pk, *questions, rater.pk]
    probe = _PROBE.format(unseen=unseen, order="DESC" if descending else "ASC")
    found: list[int] = []
    for first in range(0, project.overlap, LEVELS_AT_ONCE):
        levels = range(first, min(first + LEVELS_AT_ONCE, project.overlap))
        parameters = [value for level in levels for value in (project.pk, level, lower, upper, *seen_by, size)]
        with connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join([probe] * len(levels)), parameters)
            found.extend(row[0] for row in cursor.fetchall())
    return sorted(found, reverse=descending)[:size]


def _take_first(rater: Rater, item_ids: list[int]) -> Item | None:
    """Open the first of the items that has a free place still, looked at under its lock."""
    left = list(item_ids)
    overlap = rater.project.overlap
    locked = Item.objects.select_for_update(no_key=True, skip_locked=_can_skip_locked())
    while left:
        item = locked.filter(pk__in=left, places_taken__lt=overlap).order_by("id").first()
        if item is None:
            return None
        taken = places.of_item(item.pk)
        if len(taken) < overlap:
            _open(rater, item, taken=len(taken))
            return item
        # More raters than the row said (it is kept exact below the overlap only, and the overlap was raised).
        Item.objects.filter(pk=item.pk).update(places_taken=len(taken))
        left.remove(item.pk)
    return None


def _wait_for_one(rater: Rater, item_ids: list[int]) -> Item | None:
    """The same, waiting for the lock of each item, which is given back before the next one is waited for."""
    overlap = rater.project.overlap
    for item_id in item_ids:
        with transaction.atomic():
            locked = Item.objects.select_for_update(no_key=True).filter(pk=item_id, places_taken__lt=overlap)
            item = locked.first()
            taken = places.of_item(item_id)
            if item is not None and len(taken) < overlap:
                _open(rater, item, taken=len(taken))
                return item
            transaction.set_rollback(True)
    return None
