"""Queue: assign the next item to a rater, and release expired assignments.

Every item gets as many raters as its project's ``overlap`` and its own ``extra_slots`` say, never
one more through this module.

An open assignment takes a slot of the item, and the rating that follows keeps it
(ratings.services.slots). A slot is assigned under the item's lock, after counting the rows that
take slots, so no two raters get the last one. Locks are always taken in this order: the rater's
queue row, assignments, ratings, items.

Plain SQL, several statements per round trip: an annotator waits for this between two items, and the
ORM takes longer to build its queries than the database to answer them.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from core.db import bulk
from core.db.prepared_query import RowMapper
from projects.models import Item, QueueOrder, Rater
from ratings.models import Assignment
from ratings.services import permissions, slots
from ratings.services.rating_timestamps import ensure_aware
from ratings.services.slots import get_lease_time

from . import candidates, exams, hidden_checks
from .hidden_checks import build_queue_lock, get_lock_clause

State = Assignment.State

CANDIDATES = 16  # items of a search, so that there is another one when the first is locked
EXPIRED_PER_RUN = 20  # assignments

# Columns of an item that the annotation page shows.
ITEM_ROW = RowMapper(Item, "id", "project_id", "key", "body", "version")

# The rater's open assignments, with the item and the number of the project's questions that are
# already answered for it: by ratings, and by check answers. Withdrawn items and items without
# content are left out.
_OPEN_ASSIGNMENTS_SQL = f"""
    SELECT a.id, a.leased_until, a.created_at, {ITEM_ROW.build_select_list("i")},
        (
            SELECT count(*) FROM ratings_rating said
            WHERE said.item_id = a.item_id AND said.rater_id + 0 = a.rater_id AND said.code >= 0
                AND (a.kind = '' OR said.changed_at >= a.created_at)
        ),
        (
            SELECT count(*) FROM ratings_checkanswer said
            WHERE a.kind <> '' AND said.item_id = a.item_id AND said.rater_id + 0 = a.rater_id
                AND said.is_current AND said.code >= 0
        ),
        (SELECT count(*) FROM projects_question q WHERE q.project_id = i.project_id)
    FROM ratings_assignment a JOIN projects_item i ON i.id = a.item_id
    WHERE a.rater_id = %s AND a.state = 'open' AND a.kind <> 'exam'
        AND i.has_content AND i.withdrawn_at IS NULL
    """
_EXPIRED_EXISTS_SQL = (
    "SELECT 1 FROM ratings_assignment WHERE state = 'open' AND leased_until <= %s LIMIT 1"
)
_POSITION_SQL = "SELECT last_item_id, n_assigned FROM ratings_raterqueue WHERE rater_id = %s"
_LOCK_ITEM_SQL = "SELECT 1 FROM projects_item WHERE id = %s"
_LOCK_CLAUSE = " FOR NO KEY UPDATE"

# Must be sent while the item's lock is held, so that it sees all raters who take a slot.
_CLAIM_SLOT_SQL = f"""
    INSERT INTO ratings_assignment
        (item_id, rater_id, state, kind, planned, created_at, leased_until, skip_reason, flagged)
    SELECT %s, %s, 'open', '', %s OR others.number >= %s, %s, %s, '', false
    FROM (
        SELECT count(*) AS number FROM ({slots.SLOT_TAKERS_SQL}) AS taker WHERE rater_id <> %s
    ) AS others
    WHERE others.number < %s + (SELECT extra_slots FROM projects_item WHERE id = %s)
    ON CONFLICT (item_id, rater_id) DO UPDATE SET
        state = 'open',
        kind = '',
        planned = excluded.planned,
        created_at = excluded.created_at,
        leased_until = excluded.leased_until,
        closed_at = NULL,
        skip_reason = ''
    """
_IS_OPEN_SQL = (
    "SELECT 1 FROM ratings_assignment WHERE item_id = %s AND rater_id = %s AND state = 'open'"
)
_MOVE_POSITION_SQL = (
    "UPDATE ratings_raterqueue SET last_item_id = %s, n_assigned = n_assigned + 1"
    f" WHERE rater_id = %s AND EXISTS ({_IS_OPEN_SQL})"
)
_USE_PLANNED_SQL = (
    f"UPDATE projects_item SET planned_position = NULL WHERE id = %s AND EXISTS ({_IS_OPEN_SQL})"
)
_ASSIGNED_ITEM_SQL = (
    f"SELECT {ITEM_ROW.build_select_list('i')} FROM projects_item i"
    f" WHERE i.id = %s AND EXISTS ({_IS_OPEN_SQL})"
)


def get_next_item(rater: Rater, *, exclude_item_ids: Collection[int] = ()) -> Item | None:
    """Return the rater's open item, else a newly assigned one; None when no item is left.

    ``exclude_item_ids`` are items that the rater already has in the browser; the result is none of
    them. A rater who has to pass an exam gets only items of the exam, one at a time. None as well
    for a paused rater and in an archived project.
    """
    if rater.paused or rater.project.archived_at is not None:
        return None
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    statements = [
        (_OPEN_ASSIGNMENTS_SQL, [rater.pk]),
        permissions.build_due_exam_query(rater.pk),
        (_EXPIRED_EXISTS_SQL, [now]),
        (_POSITION_SQL, [rater.pk]),
        *candidates.build_id_bounds_query(rater),
    ]
    open_rows, [(exam_question_id,)], expired_rows, position_rows, *bounds = (
        bulk.execute_statements(statements)
    )
    if exam_question_id is not None:
        item = exams.get_next_exam_item(rater, exam_question_id, exclude_item_ids=exclude_item_ids)
    else:
        item = _resume_open_item(open_rows, exclude_item_ids)
    if item is not None or exam_question_id is not None:
        return item
    if expired_rows:  # each request for an item frees the slots of expired assignments
        release_expired_assignments()
    # Read without a lock: it only determines where the search starts.
    position, n_assigned = position_rows[0] if position_rows else (0, 0)
    ranges = (
        candidates.draw_random_ranges(rater, n_assigned, bounds[0])
        if bounds
        else candidates.build_id_ranges([position])
    )
    use_plan = candidates.should_use_plan(rater, n_assigned)
    return _assign_item(rater, ranges, exclude_item_ids, use_plan=use_plan)


def _assign_item(
    rater: Rater, ranges: Any, exclude_item_ids: Collection[int], *, use_plan: bool
) -> Item | None:
    """Assign and return a hidden check, a planned item, or an item of the ranges of ids.

    None if no item could be assigned.
    """
    for wait_for_locks in _get_lock_strategies():
        with transaction.atomic():
            *_, open_rows = bulk.execute_statements(
                [*build_queue_lock(rater), (_OPEN_ASSIGNMENTS_SQL, [rater.pk])]
            )
            # Another window of the rater may have got an item while this request waited.
            if (item := _resume_open_item(open_rows, exclude_item_ids)) is not None:
                return item
            # Planned items are only tried without waiting: locked ones are skipped.
            planned = use_plan and not wait_for_locks
            if (item := _assign_check_or_planned(rater, ranges, planned=planned)) is not None:
                return item
            item, has_candidates = _assign_candidate(rater, ranges, wait_for_locks=wait_for_locks)
        if item is not None or not has_candidates:
            return item
    return None


def reclaim_slot(rater: Rater, item: Item) -> bool:
    """Claim a slot again, for a rater who returns to an item that was skipped or expired.

    Returns False when no slot is left.
    """
    with transaction.atomic():
        if (is_reopened := hidden_checks.reopen_check(rater, item)) is not None:
            return is_reopened
        bulk.execute_statements(
            [*build_queue_lock(rater), (_LOCK_ITEM_SQL + get_lock_clause(), [item.pk])]
        )
        planned_assignments = Assignment.objects.filter(rater=rater, item=item, planned=True)
        return _claim_item(rater, item.pk, planned=planned_assignments.exists()) is not None


def release_expired_assignments() -> None:
    """Expire up to EXPIRED_PER_RUN assignments whose lease has ended, and free their slots."""
    now = timezone.now()
    expired = Assignment.objects.filter(state=State.OPEN, leased_until__lte=now).order_by(
        "leased_until"
    )
    with transaction.atomic():
        rows = list(expired.select_for_update(skip_locked=_can_skip_locked())[:EXPIRED_PER_RUN])
        Assignment.objects.filter(pk__in=[row.pk for row in rows]).update(
            state=State.EXPIRED, closed_at=now
        )
        slots.recount_slots({row.item_id for row in rows})


def _can_skip_locked() -> bool:
    return connection.features.has_select_for_update_skip_locked


# --- open assignments


def _resume_open_item(
    rows: Sequence[tuple[Any, ...]], exclude_item_ids: Collection[int]
) -> Item | None:
    """Return the item of the oldest open assignment that is not excluded; None without one.

    Its lease is extended if less than half of it is left. Assignments whose item was meanwhile
    answered by the API or a file are closed.
    """
    for (
        assignment_id,
        leased_until,
        created_at,
        *item_values,
        n_rated,
        n_checked,
        n_questions,
    ) in sorted(rows):
        assignment = Assignment.objects.filter(pk=assignment_id, state=State.OPEN)
        if item_values[0] in exclude_item_ids:
            continue
        if n_checked and n_checked >= n_questions:  # meanwhile, by the API
            assignment.update(state=State.DONE, closed_at=timezone.now())
            continue
        if n_rated and n_rated >= n_questions:  # meanwhile, by the API or a file
            # The item is no check any more: a lead's file has a rating of it.
            assignment.update(state=State.DONE, kind="", closed_at=timezone.now())
            continue
        _extend_lease(assignment, ensure_aware(leased_until), ensure_aware(created_at))
        return ITEM_ROW.build(item_values)
    return None


def _extend_lease(
    assignment: Any, leased_until: datetime.datetime, created_at: datetime.datetime
) -> None:
    now = timezone.now()
    if leased_until - now > get_lease_time() / 2:
        return
    if leased_until < now:
        created_at = now  # the rater returns after a break: it counts as assigned now
    assignment.update(leased_until=now + get_lease_time(), created_at=created_at)


# --- new assignments


def _get_lock_strategies() -> tuple[bool, ...]:
    """Return, for each attempt to assign an item, whether it waits for locked items.

    The first attempt skips items that another transaction has locked. Only if it finds no other
    item does the second wait for them; it holds no other item then, because two transactions that
    wait for each other's items would deadlock. A database that cannot skip locked rows has a single
    attempt.
    """
    return (False, True) if _can_skip_locked() else (False,)


def _assign_check_or_planned(
    rater: Rater, ranges: Sequence[tuple[int, int]], *, planned: bool
) -> Item | None:
    """Assign and return a check or, if ``planned``, a planned item; None if neither is available.

    A rater without any item left gets no check, because a check alone would be recognizable.
    """
    due_check = hidden_checks.get_due_check(rater)
    if due_check is not None and _has_candidates(rater, ranges):
        check_item_id = hidden_checks.assign_check(rater, due_check)
        if check_item_id is not None:
            [[row]] = bulk.execute_statements(
                [(_ASSIGNED_ITEM_SQL, [check_item_id, check_item_id, rater.pk])]
            )
            return ITEM_ROW.build(row)
    return _assign_planned(rater) if planned else None


def _has_candidates(rater: Rater, ranges: Sequence[tuple[int, int]]) -> bool:
    sql = candidates.build_search_sql(rater.project.overlap, 1, "")
    return any(_find_candidate(rater, sql, *bounds)[0] is not None for bounds in ranges)


def _assign_planned(rater: Rater) -> Item | None:
    """Assign and return the first unlocked planned item that has a slot and is new to the rater.

    None if there is no such item.
    """
    sql = candidates.build_planned_search_sql(
        rater.project.overlap, CANDIDATES, _get_skip_locked_clause()
    )
    _last, item_id = _find_candidate(rater, sql, 0, 0)
    if item_id is None:
        return None
    # Each planned item is used once per plan: this answer may make another rating unnecessary.
    use_planned = (_USE_PLANNED_SQL, [item_id, item_id, rater.pk])
    is_planned = rater.project.queue_order == QueueOrder.PLANNED_LABELS
    return _claim_item(
        rater,
        item_id,
        planned=is_planned,
        follow_up=[_build_position_update(rater, item_id), use_planned],
    )


def _assign_candidate(
    rater: Rater, ranges: Sequence[tuple[int, int]], *, wait_for_locks: bool
) -> tuple[Item | None, bool]:
    """Assign the first item with a free slot that is new to the rater, from ranges of item ids.

    A range (lower, upper] excludes its lower end. Returns the item or None, and whether the ranges
    had any such item, even if it was locked.
    """
    has_candidates = False
    size, lock = (1, _LOCK_CLAUSE) if wait_for_locks else (CANDIDATES, _get_skip_locked_clause())
    sql = candidates.build_search_sql(rater.project.overlap, size, lock)
    for lower, upper in ranges:
        last_id: int | None = lower
        while last_id is not None:
            with transaction.atomic(savepoint=wait_for_locks):
                last_id, item_id = _find_candidate(rater, sql, last_id, upper)
                has_candidates = has_candidates or last_id is not None
                if item_id is not None:
                    item = _claim_item(
                        rater, item_id, follow_up=[_build_position_update(rater, item_id)]
                    )
                    if item is not None:
                        return item, has_candidates
                    # The item has more raters than its row said (the number is exact below the
                    # overlap only, and the overlap was raised).
                    last_id = item_id
                if wait_for_locks:
                    # release the item's lock before waiting for the next one
                    transaction.set_rollback(True)
    return None, has_candidates


def _claim_item(
    rater: Rater, item_id: int, *, planned: bool = False, follow_up: Sequence[bulk.Statement] = ()
) -> Item | None:
    """Claim a slot of the locked item and return the item; None if others have taken all slots.

    ``follow_up`` statements are sent after the claim. The item's ``slots_taken`` is updated. A slot
    beyond the overlap exists because of other raters' answers (escalation, or a lead who requests
    more ratings), so its assignment counts as planned.
    """
    adapt_time = connection.ops.adapt_datetimefield_value
    now = timezone.now()
    times = [adapt_time(now), adapt_time(now + get_lease_time())]
    other_raters = [item_id, item_id, rater.pk]
    overlap = rater.project.overlap
    claim_values = [item_id, rater.pk, planned, overlap, *times, *other_raters, overlap, item_id]
    statements = [
        (_CLAIM_SLOT_SQL, claim_values),
        slots.build_locked_recount_statement(item_id),
        *follow_up,
        (_ASSIGNED_ITEM_SQL, [item_id, item_id, rater.pk]),
    ]
    item_rows = bulk.execute_statements(statements)[-1]
    return ITEM_ROW.build(item_rows[0]) if item_rows else None


def _find_candidate(
    rater: Rater, sql: str, lower: int, upper: int
) -> tuple[int | None, int | None]:
    """Run a query built by `candidates` for item ids in (lower, upper].

    Returns the id of the last item found and of the first that could be locked, each None without
    one.
    """
    [[candidate]] = bulk.execute_statements([(sql, [rater.project_id, lower, upper, rater.pk])])
    return candidate


def _get_skip_locked_clause() -> str:
    return f"{_LOCK_CLAUSE} SKIP LOCKED" if _can_skip_locked() else ""


def _build_position_update(rater: Rater, item_id: int) -> bulk.Statement:
    """Return the statement that moves the queue position to the item if the rater has it open."""
    return _MOVE_POSITION_SQL, [item_id, rater.pk, item_id, rater.pk]
