"""Who is asked next: every item gets as many raters as its project's ``overlap`` and its own
``extra_places`` say, never one more through here.

A place of an item is taken by an open assignment and stays taken by the rating that follows
(ratings.services.slots). It is handed out under the item's lock, after counting the rows that
take places, so no two raters get the last one. Locks are taken in one order everywhere: the rater's
desk, assignments, ratings, items.

Plain SQL, several statements a journey: an annotator waits for this between two items, and the ORM
takes longer to build its queries than the database to answer them.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from core.db import bulk
from core.db.row_mapper import Row
from projects.models import Item, QueueOrder, Rater
from ratings.models import Assignment
from ratings.services import exam_gate, slots
from ratings.services.days import aware

from . import candidates, exams, hidden_checks
from .hidden_checks import lease_time, locking, locking_desk

State = Assignment.State

CANDIDATES = 16  # items of a search: when others hold the first, there is a second
EXPIRED_FREED_AT_ONCE = 20  # assignments

# What a desk shows of an item.
ITEM = Row(Item, "id", "project_id", "key", "body", "version")

# What the rater has open, with the item and how many of the project's questions they have answered
# about it. What was withdrawn, or shows nothing any more, is not put before them again.
_OPEN = f"""
    SELECT a.id, a.leased_until, a.created_at, {ITEM.columns("i")},
        (
            SELECT count(*) FROM ratings_rating said
            WHERE said.item_id = a.item_id AND said.rater_id + 0 = a.rater_id AND said.code >= 0
                AND (a.why = '' OR said.changed_at >= a.created_at)
        ),
        (SELECT count(*) FROM projects_question q WHERE q.project_id = i.project_id)
    FROM ratings_assignment a JOIN projects_item i ON i.id = a.item_id
    WHERE a.rater_id = %s AND a.state = 'open' AND a.why <> 'exam'
        AND i.has_content AND i.withdrawn_at IS NULL
    """
_OVER = "SELECT 1 FROM ratings_assignment WHERE state = 'open' AND leased_until <= %s LIMIT 1"
_DESK = "SELECT position, handed_out FROM ratings_desk WHERE rater_id = %s"
_LOCK_ITEM = "SELECT 1 FROM projects_item WHERE id = %s"
_LOCK = " FOR NO KEY UPDATE"

# To be sent with the item's lock in hand: then it sees all who take a place.
_TAKE = f"""
    INSERT INTO ratings_assignment
        (item_id, rater_id, state, why, planned, created_at, leased_until, skip_reason, flagged)
    SELECT %s, %s, 'open', '', %s OR others.number >= %s, %s, %s, '', false
    FROM (
        SELECT count(*) AS number FROM ({slots.TAKERS_OF_ONE}) AS taker WHERE rater_id <> %s
    ) AS others
    WHERE others.number < %s + (SELECT extra_places FROM projects_item WHERE id = %s)
    ON CONFLICT (item_id, rater_id) DO UPDATE SET
        state = 'open',
        why = '',
        planned = excluded.planned,
        created_at = excluded.created_at,
        leased_until = excluded.leased_until,
        closed_at = NULL,
        skip_reason = ''
    """
_TAKEN = "SELECT 1 FROM ratings_assignment WHERE item_id = %s AND rater_id = %s AND state = 'open'"
_MOVE_DESK = (
    "UPDATE ratings_desk SET position = %s, handed_out = handed_out + 1"
    f" WHERE rater_id = %s AND EXISTS ({_TAKEN})"
)
_USE_TURN = f"UPDATE projects_item SET turn = NULL WHERE id = %s AND EXISTS ({_TAKEN})"
_ITEM = f"SELECT {ITEM.columns('i')} FROM projects_item i WHERE i.id = %s AND EXISTS ({_TAKEN})"


def next_item(rater: Rater, *, besides: int | None = None) -> Item | None:
    """The item to put before the rater: the one they have open, else a new one. None when nothing
    is left for them.

    ``besides`` is the id of an item that they have before them already: then the answer is the one
    after it. Who has an exam to pass is asked its items alone, one by one.
    """
    if rater.paused or rater.project.archived_at is not None:
        return None
    has_open = (_OPEN, [rater.pk])
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    asking_exam = exam_gate.asking(rater.pk)
    mine, [(exam_of,)], over, desk, *bounds = bulk.several(
        [has_open, asking_exam, (_OVER, [now]), (_DESK, [rater.pk]), *candidates.ask_bounds(rater)]
    )
    if exam_of is not None:
        found = exams.next_item(rater, exam_of, besides=besides)
    else:
        found = _open_on_desk(mine, besides)
    if found is not None or exam_of is not None:
        return found
    if over:  # whoever looks for an item frees what others left lying
        release_expired()
    # Read without a lock: only where the search begins hangs on it.
    position, handed_out = desk[0] if desk else (0, 0)
    ranges = (
        candidates.random_ranges(rater, handed_out, bounds[0])
        if bounds
        else candidates.ranges([position])
    )
    by_plan = candidates.by_plan(rater, handed_out)
    for waiting in _ways_to_take():
        with transaction.atomic():
            *_, mine = bulk.several([*locking_desk(rater), has_open])
            # A second window may have been served while this one waited.
            if (found := _open_on_desk(mine, besides)) is not None:
                return found
            # What somebody holds for a moment is passed by: what is planned is not waited for.
            planned = by_plan and not waiting
            if (found := _hand_out_chosen(rater, ranges, planned=planned)) is not None:
                return found
            found, some = _hand_out(rater, ranges, waiting=waiting)
        if found is not None or not some:
            return found
    return None


def take_place(rater: Rater, item: Item) -> bool:
    """A place for a rater who comes back to an item whose place they gave up or lost. False when
    none is left."""
    with transaction.atomic():
        if hidden_checks.reopen(rater, item):
            return True
        bulk.several([*locking_desk(rater), (_LOCK_ITEM + locking(), [item.pk])])
        mine = Assignment.objects.filter(rater=rater, item=item, planned=True)
        return _open(rater, item.pk, planned=mine.exists()) is not None


def release_expired() -> None:
    """Free the places of assignments whose time is over, a few at a time."""
    now = timezone.now()
    over = Assignment.objects.filter(state=State.OPEN, leased_until__lte=now).order_by(
        "leased_until"
    )
    with transaction.atomic():
        rows = list(over.select_for_update(skip_locked=_can_skip_locked())[:EXPIRED_FREED_AT_ONCE])
        Assignment.objects.filter(pk__in=[row.pk for row in rows]).update(
            state=State.EXPIRED, closed_at=now
        )
        slots.recount({row.item_id for row in rows})


def _can_skip_locked() -> bool:
    return connection.features.has_select_for_update_skip_locked


# --- what is open already


def _open_on_desk(rows: Sequence[tuple[Any, ...]], besides: int | None) -> Item | None:
    """The item that the rater has had open longest; its time starts anew when half of it has
    gone."""
    for pk, leased_until, created_at, *item, answered, questions in sorted(rows):
        assignment = Assignment.objects.filter(pk=pk, state=State.OPEN)
        if item[0] == besides:
            continue
        if answered and answered >= questions:  # meanwhile, by the API or a file
            # Then it tests nobody any more: what stands is a rating.
            assignment.update(state=State.DONE, why="", closed_at=timezone.now())
            continue
        _renew(assignment, aware(leased_until), aware(created_at))
        return ITEM.made(item)
    return None


def _renew(assignment: Any, leased_until: datetime.datetime, created_at: datetime.datetime) -> None:
    now = timezone.now()
    if leased_until - now > lease_time() / 2:
        return
    if leased_until < now:
        created_at = now  # they come back after a break: it is given to them anew
    assignment.update(leased_until=now + lease_time(), created_at=created_at)


# --- a new one


def _ways_to_take() -> tuple[bool, ...]:
    """Items that somebody else holds locked for a moment are passed by; only when there is no
    other, they are waited for, by a transaction that holds no item: else two who wait may wait for
    each other."""
    return (False, True) if _can_skip_locked() else (False,)


def _hand_out_chosen(
    rater: Rater, ranges: Sequence[tuple[int, int]], *, planned: bool
) -> Item | None:
    """A test, or an item that is planned, where it is the turn of either. Who is done is asked no
    test: alone it would stand out."""
    due = hidden_checks.due(rater)
    if due is not None and _any_left(rater, ranges):
        test = hidden_checks.give(rater, due)
        if test is not None:
            [[row]] = bulk.several([(_ITEM, [test, test, rater.pk])])
            return ITEM.made(row)
    return _hand_out_planned(rater) if planned else None


def _any_left(rater: Rater, ranges: Sequence[tuple[int, int]]) -> bool:
    finding = candidates.finding(rater.project.overlap, 1, "")
    return any(_pick(rater, finding, *ends)[0] is not None for ends in ranges)


def _hand_out_planned(rater: Rater) -> Item | None:
    """The first of the planned items with a free place that is new to the rater and that nobody
    else holds locked."""
    finding = candidates.finding_planned(rater.project.overlap, CANDIDATES, _skipping_locked())
    _last, picked = _pick(rater, finding, 0, 0)
    if picked is None:
        return None
    # Once a plan: what this rater says may make another rating needless.
    used = (_USE_TURN, [picked, picked, rater.pk])
    for_doubt = rater.project.queue_order == QueueOrder.LABELS
    return _open(rater, picked, planned=for_doubt, then=[_moving_desk(rater, picked), used])


def _hand_out(
    rater: Rater, ranges: Sequence[tuple[int, int]], *, waiting: bool
) -> tuple[Item | None, bool]:
    """The first item with a free place that is new to the rater, looked for in each range (lower,
    upper] of ids, and whether there were any that seemed so."""
    some = False
    size, lock = (1, _LOCK) if waiting else (CANDIDATES, _skipping_locked())
    finding = candidates.finding(rater.project.overlap, size, lock)
    for lower, upper in ranges:
        last: int | None = lower
        while last is not None:
            with transaction.atomic(savepoint=waiting):
                last, picked = _pick(rater, finding, last, upper)
                some = some or last is not None
                if picked is not None:
                    item = _open(rater, picked, then=[_moving_desk(rater, picked)])
                    if item is not None:
                        return item, some
                    # More raters than its row said (it is kept exact below the overlap only, and
                    # that was raised).
                    last = picked
                if waiting:
                    # the item's lock is given back before the next one is waited for
                    transaction.set_rollback(True)
    return None, some


def _open(
    rater: Rater, item_id: int, *, planned: bool = False, then: Sequence[bulk.Statement] = ()
) -> Item | None:
    """Take a place of the item, whose lock is held; None when others have them all. Its row is
    right afterwards. A place beyond the overlap is there for what others had said (escalation, a
    lead who asks for more): it counts as planned."""
    moment = connection.ops.adapt_datetimefield_value
    now = timezone.now()
    times = [moment(now), moment(now + lease_time())]
    others = [item_id, item_id, rater.pk]
    overlap = rater.project.overlap
    taking = [item_id, rater.pk, planned, overlap, *times, *others, overlap, item_id]
    statements = [
        (_TAKE, taking),
        slots.recounting_locked(item_id),
        *then,
        (_ITEM, [item_id, item_id, rater.pk]),
    ]
    taken = bulk.several(statements)[-1]
    return ITEM.made(taken[0]) if taken else None


def _pick(rater: Rater, finding: str, lower: int, upper: int) -> tuple[int | None, int | None]:
    """Of the open items in (lower, upper] that are new to the rater, the first few: the last one's
    id, and the first one's that the statement got locked, if any."""
    [[found]] = bulk.several([(finding, [rater.project_id, lower, upper, rater.pk])])
    return found


def _skipping_locked() -> str:
    return f"{_LOCK} SKIP LOCKED" if _can_skip_locked() else ""


def _moving_desk(rater: Rater, item_id: int) -> bulk.Statement:
    """The search goes on behind the item, where the rater has it now."""
    return _MOVE_DESK, [item_id, rater.pk, item_id, rater.pk]
