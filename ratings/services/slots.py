"""How many of an item's places are taken, kept on the item so that the queue never counts ratings
to find one.

A rater takes a place by rating the item (any question, by any way) or by having it open on the
desk, unless it tests them there (ratings.annotation.assignments.hidden_checks). The rows say so; ``Item.places_taken``
repeats it. Whoever changes such a row calls ``recount`` in the same transaction.

An item may be asked for more often than its project's overlap says (``Item.extra_places``). Those
are subtracted from its ``places_taken``, so that an item is open while that is below the overlap,
whatever it has of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

from core.db import bulk
from ratings.models import NOTHING

from .judgement import Judgement

# Up to so many items are counted by a statement each, which the database knows already.
ITEMS_COUNTED_SINGLY = 32
ITEMS_A_STATEMENT = 5_000
MORE_PLACES_THAN_ANY = 2**31 - 1

# UNION leaves a rater who stands in both only once.
_TAKERS = """
    SELECT {columns} FROM ratings_rating WHERE item_id {of_item} AND code >= 0
    UNION SELECT {columns} FROM ratings_assignment
        WHERE item_id {of_item} AND state = 'open' AND why = ''
    """
# The raters who take a place of an item (its id twice). To be believed until the item's lock is
# given back. "+ 0": else PostgreSQL may read all ratings in the order of their raters, where it
# believes that there are none.
TAKERS_OF_ONE = _TAKERS.format(columns="rater_id + 0 AS rater_id", of_item="= %s")
_CHOSEN = "WHERE id = ANY(%s::bigint[]) AND places_taken < %s"
_LOCK = f"SELECT 1 FROM projects_item {_CHOSEN} ORDER BY id FOR NO KEY UPDATE"
# An item that was above ``below`` when the others were locked, and is no longer, is taken without
# waiting: to wait for it now would be out of order. Who holds it counts it next, or the queue does,
# which looks before it hands out.
_STILL_CHOSEN = f"SELECT id FROM projects_item {_CHOSEN} FOR NO KEY UPDATE SKIP LOCKED"
# Each table is asked once for all items, never once an item: PostgreSQL plans by what it last heard
# of it. Told that it is empty (when looked at, all its rows were still being written), it may read
# all ratings whenever it is asked.
_TAKERS_OF_LISTED = _TAKERS.format(columns="item_id, rater_id", of_item="= ANY(%s::bigint[])")
_RECOUNT = f"""
    UPDATE projects_item SET places_taken = GREATEST(counted.number - extra_places, 0)
    FROM (
        SELECT chosen.id, count(taker.rater_id) AS number
        FROM unnest(%s::bigint[]) AS chosen (id)
        LEFT JOIN ({_TAKERS_OF_LISTED}) AS taker ON taker.item_id = chosen.id
        GROUP BY chosen.id
    ) AS counted
    WHERE projects_item.id = counted.id AND projects_item.id = ANY(ARRAY({_STILL_CHOSEN}))
    """
_TAKERS_OF_EACH = _TAKERS.format(columns="rater_id", of_item="= projects_item.id")
_RECOUNT_BY_SQLITE = f"""
    UPDATE projects_item
    SET places_taken = (SELECT max(count(*) - extra_places, 0) FROM ({_TAKERS_OF_EACH}) AS takers)
    WHERE id IN (SELECT value FROM json_each(%s)) AND places_taken < %s
    """
# One item takes little more than half of the time; several one after the other, each with its lock,
# are in order too.
_OF_ONE = "WHERE id = %s AND places_taken < %s"
_LOCK_ONE = f"SELECT 1 FROM projects_item {_OF_ONE} FOR NO KEY UPDATE"
_RECOUNT_ONE = f"""
    UPDATE projects_item
    SET places_taken = (
        SELECT CASE WHEN number > extra_places THEN number - extra_places ELSE 0 END
        FROM (SELECT count(*) AS number FROM ({TAKERS_OF_ONE}) AS takers) AS counted
    ) {_OF_ONE}
    """


def recount(item_ids: Collection[int], *, below: int = MORE_PLACES_THAN_ANY) -> None:
    """Make ``places_taken`` of the items what the rows say. Must run inside the transaction that
    changed the rows.

    ``below`` leaves out items with so many places taken or more: what only adds raters cannot open
    those again.

    The items are locked first, in one order, and counted by a second statement: on PostgreSQL a
    statement sees what was committed when it began, and only the one that begins with the lock in
    hand sees what the last holder wrote.
    """
    bulk.several(recounting(item_ids, below=below))


def recounting(
    item_ids: Collection[int], *, below: int = MORE_PLACES_THAN_ANY
) -> list[bulk.Statement]:
    """The statements of ``recount``, to be sent after what changes the rows."""
    ids = sorted(item_ids)
    found: list[bulk.Statement] = []
    if len(ids) <= ITEMS_COUNTED_SINGLY:
        for item_id in ids:
            if connection.vendor == "postgresql":
                found.append((_LOCK_ONE, [item_id, below]))
            found.append((_RECOUNT_ONE, [item_id, item_id, item_id, below]))
        return found
    for start in range(0, len(ids), ITEMS_A_STATEMENT):
        part = ids[start : start + ITEMS_A_STATEMENT]
        if connection.vendor == "postgresql":
            found += [(_LOCK, [part, below]), (_RECOUNT, [part, part, part, part, below])]
        else:
            found.append((_RECOUNT_BY_SQLITE, [json.dumps(part), below]))
    return found


def recounting_locked(item_id: int) -> bulk.Statement:
    """The same for one item whose lock is held already."""
    return _RECOUNT_ONE, [item_id, item_id, item_id, MORE_PLACES_THAN_ANY]


def following(written: Collection[tuple[Judgement, int]], *, overlap: int) -> list[bulk.Statement]:
    """What is to be sent after ratings were written: each with the code that stood before it
    (NOTHING: there was none).

    Only who starts or ceases to say something takes or frees a place; a changed mind moves none.
    """
    moved = {new.item_id for new, old in written if (new.code == NOTHING) != (old == NOTHING)}
    freed = any(new.code == NOTHING != old for new, old in written)
    # All in one go, for the sake of the order: where one is freed, the others are counted whatever
    # they hold.
    return recounting(moved, below=MORE_PLACES_THAN_ANY if freed else overlap)


_ROOM = f"""
    SELECT (SELECT count(*) FROM ({TAKERS_OF_ONE}) AS takers),
        (SELECT count(*) FROM ratings_assignment WHERE item_id = %s AND state = 'open'
            AND why = ''),
        extra_places
    FROM projects_item WHERE id = %s AND has_content AND withdrawn_at IS NULL
    """
_WANT = "UPDATE projects_item SET extra_places = %s WHERE id = %s"


@dataclass(frozen=True, slots=True)
class Asked:
    """How often an item is asked for: ``wanted`` in all, ``taken`` of these by raters, ``open`` of
    those still being rated."""

    wanted: int
    taken: int
    open: int

    @property
    def free(self) -> bool:
        """Whether it waits for somebody to take it."""
        return self.taken < self.wanted

    @property
    def done(self) -> bool:
        """Whether all that was wanted was said."""
        return not self.free and not self.open


def lock_and_look(item_id: int, *, overlap: int) -> Asked | None:
    """How the item stands, locked until the transaction ends; None where it is not asked for at
    all."""
    locking = [(_LOCK_ONE, [item_id, MORE_PLACES_THAN_ANY])]
    looking = (_ROOM, [item_id, item_id, item_id, item_id])
    if connection.vendor != "postgresql":
        locking = []
    rows = bulk.several([*locking, looking])[-1]
    if not rows:
        return None
    taken, still_open, extra = rows[0]
    return Asked(overlap + extra, taken, still_open)


def want(item_id: int, number: int, *, overlap: int) -> None:
    """The item, whose lock is held, is wanted by so many raters in all, and by ``overlap`` at
    least."""
    bulk.several([(_WANT, [max(number - overlap, 0), item_id]), recounting_locked(item_id)])
