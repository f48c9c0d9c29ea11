"""Slots of items: the numbers of raters per item, stored so that the queue need not count.

A rater takes a slot by rating the item (any question, by any route) or by having an open assignment
of it, unless the assignment is a check (ratings.annotation.assignments.hidden_checks). The rows are
the truth; ``Item.slots_taken`` repeats it. Code that changes such a row calls ``recount_slots`` in
the same transaction.

More ratings of an item may be requested than the project's overlap (``Item.extra_slots``). These
are subtracted from its ``slots_taken``, so that every item is open while that number is below the
overlap, whatever its extra slots.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from core.db import bulk
from ratings.models import NO_CODE

from .judgement import Judgement

# Up to this many items are recounted by one (prepared) statement each.
MAX_ITEMS_COUNTED_SINGLY = 32
ITEMS_PER_STATEMENT = 5_000
NO_SLOT_LIMIT = 2**31 - 1

# UNION counts a rater who is in both tables once.
_TAKERS_TEMPLATE = """
    SELECT {columns} FROM ratings_rating WHERE item_id {of_item} AND code >= 0
    UNION SELECT {columns} FROM ratings_assignment
        WHERE item_id {of_item} AND state = 'open' AND kind = ''
    """
# The raters who take a slot of an item (its id twice as parameter). Valid while the item's lock is
# held. "+ 0" keeps PostgreSQL from reading all ratings in rater order when it believes the table
# to be empty.
SLOT_TAKERS_SQL = _TAKERS_TEMPLATE.format(columns="rater_id + 0 AS rater_id", of_item="= %s")
_WHERE_LISTED = "WHERE id = ANY(%s::bigint[]) AND slots_taken < %s"
_LOCK_LISTED_SQL = f"SELECT 1 FROM projects_item {_WHERE_LISTED} ORDER BY id FOR NO KEY UPDATE"
# An item that was above ``below`` when the others were locked and no longer is, is included only
# if its lock is free: waiting for it now would break the lock order. The transaction that holds it
# recounts it, or the queue does, which checks before it assigns an item.
_STILL_LISTED_SQL = f"SELECT id FROM projects_item {_WHERE_LISTED} FOR NO KEY UPDATE SKIP LOCKED"
# Each table is queried once for all items, never once per item: PostgreSQL plans with its latest
# statistics. If these say that the table is empty (analyzed before the first commit), it may read
# all ratings in each query.
_TAKERS_OF_LISTED_SQL = _TAKERS_TEMPLATE.format(
    columns="item_id, rater_id", of_item="= ANY(%s::bigint[])"
)
_RECOUNT_LISTED_SQL = f"""
    UPDATE projects_item SET slots_taken = GREATEST(counted.number - extra_slots, 0)
    FROM (
        SELECT chosen.id, count(taker.rater_id) AS number
        FROM unnest(%s::bigint[]) AS chosen (id)
        LEFT JOIN ({_TAKERS_OF_LISTED_SQL}) AS taker ON taker.item_id = chosen.id
        GROUP BY chosen.id
    ) AS counted
    WHERE projects_item.id = counted.id AND projects_item.id = ANY(ARRAY({_STILL_LISTED_SQL}))
    """
_TAKERS_OF_EACH_SQL = _TAKERS_TEMPLATE.format(columns="rater_id", of_item="= projects_item.id")
_RECOUNT_LISTED_SQLITE = f"""
    UPDATE projects_item
    SET slots_taken = (SELECT max(count(*) - extra_slots, 0) FROM ({_TAKERS_OF_EACH_SQL}) AS takers)
    WHERE id IN (SELECT value FROM json_each(%s)) AND slots_taken < %s
    """
# The statement for one item takes little more than half of the time; several of them in ascending
# order, each with its lock, keep the lock order as well.
_WHERE_ONE = "WHERE id = %s AND slots_taken < %s"
_LOCK_ONE_SQL = f"SELECT 1 FROM projects_item {_WHERE_ONE} FOR NO KEY UPDATE"
_RECOUNT_ONE_SQL = f"""
    UPDATE projects_item
    SET slots_taken = (
        SELECT CASE WHEN number > extra_slots THEN number - extra_slots ELSE 0 END
        FROM (SELECT count(*) AS number FROM ({SLOT_TAKERS_SQL}) AS takers) AS counted
    ) {_WHERE_ONE}
    """


def recount_slots(item_ids: Collection[int], *, below: int = NO_SLOT_LIMIT) -> None:
    """Update ``slots_taken`` of the items from assignments and ratings.

    ``below`` leaves out items with this many slots taken or more: a change that only adds raters
    cannot open them again.

    The items are locked first, in one order, and counted by a second statement: on PostgreSQL a
    statement sees what was committed when it began, and only one that begins with the lock held
    sees the writes of the previous holder.
    """
    bulk.execute_statements(build_recount_statements(item_ids, below=below))


def build_recount_statements(
    item_ids: Collection[int], *, below: int = NO_SLOT_LIMIT
) -> list[bulk.Statement]:
    """Return the statements of ``recount_slots``; they must follow those that change the rows."""
    ids = sorted(item_ids)
    statements: list[bulk.Statement] = []
    if len(ids) <= MAX_ITEMS_COUNTED_SINGLY:
        for item_id in ids:
            if connection.vendor == "postgresql":
                statements.append((_LOCK_ONE_SQL, [item_id, below]))
            statements.append((_RECOUNT_ONE_SQL, [item_id, item_id, item_id, below]))
        return statements
    for start in range(0, len(ids), ITEMS_PER_STATEMENT):
        chunk = ids[start : start + ITEMS_PER_STATEMENT]
        if connection.vendor == "postgresql":
            statements += [
                (_LOCK_LISTED_SQL, [chunk, below]),
                (_RECOUNT_LISTED_SQL, [chunk, chunk, chunk, chunk, below]),
            ]
        else:
            statements.append((_RECOUNT_LISTED_SQLITE, [json.dumps(chunk), below]))
    return statements


def build_locked_recount_statement(item_id: int) -> bulk.Statement:
    """Return the statement that recounts one item whose lock is held already."""
    return _RECOUNT_ONE_SQL, [item_id, item_id, item_id, NO_SLOT_LIMIT]


def build_statements_after_write(
    written: Collection[tuple[Judgement, int]], *, overlap: int
) -> list[bulk.Statement]:
    """Return the statements that recount slots after ratings were written.

    ``written`` has each judgement with the code before it (NO_CODE: there was none). Only a rating
    that is added or withdrawn takes or frees a slot; a changed answer does not.
    """
    item_ids = {
        judgement.item_id
        for judgement, previous_code in written
        if (judgement.code == NO_CODE) != (previous_code == NO_CODE)
    }
    frees_slot = any(
        judgement.code == NO_CODE != previous_code for judgement, previous_code in written
    )
    # One batch keeps the lock order: if one slot is freed, all items are recounted without a limit.
    return build_recount_statements(item_ids, below=NO_SLOT_LIMIT if frees_slot else overlap)


_DEMAND_SQL = f"""
    SELECT (SELECT count(*) FROM ({SLOT_TAKERS_SQL}) AS takers),
        (SELECT count(*) FROM ratings_assignment WHERE item_id = %s AND state = 'open'
            AND kind = ''),
        extra_slots
    FROM projects_item WHERE id = %s AND has_content AND withdrawn_at IS NULL
    """
_SET_EXTRA_SQL = "UPDATE projects_item SET extra_slots = %s WHERE id = %s"


@dataclass(frozen=True, slots=True)
class SlotDemand:
    """Numbers of an item's slots.

    ``requested``: number of all slots; ``taken``: number that raters have taken; ``open``: number
    of taken slots whose raters have not answered yet.
    """

    requested: int
    taken: int
    open: int

    @property
    def has_free_slot(self) -> bool:
        """Return whether the item has a slot that no rater has taken."""
        return self.taken < self.requested

    @property
    def is_complete(self) -> bool:
        """Return whether all requested ratings have been submitted."""
        return not self.has_free_slot and not self.open


def lock_and_get_demand(item_id: int, *, overlap: int) -> SlotDemand | None:
    """Lock the item until the commit and return its slots; None if withdrawn or without content."""
    lock_statements = [(_LOCK_ONE_SQL, [item_id, NO_SLOT_LIMIT])]
    query = (_DEMAND_SQL, [item_id, item_id, item_id, item_id])
    if connection.vendor != "postgresql":
        lock_statements = []
    rows = bulk.execute_statements([*lock_statements, query])[-1]
    if not rows:
        return None
    n_taken, n_open, extra_slots = rows[0]
    return SlotDemand(overlap + extra_slots, n_taken, n_open)


def set_requested_slots(item_id: int, number: int, *, overlap: int) -> None:
    """Request ``number`` ratings of the item in all, at least ``overlap``.

    The caller holds the item's lock.
    """
    bulk.execute_statements(
        [
            (_SET_EXTRA_SQL, [max(number - overlap, 0), item_id]),
            build_locked_recount_statement(item_id),
        ]
    )


def get_lease_time() -> datetime.timedelta:
    """Return the time for which an assigned item, or a check, is reserved for its rater."""
    return datetime.timedelta(seconds=settings.LEASE_SECONDS)
