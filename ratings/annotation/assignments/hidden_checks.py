"""Hidden checks: gold items and blind repeats among the items that a rater is assigned.

They look like all other items: same addresses, pages, states and figures. Their answers are check
answers (ratings.services.own_answers), and they take no slot of their item. Which of a rater's
items are checks is pseudo-random with a key that only this site knows, and the same each time it is
computed. A rater gets a gold item at most once: of a few at a random place, the one shown least
often. A rater gets a repeat of an item at most once, after as many of their own items and days as
the project says, never two in a row, and no item that they flagged or commented, whose rating has
changed since, or whose content has.
"""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone
from django.utils.crypto import salted_hmac

from core.db import bulk
from projects.models import Item, Rater
from ratings.models import Assignment, Rating
from ratings.services.rating_timestamps import ensure_aware
from ratings.services.slots import get_lease_time

from .candidates import ACTIVE_ITEM_SQL

Kind = Assignment.Kind

ROWS_PER_SIDE = 64  # gold answers, or earlier assignments, read on each side of a random start
GOLD_CANDIDATES = 16  # gold items, of which the one shown least often is selected

_LOCK_QUEUE_SQL = "SELECT last_closed_at FROM ratings_raterqueue WHERE rater_id = %s"
_CREATE_QUEUE_SQL = """
    INSERT INTO ratings_raterqueue (rater_id, last_item_id, n_assigned) VALUES (%s, 0, 0)
    ON CONFLICT DO NOTHING
    """
_LOCK_CLAUSE = " FOR NO KEY UPDATE"
_N_ASSIGNED_SQL = "SELECT n_assigned FROM ratings_raterqueue WHERE rater_id = %s"
_COUNT_ASSIGNED_SQL = (
    "UPDATE ratings_raterqueue SET n_assigned = n_assigned + 1 WHERE rater_id = %s"
)

_GOLD_BOUND_SQL = """
    (SELECT {end}(item_id) FROM projects_goldanswer WHERE question_id = q.id AND retired_at IS NULL)
    """
_GOLD_BOUNDS_SQL = f"""
    SELECT id, lowest, highest FROM (
        SELECT q.id,
            {_GOLD_BOUND_SQL.format(end="min")} AS lowest,
            {_GOLD_BOUND_SQL.format(end="max")} AS highest
        FROM projects_question q WHERE q.project_id = %s
    ) AS ends WHERE lowest IS NOT NULL ORDER BY id
    """
_GOLD_SIDE_SQL = """
    SELECT item_id FROM (
        SELECT item_id FROM projects_goldanswer
        WHERE question_id = %s AND retired_at IS NULL AND item_id {side} %s
        ORDER BY item_id LIMIT {looked_at}
    ) AS side
    """
_GOLD_SIDES_SQL = " UNION ALL ".join(
    _GOLD_SIDE_SQL.format(side=side, looked_at=ROWS_PER_SIDE) for side in (">=", "<")
)
# Gold items that are new to the rater, with the number of times each was shown.
_GOLD_CANDIDATES_SQL = f"""
    SELECT new.id, (
        SELECT count(*) FROM ratings_assignment shown
        WHERE shown.item_id = new.id AND shown.kind = 'gold'
    )
    FROM (
        SELECT i.id FROM ({_GOLD_SIDES_SQL}) AS gold
        JOIN projects_item i ON i.id = gold.item_id AND {ACTIVE_ITEM_SQL}
        WHERE NOT EXISTS (
            SELECT 1 FROM ratings_rating said
            WHERE said.item_id = i.id AND said.rater_id + 0 = %s
        ) AND NOT EXISTS (
            SELECT 1 FROM ratings_checkanswer said
            WHERE said.item_id = i.id AND said.rater_id + 0 = %s
        ) AND NOT EXISTS (
            SELECT 1 FROM ratings_assignment mine
            WHERE mine.item_id = i.id AND mine.rater_id = %s AND mine.state <> 'expired'
        )
        LIMIT {GOLD_CANDIDATES}
    ) AS new
    """
# The rater's submitted items by time; served by the index in ratings.models.assignment.
_DONE_SQL = """
    SELECT closed_at FROM ratings_assignment WHERE rater_id = %s AND state = 'done'
    ORDER BY closed_at {order} LIMIT 1 OFFSET %s
    """
_EARLIEST_DONE_SQL, _CUTOFF_DONE_SQL = _DONE_SQL.format(order="ASC"), _DONE_SQL.format(order="DESC")
_DONE_SIDE_SQL = """
    SELECT id, item_id FROM (
        SELECT id, item_id FROM ratings_assignment
        WHERE rater_id = %s AND state = 'done' AND kind = '' AND NOT flagged
            AND closed_at >= %s AND closed_at < %s
        ORDER BY closed_at LIMIT {looked_at}
    ) AS side
    """
_DONE_SIDES_SQL = " UNION ALL ".join([_DONE_SIDE_SQL.format(looked_at=ROWS_PER_SIDE)] * 2)
_OWN_RATING_CONDITION = "r.item_id = done.item_id AND r.rater_id + 0 = %s"
_REPEATABLE_SQL = f"""
    SELECT done.id, done.item_id FROM ({_DONE_SIDES_SQL}) AS done
    JOIN projects_item i ON i.id = done.item_id AND {ACTIVE_ITEM_SQL}
    WHERE EXISTS (SELECT 1 FROM ratings_rating r WHERE {_OWN_RATING_CONDITION})
        AND NOT EXISTS (
            SELECT 1 FROM ratings_rating r WHERE {_OWN_RATING_CONDITION} AND (
                r.code < 0 OR r.comment <> '' OR r.changed_at >= %s
                OR coalesce(r.item_version, 1) <> i.version
            )
        )
    """
_OPEN_REPEAT_SQL = """
    UPDATE ratings_assignment SET
        state = 'open',
        kind = 'repeat',
        created_at = %s,
        leased_until = %s,
        closed_at = NULL
    WHERE id = %s
    """
_OPEN_CHECK_SQL = """
    INSERT INTO ratings_assignment
        (item_id, rater_id, state, kind, created_at, leased_until, skip_reason, flagged)
    VALUES (%s, %s, 'open', %s, %s, %s, '', false)
    ON CONFLICT (item_id, rater_id) DO UPDATE SET
        state = 'open',
        kind = excluded.kind,
        created_at = excluded.created_at,
        leased_until = excluded.leased_until,
        closed_at = NULL,
        skip_reason = ''
    """


def build_queue_lock(rater: Rater) -> list[bulk.Statement]:
    """Return statements that create the rater's queue row if it is missing, and lock it."""
    return [(_CREATE_QUEUE_SQL, [rater.pk]), (_LOCK_QUEUE_SQL + get_lock_clause(), [rater.pk])]


def lock_queue(rater: Rater) -> None:
    """Lock the rater's queue row, which serializes the rater's requests and a lead's changes."""
    bulk.execute_statements(build_queue_lock(rater))


def get_lock_clause() -> str:
    """Return the clause that makes a SELECT lock its rows, empty where it is not supported."""
    return _LOCK_CLAUSE if connection.features.has_select_for_update else ""


class DueCheck(NamedTuple):
    """Kind of the check that is due, and the number of items assigned to the rater before it."""

    kind: str
    n_assigned: int


def get_due_check(rater: Rater) -> DueCheck | None:
    """Return the hidden check that is due as the rater's next item, or None.

    Must run in the transaction that holds the rater's queue row.
    """
    if not rater.project.gold_percent and not rater.project.repeat_percent:
        return None
    [[(n_assigned,)]] = bulk.execute_statements([(_N_ASSIGNED_SQL, [rater.pk])])
    kind = get_check_kind(rater, n_assigned)
    return DueCheck(kind, n_assigned) if kind else None


def get_check_kind(rater: Rater, n_assigned: int) -> str:
    """Return the kind of check due after ``n_assigned`` items of the rater; empty for none.

    Whether an item for such a check exists is not looked up.
    """
    kind = _draw_kind(rater, n_assigned)
    if kind == Kind.REPEAT and _draw_kind(rater, n_assigned - 1) == Kind.REPEAT:
        return Kind.ORDINARY
    return kind


def assign_check(rater: Rater, due_check: DueCheck) -> int | None:
    """Assign a check of the due kind to the rater; return its item's id, or None without one.

    Must run in the same transaction as ``get_due_check``.
    """
    assign = _assign_gold if due_check.kind == Kind.GOLD else _assign_repeat
    item_id = assign(rater, due_check.n_assigned)
    if item_id is not None:
        bulk.execute_statements([(_COUNT_ASSIGNED_SQL, [rater.pk])])
    return item_id


def open_check_assignment(rater: Rater, item_id: int, kind: str) -> None:
    """Open an assignment of the item that is a check of this kind, and so takes no slot.

    Must run in the transaction that holds the rater's queue row.
    """
    bulk.execute_statements(
        [(_OPEN_CHECK_SQL, [item_id, rater.pk, str(kind), *_build_new_lease_parameters()])]
    )


def _draw_kind(rater: Rater, n_assigned: int) -> str:
    """Return the kind (gold, repeat or ordinary) of the rater's item after ``n_assigned`` others.

    It is pseudo-random: the same for each call.
    """
    percentile = _draw_fraction(rater, n_assigned, "test") * 100
    if percentile < rater.project.gold_percent:
        return Kind.GOLD
    if percentile < rater.project.gold_percent + rater.project.repeat_percent:
        return Kind.REPEAT
    return Kind.ORDINARY


def reopen_check(rater: Rater, item: Item) -> bool | None:
    """Reopen a check that the rater skipped or let expire; return whether it is open now.

    None means that the item is no check of this rater. A check needs no slot, but is not reopened
    (False) where an ordinary item would have no slot left. Otherwise raters could recognize checks:
    only these could be answered although other raters have taken the item.
    """
    check = Assignment.objects.checks().filter(rater=rater, item=item).first()
    if check is None:
        return None
    if check.closed_at is not None and _was_taken_since(check, check.closed_at):
        return False
    now = timezone.now()
    Assignment.objects.filter(pk=check.pk).update(
        state=Assignment.State.OPEN,
        created_at=now,
        leased_until=now + get_lease_time(),
        closed_at=None,
        skip_reason="",
    )
    return True


def _was_taken_since(check: Assignment, released_at: datetime.datetime) -> bool:
    """Return whether other raters have taken the item's last slot since the check was released.

    If all slots of the item were taken before, it is treated as if one slot had been left.
    """
    taken_at: dict[int, datetime.datetime] = {}
    assignments = Assignment.objects.filter(
        item=check.item_id, state__in=[Assignment.State.OPEN, Assignment.State.DONE]
    )
    ratings = Rating.objects.current().filter(item=check.item_id)
    for rater_id, moment in [
        *assignments.exclude(rater=check.rater_id).values_list("rater", "created_at"),
        *ratings.exclude(rater=check.rater_id).values_list("rater", "rated_at"),
    ]:
        taken_at[rater_id] = min(moment, taken_at.get(rater_id, moment))
    n_since = sum(moment > released_at for moment in taken_at.values())
    requested = check.rater.project.overlap + check.item.extra_slots
    return n_since >= max(1, requested - (len(taken_at) - n_since))


def _draw_fraction(rater: Rater, n_assigned: int, purpose: str) -> float:
    """Return a pseudo-random number in [0, 1), determined by the arguments and a secret key."""
    seed = f"{rater.pk}:{n_assigned}:{purpose}"
    digest = salted_hmac(
        "ratings.annotation.assignments.hidden_checks", seed, algorithm="sha256"
    ).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _build_new_lease_parameters() -> list[Any]:
    """Return the start and the end of a new lease, adapted for the database."""
    adapt_time = connection.ops.adapt_datetimefield_value
    now = timezone.now()
    return [adapt_time(now), adapt_time(now + get_lease_time())]


def _assign_gold(rater: Rater, n_assigned: int) -> int | None:
    """Assign a pseudo-random gold item of a question; return its id, or None if there is none."""
    [questions] = bulk.execute_statements([(_GOLD_BOUNDS_SQL, [rater.project_id])])
    if not questions:
        return None
    question_index = _draw_fraction(rater, n_assigned, "question") * len(questions)
    question_id, lowest, highest = questions[int(question_index)]
    start = lowest + int(_draw_fraction(rater, n_assigned, "start") * (highest - lowest + 1))
    parameters = [question_id, start, question_id, start, *[rater.pk] * 3]
    [rows] = bulk.execute_statements([(_GOLD_CANDIDATES_SQL, parameters)])
    if not rows:
        return None
    item_id = min(rows, key=lambda row: row[1])[0]
    open_check_assignment(rater, item_id, Kind.GOLD)
    return item_id


def _assign_repeat(rater: Rater, n_assigned: int) -> int | None:
    """Open the assignment of an item again that the rater answered long enough ago.

    Returns the item's id, or None if there is no such item.
    """
    project = rater.project
    queries = [
        (_EARLIEST_DONE_SQL, [rater.pk, 0]),
        (_CUTOFF_DONE_SQL, [rater.pk, project.repeat_after_items - 1]),
    ]
    earliest_rows, cutoff_rows = bulk.execute_statements(queries)
    if not cutoff_rows:
        return None
    earliest_time = ensure_aware(earliest_rows[0][0])
    days_ago = timezone.now() - datetime.timedelta(days=project.repeat_after_days)
    cutoff = min(ensure_aware(cutoff_rows[0][0]), days_ago)
    if earliest_time >= cutoff:
        return None
    adapt_time = connection.ops.adapt_datetimefield_value
    start = earliest_time + (cutoff - earliest_time) * _draw_fraction(rater, n_assigned, "start")
    bounds = [adapt_time(time) for time in (earliest_time, start, cutoff)]
    side_values = [rater.pk, bounds[1], bounds[2], rater.pk, bounds[0], bounds[1]]
    [rows] = bulk.execute_statements(
        [(_REPEATABLE_SQL, [*side_values, rater.pk, rater.pk, bounds[2]])]
    )
    if not rows:
        return None
    assignment_id, item_id = rows[int(_draw_fraction(rater, n_assigned, "repeat") * len(rows))]
    bulk.execute_statements([(_OPEN_REPEAT_SQL, [*_build_new_lease_parameters(), assignment_id])])
    return item_id
