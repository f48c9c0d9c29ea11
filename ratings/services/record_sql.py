"""SQL that upserts ratings and appends their history.

``counted`` and ``counted_day`` are never changed here: only metrics.counting.question_counting
changes them.
"""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import connection

from core.db import bulk
from ratings.models import NO_CODE

from .current_ratings import QuestionState
from .judgement import STORED_TEXTS, Judgement
from .rating_timestamps import day_number

# Up to this many history entries are sent in one round trip with all that belongs to them.
MAX_ENTRIES_PER_ROUND_TRIP = 32

# --- columns, in the order of the values below

_KEY_COLUMNS = {"question_id": "bigint", "item_id": "bigint", "rater_id": "bigint"}
_TEXT_COLUMNS = dict.fromkeys(STORED_TEXTS, "text")
# Columns that the newest judgement sets.
_CONTENT_COLUMNS = {
    "code": "integer",
    "rated_at": "timestamptz",
    "changed_at": "timestamptz",
    "day": "integer",
    "guidelines": "integer",
    "item_version": "integer",
    **_TEXT_COLUMNS,
}
_RATING_COLUMNS = {
    **_KEY_COLUMNS,
    **_CONTENT_COLUMNS,
    "seconds": "float8",
    "counted": "integer",
    "counted_day": "integer",
}
_REVISION_COLUMNS = {
    "code": "integer",
    "rated_at": "timestamptz",
    "recorded_at": "timestamptz",
    "by_id": "bigint",
    "source": "text",
    "superseded": "boolean",
    "guidelines": "integer",
    "item_version": "integer",
    **_TEXT_COLUMNS,
}
_N_FIXED = len(_KEY_COLUMNS) + len(_CONTENT_COLUMNS) - len(_TEXT_COLUMNS)  # before the texts
_UPDATE_VALUES = {
    **{name: f"excluded.{name}" for name in _CONTENT_COLUMNS},
    "seconds": "coalesce(excluded.seconds, ratings_rating.seconds)",
}

# --- one statement per row

_UPSERT_SQL = bulk.build_row_upsert(
    "ratings_rating", list(_RATING_COLUMNS), key=list(_KEY_COLUMNS), update=_UPDATE_VALUES
)
_INSERT_REVISION_SQL = f"INSERT INTO ratings_revision (rating_id, {', '.join(_REVISION_COLUMNS)})"
_APPEND_SQL = f"""
    {_INSERT_REVISION_SQL} SELECT id, {", ".join(["%s"] * len(_REVISION_COLUMNS))}
    FROM ratings_rating
    WHERE question_id = %s AND item_id = %s AND rater_id = %s
    """

# --- several rows in one statement: faster on PostgreSQL and psycopg than one after the other

_UPSERT_LISTED_SQL = bulk.build_json_upsert(
    "ratings_rating", _RATING_COLUMNS, key=list(_KEY_COLUMNS), update=_UPDATE_VALUES
)
# Positions of the key in the values of a history entry, which end with the rating's key.
_ITEM_INDEX = list(_REVISION_COLUMNS | _KEY_COLUMNS).index("item_id")
_RATER_INDEX = list(_REVISION_COLUMNS | _KEY_COLUMNS).index("rater_id")
_WRITE_SEVERAL_SQL = f"""
    WITH written AS ({_UPSERT_LISTED_SQL} RETURNING id, item_id, rater_id)
    {_INSERT_REVISION_SQL} SELECT written.id, {bulk.build_json_columns(_REVISION_COLUMNS)}
    FROM {bulk.JSON_ROWS_SQL} WITH ORDINALITY AS l (value, line)
    JOIN written ON written.item_id = (value->>{_ITEM_INDEX})::bigint
        AND written.rater_id = (value->>{_RATER_INDEX})::bigint
    ORDER BY line
    """

# --- history of many rows, read from the rows just written

_VERSION_COLUMNS = ("guidelines", "item_version")
_WRITTEN_COLUMNS = ", ".join([*_VERSION_COLUMNS, *STORED_TEXTS])
_APPEND_WRITTEN_SQL = f"""
    {_INSERT_REVISION_SQL}
    SELECT id, code, rated_at, changed_at, %s, %s, false, {_WRITTEN_COLUMNS} FROM written
    """
# The same with earlier answers of the source, a list of (item, rater, code, time, versions).
# PostgreSQL only.
_EARLIER_VERSIONS = ", ".join(
    ["(value->>4)::integer", "(value->>5)::integer", *(["''"] * len(STORED_TEXTS))]
)
_APPEND_WITH_EARLIER_SQL = f"""
    {_INSERT_REVISION_SQL}
    SELECT id, code, rated_at, changed_at, %s, %s, superseded, {_WRITTEN_COLUMNS} FROM (
        SELECT item_id, rater_id, id, code, rated_at, changed_at, false AS superseded,
            0 AS line, {_WRITTEN_COLUMNS}
        FROM written
        UNION ALL SELECT item_id, rater_id, id, (value->>2)::integer, (value->>3)::timestamptz,
            changed_at, true, line, {_EARLIER_VERSIONS}
        FROM {bulk.JSON_ROWS_SQL} WITH ORDINALITY AS l (value, line)
        JOIN written ON item_id = (value->>0)::bigint AND rater_id = (value->>1)::bigint
    ) AS said ORDER BY item_id, rater_id, superseded DESC, line
    """


class RatingWrite(NamedTuple):
    """A rating to write.

    ``texts`` has one text for each of STORED_TEXTS; ``by_id`` is the acting user's id, or None.
    """

    judgement: Judgement
    rated_at: datetime.datetime
    texts: tuple[str, ...]
    by_id: int | None


@dataclass(frozen=True, slots=True)
class WriteContext:
    """Values shared by all rows of one write."""

    now: datetime.datetime
    source: str
    state: QuestionState


def write_ratings(
    question_id: int,
    rows: Sequence[RatingWrite],
    context: WriteContext,
    *,
    follow_up: Sequence[bulk.Statement],
) -> None:
    """Upsert the ratings, append their history, and then send the ``follow_up`` statements.

    Must be called inside a transaction.
    """
    # Always in this order, so that two writers cannot deadlock.
    rows = sorted(rows, key=lambda row: (row.judgement.item_id, row.judgement.rater_id))
    # Many rows share a time: each is converted to the database's format once.
    adapt_time = functools.cache(connection.ops.adapt_datetimefield_value)
    ratings = list(_iter_rating_values(question_id, rows, context, adapt_time))
    n_entries = len(rows) + sum(len(row.judgement.superseded) for row in rows)
    if n_entries <= MAX_ENTRIES_PER_ROUND_TRIP or len({row.by_id for row in rows}) > 1:
        statements = _build_write_statements(rows, ratings, context, adapt_time)
        bulk.execute_statements([*statements, *follow_up])
        return
    _write_many(rows, ratings, context, adapt_time)
    bulk.execute_statements(follow_up)


def _write_many(
    rows: Sequence[RatingWrite],
    ratings: Sequence[tuple[Any, ...]],
    context: WriteContext,
    adapt_time: Callable[[datetime.datetime], Any],
) -> None:
    """Upsert the ratings in bulk and append their history, all by one user.

    ``ratings``: the values of _RATING_COLUMNS of each row.
    """
    superseded = [answer for row in rows for answer in _iter_superseded(row, context)]
    append = _build_append_statement(rows[0].by_id, context, superseded)
    columns, key = list(_RATING_COLUMNS), list(_KEY_COLUMNS)
    has_earlier = bool(superseded) and connection.vendor != "postgresql"
    written = None if has_earlier else append
    bulk.upsert(
        "ratings_rating", columns, ratings, key=key, update=_UPDATE_VALUES, follow_up=written
    )
    if has_earlier:
        # Earlier answers come first, because the history is read in the order of its entries.
        entries = [
            entry
            for row, rating in zip(rows, ratings, strict=True)
            if row.judgement.superseded
            for entry in _iter_earlier_values(row, rating, context, adapt_time)
        ]
        with connection.cursor() as cursor:
            cursor.executemany(_APPEND_SQL, entries)
            bulk.execute_follow_up(
                cursor, "ratings_rating", columns, ratings, key=key, follow_up=append
            )


def _iter_rating_values(
    question_id: int,
    rows: Sequence[RatingWrite],
    context: WriteContext,
    adapt_time: Callable[[datetime.datetime], Any],
) -> Iterator[tuple[Any, ...]]:
    """Yield a tuple of values for each row, in the order of _RATING_COLUMNS."""
    get_day = functools.cache(functools.partial(day_number, zone=context.state.zone))
    now = adapt_time(context.now)
    for judgement, rated_at, texts, _by_id in rows:
        versions = context.state.get_versions(
            judgement.item_id, judgement.rated_at, judgement.guidelines, judgement.item_version
        )
        key = (question_id, judgement.item_id, judgement.rater_id)
        content = (judgement.code, adapt_time(rated_at), now, get_day(rated_at), *versions, *texts)
        yield (*key, *content, judgement.seconds, NO_CODE, 0)


def _build_write_statements(
    rows: Sequence[RatingWrite],
    ratings: Sequence[tuple[Any, ...]],
    context: WriteContext,
    adapt_time: Callable[[datetime.datetime], Any],
) -> list[bulk.Statement]:
    """Return the statements that upsert each row and append its history.

    On PostgreSQL one statement does this for several history entries; otherwise there is one for
    each row and one for each entry. ``ratings``: the values of _RATING_COLUMNS of each row.
    """
    history: list[tuple[Any, ...]] = []
    for row, rating in zip(rows, ratings, strict=True):
        if row.judgement.superseded:
            history += _iter_earlier_values(row, rating, context, adapt_time)
        *key, code, rated_at, changed_at, _day, guidelines, item_version = rating[:_N_FIXED]
        recorded = (changed_at, row.by_id, context.source, False)
        history.append((code, rated_at, *recorded, guidelines, item_version, *row.texts, *key))
    if connection.vendor == "postgresql" and len(history) > 1:
        json_lists = [json.dumps(values, default=str) for values in (ratings, history)]
        return [(_WRITE_SEVERAL_SQL, json_lists)]
    upserts = [(_UPSERT_SQL, rating) for rating in ratings]
    return [*upserts, *((_APPEND_SQL, entry) for entry in history)]


def _iter_earlier_values(
    row: RatingWrite,
    rating: tuple[Any, ...],
    context: WriteContext,
    adapt_time: Callable[[datetime.datetime], Any],
) -> Iterator[tuple[Any, ...]]:
    """Yield the history entry of each answer that the row supersedes, as values of _APPEND_SQL.

    ``rating``: the values of _RATING_COLUMNS of the row.
    """
    empty_texts = [""] * len(STORED_TEXTS)
    for _item, _rater, code, time, *versions in _iter_superseded(row, context):
        recorded = (adapt_time(context.now), row.by_id, context.source, True)
        key = rating[: len(_KEY_COLUMNS)]
        yield (code, adapt_time(time), *recorded, *versions, *empty_texts, *key)


def _build_append_statement(
    by_id: int | None, context: WriteContext, superseded: Sequence[tuple[Any, ...]]
) -> bulk.Statement:
    """Return the statement that appends history entries of the written rows, all by one user.

    ``by_id`` is None for no user. On PostgreSQL it also appends the earlier answers, ``superseded``
    by the rows.
    """
    if superseded and connection.vendor == "postgresql":
        earlier = json.dumps(superseded, default=str)
        return _APPEND_WITH_EARLIER_SQL, [by_id, context.source, earlier]
    return _APPEND_WRITTEN_SQL, [by_id, context.source]


def _iter_superseded(row: RatingWrite, context: WriteContext) -> Iterator[tuple[Any, ...]]:
    """Yield (item, rater, code, time, guidelines version, item version) of superseded answers."""
    judgement = row.judgement
    for code, rated_at in judgement.superseded:
        versions = context.state.get_versions(judgement.item_id, rated_at or judgement.rated_at)
        yield judgement.item_id, judgement.rater_id, code, rated_at or row.rated_at, *versions
