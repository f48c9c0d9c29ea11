"""Where the queue looks for an item, and by which statement.

To find an item without counting: ``Item.places_taken`` is indexed, and an item is open on one of
``overlap`` levels (0 taken, 1 taken, ...). What is withdrawn or shows nothing is not in the index.
Each level is entered behind the item that the rater was
given last, so what they have rated already lies behind, not in the way.

In a planned order the first items by ``Item.turn`` are looked at before that. They are few
(``ratings.annotation.assignments.planned_order``), so that those which a rater has rated already cannot be far in the way.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import Any

from core.db import bulk
from projects.models import QueueOrder, Rater

RANDOM_STARTS = 6  # places that are tried before the whole project is searched
RANDOM_SPAN = 1_000  # ids that are looked at from each of them
UNPLANNED = 10  # of so many items in a planned order one is drawn at random
LEVELS = 100  # are entered one by one, and all above as one: SQLite joins 500 SELECTs at most
BEHIND_ALL_IDS = 2**63 - 1

# Also the condition of the index (projects.models.ASKED): the two must be one.
ASKED = "has_content AND withdrawn_at IS NULL"

# Names for the values, which every level needs: the statement has as many parameters whatever the
# overlap.
_FIND = """
    WITH asked AS (
            SELECT CAST(%s AS bigint) AS project, CAST(%s AS bigint) AS lower,
                CAST(%s AS bigint) AS upper, CAST(%s AS bigint) AS rater
        ),
        candidate AS (SELECT id FROM ({levels}) AS found ORDER BY id LIMIT {size}),
        picked AS (
            SELECT id FROM projects_item
            WHERE id IN (SELECT id FROM candidate) AND places_taken < {overlap} AND {asked}
            ORDER BY id LIMIT 1 {lock}
        )
    SELECT (SELECT max(id) FROM candidate), (SELECT id FROM picked)
    """
# The lowest turn first. It takes the same values, two of them for nothing. "+ 0": by turns, not by
# the index of places.
_FIND_PLANNED = """
    WITH asked AS (
            SELECT CAST(%s AS bigint) AS project, CAST(%s AS bigint) AS lower,
                CAST(%s AS bigint) AS upper, CAST(%s AS bigint) AS rater
        ),
        candidate AS (
            SELECT id FROM projects_item
            WHERE project_id = (SELECT project FROM asked) AND turn IS NOT NULL
                AND places_taken + 0 < {overlap} AND {asked} {new}
            ORDER BY turn LIMIT {size}
        ),
        picked AS (
            SELECT id FROM projects_item
            WHERE id IN (SELECT id FROM candidate) AND places_taken < {overlap} AND {asked}
            ORDER BY turn LIMIT 1 {lock}
        )
    SELECT (SELECT max(id) FROM candidate), (SELECT id FROM picked)
    """
_BOUNDS = """
    WITH asked AS (SELECT CAST(%s AS bigint) AS project)
    SELECT min(id), max(id) FROM ({ends}) AS ends
    """
_ON_LEVEL = """
    SELECT id FROM (
        SELECT id FROM projects_item
        WHERE project_id = (SELECT project FROM asked) AND places_taken {level} AND {asked} {rest}
    ) AS level
    """
_BEHIND = """
    AND id > (SELECT lower FROM asked) AND id <= (SELECT upper FROM asked) {new}
    ORDER BY id LIMIT {size}
    """
# What the rater was asked or ever said anything about is left out: a few rows of each item, found
# by the item. "+ 0" and OFFSET keep PostgreSQL from reading all that the rater ever did instead,
# which it may take for little.
_NEW = """
    AND NOT EXISTS (
        SELECT 1 FROM ratings_rating AS said
        WHERE said.item_id = projects_item.id AND said.rater_id + 0 = (SELECT rater FROM asked)
        LIMIT 1 OFFSET 0
    )
    AND NOT EXISTS (
        SELECT 1 FROM ratings_assignment AS mine
        WHERE mine.item_id = projects_item.id AND mine.rater_id + 0 = (SELECT rater FROM asked)
            AND mine.state <> 'expired'
        LIMIT 1 OFFSET 0
    )
    """


@functools.cache
def finding(overlap: int, size: int, lock: str) -> str:
    """The statement that finds (id of the last candidate, id of the first that ``lock`` got). Its
    parameters: project, lower and upper end of the ids, rater."""
    levels = " UNION ALL ".join(_on_levels(overlap, _BEHIND.format(new=_NEW, size=size)))
    return _FIND.format(levels=levels, size=size, overlap=overlap, lock=lock, asked=ASKED)


@functools.cache
def finding_planned(overlap: int, size: int, lock: str) -> str:
    """The same among the planned items, whatever their ids."""
    return _FIND_PLANNED.format(size=size, overlap=overlap, lock=lock, asked=ASKED, new=_NEW)


def by_plan(rater: Rater, handed_out: int) -> bool:
    """Whether the rater's next item is a planned one. One of ten is drawn at random all the same,
    so that not all ratings are of items that were chosen for what others said of them."""
    if not QueueOrder(rater.project.queue_order).planned:
        return False
    return _drawn(rater, handed_out, RANDOM_STARTS) * UNPLANNED >= 2**64


def _on_levels(overlap: int, rest: str) -> list[str]:
    """One index probe a level."""
    levels = [f"= {level}" for level in range(min(overlap, LEVELS))]
    if overlap > LEVELS:
        levels.append(f"BETWEEN {LEVELS} AND {overlap - 1}")
    return [_ON_LEVEL.format(level=level, rest=rest, asked=ASKED) for level in levels]


def ranges(starts: Sequence[int]) -> list[tuple[int, int]]:
    """A little behind each start, then all behind the last one, then all before it."""
    return [
        *((start, start + RANDOM_SPAN) for start in starts[:-1]),
        (starts[-1], BEHIND_ALL_IDS),
        (0, starts[-1]),
    ]


def ask_bounds(rater: Rater) -> list[bulk.Statement]:
    """For the ids of the first and the last open item, where the random order needs them."""
    project = rater.project
    if project.queue_order == QueueOrder.FIXED:
        return []
    return [(_bounds(project.overlap), [project.pk])]


@functools.cache
def _bounds(overlap: int) -> str:
    ends: list[str] = []
    for order in ("ASC", "DESC"):
        ends += _on_levels(overlap, f"ORDER BY id {order} LIMIT 1")
    return _BOUNDS.format(ends=" UNION ALL ".join(ends))


def random_ranges(
    rater: Rater, handed_out: int, bounds: Sequence[tuple[Any, ...]]
) -> list[tuple[int, int]]:
    """Starts between the first and the last open item, random to the eye and the same whenever they
    are asked again: nothing but the rater and their own number of items goes into them. Several,
    since the rater may have been there.
    """
    [(lowest, highest)] = bounds
    if lowest is None:
        return ranges([0])
    starts = []
    for number in range(RANDOM_STARTS):
        drawn = _drawn(rater, handed_out, number)
        starts.append(lowest - 1 + drawn * (highest - lowest + 1) // 2**64)
    return ranges(starts)


def _drawn(rater: Rater, handed_out: int, number: int) -> int:
    """0 to 2**64 - 1."""
    seed = f"{rater.pk}:{handed_out}:{number}".encode()
    return int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest(), "big")
