"""SQL that finds candidate items for a rater's next assignment.

Items are found without counting: ``Item.slots_taken`` is indexed, and an open item is on one of
``overlap`` levels (0 slots taken, 1 slot taken, ...). Withdrawn items and items without content are
not in the index. Each level is searched from the item that the rater was assigned last, so that
items they have rated lie before it and cost nothing.

In a planned order the first items by ``Item.planned_position`` are tried before that. They are few
(MAX_PLANNED_ITEMS), so that only few of them can already be rated by
the rater.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from core.db import bulk
from projects.models import Item, QueueOrder, Rater

MAX_PLANNED_ITEMS = (
    500  # items planned at a time; more would slow down raters who have already rated them
)


@transaction.atomic
def set_planned_order(project_id: int, item_ids: Sequence[int]) -> int:
    """Store these items as the planned ones, in this order; return the number of changed rows.

    Raises ValueError for more than MAX_PLANNED_ITEMS.
    """
    if len(item_ids) > MAX_PLANNED_ITEMS:
        raise ValueError(f"{MAX_PLANNED_ITEMS} items can be planned at a time, not {len(item_ids)}")
    positions = {item_id: position for position, item_id in enumerate(item_ids)}
    planned = Item.objects.filter(project=project_id, planned_position__isnull=False)
    current_positions = dict(planned.values_list("pk", "planned_position"))
    changed_ids = [
        pk
        for pk in current_positions.keys() | positions.keys()
        if current_positions.get(pk) != positions.get(pk)
    ]
    # Locked in ascending order, like all writers of ratings, which hold one item at a time.
    rows = Item.objects.filter(project=project_id, pk__in=changed_ids).order_by("pk")
    items = list(rows.select_for_update(no_key=True).only("pk"))
    for item in items:
        item.planned_position = positions.get(item.pk)
    Item.objects.bulk_update(items, ["planned_position"], batch_size=100)
    return len(items)


RANDOM_STARTS = 6  # random positions that are tried before the whole project is searched
RANDOM_SPAN = 1_000  # ids searched from each of them
RANDOM_EVERY = 10  # in a planned order, one of this many items is selected at random
MAX_LEVELS = 100  # searched one by one, all above as one: SQLite joins 500 SELECTs at most
MAX_ID = 2**63 - 1

# Also the condition of the index (in projects.models.item): keep both identical.
ACTIVE_ITEM_SQL = "has_content AND withdrawn_at IS NULL"

# The parameters are named in a CTE, because every level needs them: so their number does not depend
# on the overlap.
_SEARCH_SQL = """
    WITH search AS (
            SELECT CAST(%s AS bigint) AS project, CAST(%s AS bigint) AS lower,
                CAST(%s AS bigint) AS upper, CAST(%s AS bigint) AS rater
        ),
        candidate AS (SELECT id FROM ({levels}) AS found ORDER BY id LIMIT {size}),
        picked AS (
            SELECT id FROM projects_item
            WHERE id IN (SELECT id FROM candidate) AND slots_taken < {overlap} AND {is_active}
            ORDER BY id LIMIT 1 {lock}
        )
    SELECT (SELECT max(id) FROM candidate), (SELECT id FROM picked)
    """
# The lowest position first. Takes the same parameters; the ends of the range are unused. "+ 0"
# makes it use the index of planned positions, not the one of slots.
_SEARCH_PLANNED_SQL = """
    WITH search AS (
            SELECT CAST(%s AS bigint) AS project, CAST(%s AS bigint) AS lower,
                CAST(%s AS bigint) AS upper, CAST(%s AS bigint) AS rater
        ),
        candidate AS (
            SELECT id FROM projects_item
            WHERE project_id = (SELECT project FROM search) AND planned_position IS NOT NULL
                AND slots_taken + 0 < {overlap} AND {is_active} {new}
            ORDER BY planned_position LIMIT {size}
        ),
        picked AS (
            SELECT id FROM projects_item
            WHERE id IN (SELECT id FROM candidate) AND slots_taken < {overlap} AND {is_active}
            ORDER BY planned_position LIMIT 1 {lock}
        )
    SELECT (SELECT max(id) FROM candidate), (SELECT id FROM picked)
    """
_BOUNDS_SQL = """
    WITH search AS (SELECT CAST(%s AS bigint) AS project)
    SELECT min(id), max(id) FROM ({ends}) AS ends
    """
_LEVEL_SQL = """
    SELECT id FROM (
        SELECT id FROM projects_item
        WHERE project_id = (SELECT project FROM search) AND slots_taken {level}
            AND {is_active} {rest}
    ) AS level
    """
_IN_RANGE_SQL = """
    AND id > (SELECT lower FROM search) AND id <= (SELECT upper FROM search) {new}
    ORDER BY id LIMIT {size}
    """
# Leaves out items that the rater was assigned or ever rated: a few rows of each item, found by the
# item. "+ 0" and OFFSET keep PostgreSQL from reading all rows of the rater instead, whose number it
# may underestimate.
_NEW_TO_RATER_SQL = """
    AND NOT EXISTS (
        SELECT 1 FROM ratings_rating AS answered
        WHERE answered.item_id = projects_item.id
            AND answered.rater_id + 0 = (SELECT rater FROM search)
        LIMIT 1 OFFSET 0
    )
    AND NOT EXISTS (
        SELECT 1 FROM ratings_assignment AS mine
        WHERE mine.item_id = projects_item.id AND mine.rater_id + 0 = (SELECT rater FROM search)
            AND mine.state <> 'expired'
        LIMIT 1 OFFSET 0
    )
    """


@functools.cache
def build_search_sql(overlap: int, size: int, lock: str) -> str:
    """Return SQL that finds items in a range of ids that have a free slot and are new to the rater.

    Its parameters: project, lower (excluded) and upper end of the ids, rater. It returns one row:
    the id of the last of at most ``size`` candidates, and the id of the first candidate that the
    clause ``lock`` could lock; each is NULL if there is none. An item has a free slot while fewer
    than ``overlap`` are taken.
    """
    levels = " UNION ALL ".join(
        _build_level_queries(overlap, _IN_RANGE_SQL.format(new=_NEW_TO_RATER_SQL, size=size))
    )
    return _SEARCH_SQL.format(
        levels=levels, size=size, overlap=overlap, lock=lock, is_active=ACTIVE_ITEM_SQL
    )


@functools.cache
def build_planned_search_sql(overlap: int, size: int, lock: str) -> str:
    """Return SQL that finds the first planned item with a free slot that is new to the rater.

    Arguments, parameters and columns are those of ``build_search_sql``; the ends of the range are
    ignored.
    """
    return _SEARCH_PLANNED_SQL.format(
        size=size, overlap=overlap, lock=lock, is_active=ACTIVE_ITEM_SQL, new=_NEW_TO_RATER_SQL
    )


def should_use_plan(rater: Rater, n_assigned: int) -> bool:
    """Return whether the rater's next item should be a planned one.

    About one item in RANDOM_EVERY is selected at random instead, so that not all ratings are of
    items that were selected because of other raters' answers. ``n_assigned`` is the number of items
    assigned to the rater so far, which determines the choice.
    """
    if not QueueOrder(rater.project.queue_order).is_planned:
        return False
    return _draw_number(rater, n_assigned, RANDOM_STARTS) * RANDOM_EVERY >= 2**64


def _build_level_queries(overlap: int, condition: str) -> list[str]:
    """Return one query for each level, which is a single index lookup.

    A level is a number of slots taken, below ``overlap``; the last level joins the numbers from
    MAX_LEVELS on. ``condition`` is further SQL that an item must meet.
    """
    levels = [f"= {level}" for level in range(min(overlap, MAX_LEVELS))]
    if overlap > MAX_LEVELS:
        levels.append(f"BETWEEN {MAX_LEVELS} AND {overlap - 1}")
    return [
        _LEVEL_SQL.format(level=level, rest=condition, is_active=ACTIVE_ITEM_SQL)
        for level in levels
    ]


def build_id_ranges(starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ranges of ids (lower, upper] to search for an item, in this order.

    ``starts`` are ids at which the search begins: first the RANDOM_SPAN ids after each start but
    the last, then all ids after the last start, then all up to it.
    """
    return [
        *((start, start + RANDOM_SPAN) for start in starts[:-1]),
        (starts[-1], MAX_ID),
        (0, starts[-1]),
    ]


def build_id_bounds_query(rater: Rater) -> list[bulk.Statement]:
    """Return, in a list, the query for the ids of the first and last open item.

    The list is empty for a fixed queue order, which needs no query.
    """
    project = rater.project
    if project.queue_order == QueueOrder.FIXED:
        return []
    return [(_build_id_bounds_sql(project.overlap), [project.pk])]


@functools.cache
def _build_id_bounds_sql(overlap: int) -> str:
    queries: list[str] = []
    for order in ("ASC", "DESC"):
        queries += _build_level_queries(overlap, f"ORDER BY id {order} LIMIT 1")
    return _BOUNDS_SQL.format(ends=" UNION ALL ".join(queries))


def draw_random_ranges(
    rater: Rater, n_assigned: int, bounds: Sequence[tuple[Any, ...]]
) -> list[tuple[int, int]]:
    """Return ranges with pseudo-random starts between the first and the last open item.

    ``bounds`` is the result of ``build_id_bounds_query``. The starts depend only on the rater,
    their number of assigned items and the bounds. There are several, because the rater may already
    have rated the items after one of them.
    """
    [(lowest, highest)] = bounds
    if lowest is None:
        return build_id_ranges([0])
    starts = []
    for number in range(RANDOM_STARTS):
        random_number = _draw_number(rater, n_assigned, number)
        starts.append(lowest - 1 + random_number * (highest - lowest + 1) // 2**64)
    return build_id_ranges(starts)


def _draw_number(rater: Rater, n_assigned: int, number: int) -> int:
    """Return the pseudo-random number from 0 to 2**64 - 1 that is determined by the arguments."""
    seed = f"{rater.pk}:{n_assigned}:{number}".encode()
    return int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest(), "big")
