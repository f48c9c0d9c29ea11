"""Ratings to disk: one upsert and one line of history each. ``counted`` and ``counted_day`` are
never changed here: they belong to metrics.counting.question_counting alone."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import connection

from core.db import bulk
from ratings.models import NOTHING

from .current_ratings import InForce
from .days import day_of
from .judgement import KEPT, Judgement

# Up to so many lines of history go on one journey with all that belongs to them.
LINES_ON_ONE_JOURNEY = 32

# --- the columns, in the order in which their values are put together below

_KEY = {"question_id": "bigint", "item_id": "bigint", "rater_id": "bigint"}
_KEPT = dict.fromkeys(KEPT, "text")
# What the newest judgement says.
_SAID = {
    "code": "integer",
    "rated_at": "timestamptz",
    "changed_at": "timestamptz",
    "day": "integer",
    "guidelines": "integer",
    "item_version": "integer",
    **_KEPT,
}
_RATING = {
    **_KEY,
    **_SAID,
    "seconds": "float8",
    "counted": "integer",
    "counted_day": "integer",
}
_LINE = {
    "code": "integer",
    "rated_at": "timestamptz",
    "recorded_at": "timestamptz",
    "by_id": "bigint",
    "source": "text",
    "superseded": "boolean",
    "guidelines": "integer",
    "item_version": "integer",
    **_KEPT,
}
_UPDATE = {
    **{name: f"excluded.{name}" for name in _SAID},
    "seconds": "coalesce(excluded.seconds, ratings_rating.seconds)",
}

# --- a statement a row

_UPSERT = bulk.upsert_one("ratings_rating", list(_RATING), key=list(_KEY), update=_UPDATE)
_INTO_HISTORY = f"INSERT INTO ratings_revision (rating_id, {', '.join(_LINE)})"
_APPEND = f"""
    {_INTO_HISTORY} SELECT id, {", ".join(["%s"] * len(_LINE))} FROM ratings_rating
    WHERE question_id = %s AND item_id = %s AND rater_id = %s
    """

# --- several rows in one statement: PostgreSQL and psycopg need less than for one after the other

_UPSERT_LISTED = bulk.upsert_listed("ratings_rating", _RATING, key=list(_KEY), update=_UPDATE)
# Where they stand in a line of history, which has its key at its end.
_ITEM_AT = list(_LINE | _KEY).index("item_id")
_RATER_AT = list(_LINE | _KEY).index("rater_id")
_WRITE_SEVERAL = f"""
    WITH written AS ({_UPSERT_LISTED} RETURNING id, item_id, rater_id)
    {_INTO_HISTORY} SELECT written.id, {bulk.listed(_LINE)}
    FROM {bulk.LIST} WITH ORDINALITY AS l (value, line)
    JOIN written ON written.item_id = (value->>{_ITEM_AT})::bigint
        AND written.rater_id = (value->>{_RATER_AT})::bigint
    ORDER BY line
    """

# --- the history of many, read from the rows just written

_STAMPS = ("guidelines", "item_version")
_SAID_NOW = ", ".join([*_STAMPS, *KEPT])
_APPEND_WRITTEN = f"""
    {_INTO_HISTORY} SELECT id, code, rated_at, changed_at, %s, %s, false, {_SAID_NOW} FROM written
    """
# The same with what the source said before it, as a list: of item, rater, code, time, stamps.
# PostgreSQL's.
_EARLIER_STAMPS = ", ".join(["(value->>4)::integer", "(value->>5)::integer", *(["''"] * len(KEPT))])
_APPEND_EARLIER_TOO = f"""
    {_INTO_HISTORY} SELECT id, code, rated_at, changed_at, %s, %s, superseded, {_SAID_NOW} FROM (
        SELECT item_id, rater_id, id, code, rated_at, changed_at, false AS superseded,
            0 AS line, {_SAID_NOW}
        FROM written
        UNION ALL SELECT item_id, rater_id, id, (value->>2)::integer, (value->>3)::timestamptz,
            changed_at, true, line, {_EARLIER_STAMPS}
        FROM {bulk.LIST} WITH ORDINALITY AS l (value, line)
        JOIN written ON item_id = (value->>0)::bigint AND rater_id = (value->>1)::bigint
    ) AS said ORDER BY item_id, rater_id, superseded DESC, line
    """


class Row(NamedTuple):
    """What is to stand: ``kept`` has a text for each of KEPT, ``by_id`` is the user who says it."""

    new: Judgement
    rated_at: datetime.datetime
    kept: tuple[str, ...]
    by_id: int | None


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What all rows of one writing share."""

    now: datetime.datetime
    source: str
    in_force: InForce


def write(
    question_id: int, rows: Sequence[Row], shared: Circumstances, *, then: Sequence[bulk.Statement]
) -> None:
    """Upsert the rows, append their history, and send ``then`` after them. To be called inside a
    transaction."""
    # In one order everywhere, so that two writers never wait for each other in a circle.
    rows = sorted(rows, key=lambda row: (row.new.item_id, row.new.rater_id))
    # Many rows share a time: each is turned once into what the database takes.
    moment = functools.cache(connection.ops.adapt_datetimefield_value)
    ratings = list(_ratings(question_id, rows, shared, moment))
    lines = len(rows) + sum(len(row.new.superseded) for row in rows)
    if lines <= LINES_ON_ONE_JOURNEY or len({row.by_id for row in rows}) > 1:
        history = list(_history(question_id, rows, shared, moment))
        bulk.several([*_writing_few(ratings, history), *then])
        return
    append = _appending_many(rows, shared, lines)
    bulk.upsert(
        "ratings_rating", list(_RATING), ratings, key=list(_KEY), update=_UPDATE, then=append
    )
    if append is None:
        with connection.cursor() as cursor:
            cursor.executemany(_APPEND, list(_history(question_id, rows, shared, moment)))
    bulk.several(then)


def _writing_few(
    ratings: Sequence[tuple[Any, ...]], history: Sequence[tuple[Any, ...]]
) -> list[bulk.Statement]:
    if connection.vendor == "postgresql" and len(history) > 1:
        lists = [json.dumps(rows, default=str) for rows in (ratings, history)]
        return [(_WRITE_SEVERAL, lists)]
    upserts = [(_UPSERT, rating) for rating in ratings]
    return [*upserts, *((_APPEND, line) for line in history)]


def _appending_many(
    rows: Sequence[Row], shared: Circumstances, lines: int
) -> bulk.Statement | None:
    """What appends the history of the rows that were written, all by one user; None where each line
    is sent."""
    by_id = rows[0].by_id
    if lines == len(rows):  # each line says what its rating says now
        return _APPEND_WRITTEN, [by_id, shared.source]
    if connection.vendor == "postgresql":
        earlier = json.dumps(list(_earlier(rows, shared)), default=str)
        return _APPEND_EARLIER_TOO, [by_id, shared.source, earlier]
    return None


def _ratings(
    question_id: int,
    rows: Sequence[Row],
    shared: Circumstances,
    moment: Callable[[datetime.datetime], Any],
) -> Iterator[tuple[Any, ...]]:
    """Values of the columns of _RATING."""
    day = functools.cache(functools.partial(day_of, zone=shared.in_force.zone))
    now = moment(shared.now)
    for new, rated_at, kept, _by_id in rows:
        key = (question_id, new.item_id, new.rater_id)
        under = _stamps(new, shared)
        said = (new.code, moment(rated_at), now, day(rated_at), *under, *kept)
        yield (*key, *said, new.seconds, NOTHING, 0)


def _history(
    question_id: int,
    rows: Sequence[Row],
    shared: Circumstances,
    moment: Callable[[datetime.datetime], Any],
) -> Iterator[tuple[Any, ...]]:
    """Values of the columns of _LINE, and the rating's key."""
    now = moment(shared.now)
    nothing_kept = [""] * len(KEPT)
    for new, rated_at, kept, by_id in rows:
        recorded = (now, by_id, shared.source)
        key = (question_id, new.item_id, new.rater_id)
        for code, earlier in new.superseded:
            under = _earlier_stamps(new, earlier, shared)
            yield (code, moment(earlier or rated_at), *recorded, True, *under, *nothing_kept, *key)
        under = _stamps(new, shared)
        yield (new.code, moment(rated_at), *recorded, False, *under, *kept, *key)


def _earlier(rows: Sequence[Row], shared: Circumstances) -> Iterator[tuple[Any, ...]]:
    for new, stands_since, _kept, _by_id in rows:
        for code, rated_at in new.superseded:
            under = _earlier_stamps(new, rated_at, shared)
            yield new.item_id, new.rater_id, code, rated_at or stands_since, *under


def _stamps(new: Judgement, shared: Circumstances) -> tuple[int | None, int | None]:
    """The versions of the guidelines and of the item's content under which it was said."""
    in_force = shared.in_force
    return (
        in_force.guidelines.stamp(new.rated_at, new.guidelines),
        in_force.content_of(new.item_id).stamp(new.rated_at, new.item_version),
    )


def _earlier_stamps(
    new: Judgement, rated_at: datetime.datetime | None, shared: Circumstances
) -> tuple[int | None, int | None]:
    """The same for what the source said earlier than the judgement."""
    in_force = shared.in_force
    said_at = rated_at or new.rated_at
    return in_force.guidelines.stamp(said_at), in_force.content_of(new.item_id).stamp(said_at)
