"""Ratings to disk: one upsert and one line of history each. ``counted`` and ``counted_day`` are
never changed here: they belong to metrics.counting.count alone."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection

from groundwork.database import bulk
from ratings.models import NOTHING

from .days import day_of
from .guideline_stamp import Guidelines

if TYPE_CHECKING:
    from .record import NewRating

_KEY = ("question_id", "item_id", "rater_id")
_SAID = ("code", "rated_at", "changed_at", "day", "comment", "guidelines")
_COLUMNS = (*_KEY, *_SAID, "seconds", "counted", "counted_day")
_UPDATE = {
    **{name: f"excluded.{name}" for name in _SAID},
    "seconds": "coalesce(excluded.seconds, ratings_rating.seconds)",
}
_HISTORY = (
    "code",
    "rated_at",
    "recorded_at",
    "by_id",
    "source",
    "comment",
    "superseded",
    "guidelines",
)
_UPSERT = bulk.upsert_one("ratings_rating", _COLUMNS, key=_KEY, update=_UPDATE)
_APPEND = (
    f"INSERT INTO ratings_revision (rating_id, {', '.join(_HISTORY)})"
    f" SELECT id, {', '.join(['%s'] * len(_HISTORY))} FROM ratings_rating"
    " WHERE question_id = %s AND item_id = %s AND rater_id = %s"
)
_APPEND_WRITTEN = (
    f"INSERT INTO ratings_revision (rating_id, {', '.join(_HISTORY)})"
    " SELECT id, code, rated_at, changed_at, %s, %s, comment, false, guidelines FROM written"
)
# The same with what the source said before it, as a list: of item, rater, code, time, guidelines.
# PostgreSQL's.
_APPEND_EARLIER_TOO = (
    f"INSERT INTO ratings_revision (rating_id, {', '.join(_HISTORY)})"
    " SELECT id, code, rated_at, changed_at, %s, %s, comment, superseded, guidelines FROM ("
    "SELECT item_id, rater_id, id, code, rated_at, changed_at, comment, false AS superseded, guidelines, 0 AS line"
    " FROM written UNION ALL SELECT item_id, rater_id, id, (value->>2)::integer, (value->>3)::timestamptz, changed_at,"
    f" '', true, (value->>4)::integer, line FROM {bulk.LIST} WITH ORDINALITY AS l (value, line) JOIN written"
    " ON item_id = (value->>0)::bigint AND rater_id = (value->>1)::bigint) AS said"
    " ORDER BY item_id, rater_id, superseded DESC, line"
)
# Both for several rows in one statement, which costs PostgreSQL and psycopg less than one after the
# other.
_TYPES = {
    **dict.fromkeys((*_KEY, "by_id"), "bigint"),
    **dict.fromkeys(("code", "day", "guidelines", "counted", "counted_day"), "integer"),
    **dict.fromkeys(("rated_at", "changed_at", "recorded_at"), "timestamptz"),
    **{"comment": "text", "source": "text", "seconds": "float8", "superseded": "boolean"},
}
_OF_RATING = {name: _TYPES[name] for name in _COLUMNS}
_OF_LINE = {name: _TYPES[name] for name in _HISTORY}
_ITEM, _RATER = len(_HISTORY) + 1, len(_HISTORY) + 2  # where they stand in a line of history
_WRITE_SEVERAL = (
    f"WITH written AS ({bulk.upsert_listed('ratings_rating', _OF_RATING, key=_KEY, update=_UPDATE)}"
    " RETURNING id, item_id, rater_id)"
    f" INSERT INTO ratings_revision (rating_id, {', '.join(_HISTORY)})"
    f" SELECT written.id, {bulk.listed(_OF_LINE)} FROM {bulk.LIST} WITH ORDINALITY AS l (value, line) JOIN written"
    f" ON written.item_id = (value->>{_ITEM})::bigint AND written.rater_id = (value->>{_RATER})::bigint ORDER BY line"
)
FEW = 32  # lines of history that go on one journey with all that belongs to them


class Row(NamedTuple):
    new: NewRating
    by_id: int | None
    rated_at: datetime.datetime
    comment: str


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What all rows of one writing share."""

    now: datetime.datetime
    source: str
    zone: ZoneInfo
    guidelines: Guidelines


def write(
    question_id: int, rows: Sequence[Row], shared: Circumstances, *, then: Sequence[bulk.Statement]
) -> None:
    """Upsert the rows, append their history, and send ``then`` after them. To be called inside a
    transaction."""
    # In one order everywhere, so that two writers never wait for each other in a circle.
    rows = sorted(rows, key=lambda row: row.new[:2])
    # Many rows share a time: each is turned once into what the database takes.
    moment = functools.cache(connection.ops.adapt_datetimefield_value)
    day = functools.cache(functools.partial(day_of, zone=shared.zone))
    stamp = shared.guidelines.stamp
    ratings = [
        (
            question_id,
            row.new.item_id,
            row.new.rater_id,
            row.new.code,
            moment(row.rated_at),
            moment(shared.now),
            day(row.rated_at),
            row.comment,
            stamp(row.new.rated_at, row.new.guidelines),
            row.new.seconds,
            NOTHING,
            0,
        )
        for row in rows
    ]
    lines = len(rows) + sum(len(row.new.superseded) for row in rows)
    if lines <= FEW:
        history = list(_history(question_id, rows, shared, moment))
        if connection.vendor == "postgresql" and lines > 1:
            several = [json.dumps(ratings, default=str), json.dumps(history, default=str)]
            bulk.several([(_WRITE_SEVERAL, several), *then])
        else:
            upserts = [(_UPSERT, rating) for rating in ratings]
            bulk.several([*upserts, *((_APPEND, line) for line in history), *then])
        return
    by_ids = {row.by_id for row in rows}
    append: bulk.Statement | None = None
    if lines == len(rows) and len(by_ids) == 1:  # each line says what its rating says now
        append = (_APPEND_WRITTEN, [*by_ids, shared.source])
    elif connection.vendor == "postgresql" and len(by_ids) == 1:
        append = (
            _APPEND_EARLIER_TOO,
            [*by_ids, shared.source, json.dumps(list(_earlier(rows, shared)), default=str)],
        )
    bulk.upsert("ratings_rating", _COLUMNS, ratings, key=_KEY, update=_UPDATE, then=append)
    if append is None:
        with connection.cursor() as cursor:
            cursor.executemany(_APPEND, list(_history(question_id, rows, shared, moment)))
    bulk.several(then)


def _history(
    question_id: int,
    rows: Sequence[Row],
    shared: Circumstances,
    moment: Callable[[datetime.datetime], Any],
) -> Iterator[tuple[Any, ...]]:
    now, stamp = moment(shared.now), shared.guidelines.stamp
    for row in rows:
        new = row.new
        recorded = (now, row.by_id, shared.source)
        key = (question_id, new.item_id, new.rater_id)
        for code, rated_at in new.superseded:
            yield (
                code,
                moment(rated_at or row.rated_at),
                *recorded,
                "",
                True,
                stamp(rated_at or new.rated_at),
                *key,
            )
        under = stamp(new.rated_at, new.guidelines)
        yield new.code, moment(row.rated_at), *recorded, row.comment, False, under, *key


def _earlier(rows: Sequence[Row], shared: Circumstances) -> Iterator[tuple[Any, ...]]:
    for new, _by_id, stands_since, _comment in rows:
        for code, rated_at in new.superseded:
            under = shared.guidelines.stamp(rated_at or new.rated_at)
            yield new.item_id, new.rater_id, code, rated_at or stands_since, under
