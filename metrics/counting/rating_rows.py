"""Ratings from the database into an array, and back into the rows what was counted of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import numpy as np
from django.db import connection

from core.db import bulk

ROWS_AT_ONCE = 20_000  # fetched, and made numbers of

ROW = np.dtype(
    [
        ("id", "i8"),
        ("item", "i8"),
        ("rater", "i8"),
        ("code", "i8"),
        ("counted", "i8"),
        ("day", "i8"),
        ("counted_day", "i8"),
    ]
)
_READ = """
    SELECT id, item_id, rater_id, code, counted, day, counted_day
    FROM ratings_rating WHERE question_id = %s AND
    """

# Many are found by their place in the index of items, not one by one nor by a look at all.
_HOLD_ALL = """
    SELECT count(*) FROM (
        SELECT 1 FROM ratings_rating
        WHERE question_id = %s AND item_id BETWEEN %s AND %s
        ORDER BY item_id, rater_id FOR NO KEY UPDATE
    ) AS held
    """
_HOLD_COPIED = """
    SELECT count(*) FROM (
        SELECT 1 FROM ratings_rating
        WHERE question_id = %s AND item_id BETWEEN %s AND %s AND id IN (SELECT id FROM marked)
        ORDER BY item_id, rater_id FOR NO KEY UPDATE
    ) AS held
    """
_MARK_COPIED = """
    UPDATE ratings_rating r SET counted = m.counted, counted_day = m.counted_day FROM marked m
    WHERE r.id = m.id AND question_id = %s AND item_id BETWEEN %s AND %s
    """

_MAKE_COPIED = """
    CREATE TEMP TABLE marked (id bigint, counted smallint, counted_day integer) ON COMMIT DROP
    """

_HEAD, _END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"  # of a binary COPY


# Of many rows that go to PostgreSQL, COPY's binary form: the number of fields, then the bytes and
# the value of each. NumPy writes it as it is; number by number, through Python, a million took a
# second.
_MARKED = np.dtype(
    [
        ("fields", ">i2"),
        ("l0", ">i4"),
        ("id", ">i8"),
        ("l1", ">i4"),
        ("code", ">i2"),
        ("l2", ">i4"),
        ("day", ">i4"),
    ]
)


def of_items(question_id: int, items: Sequence[int]) -> np.ndarray:
    """All ratings of the items, read by one statement. Array of ROW."""
    if not items:
        return np.zeros(0, ROW)
    chosen, values = bulk.among("item_id", items)
    with connection.cursor() as cursor:
        cursor.execute(_READ + chosen, [question_id, *values])
        parts = iter(lambda: cursor.fetchmany(ROWS_AT_ONCE), [])
        return np.fromiter(itertools.chain.from_iterable(parts), dtype=ROW)


def of_keys(keys: Sequence[tuple[int, int]]) -> np.ndarray:
    """All ratings of these (question, item), read by one statement. Array of ROW."""
    if not keys:
        return np.zeros(0, ROW)
    if connection.vendor == "postgresql":
        source, part = f"{bulk.LIST} AS k (value)", "(k.value->>{})::bigint"
    else:
        source, part = "json_each(%s) AS k", "json_extract(k.value, '$[{}]')"
    # CROSS: SQLite reads the list first.
    sql = f"""
        SELECT r.id, item_id, rater_id, code, counted, day, counted_day
        FROM {source} CROSS JOIN ratings_rating r
        WHERE r.question_id = {part.format(0)} AND r.item_id = {part.format(1)}
        """
    with connection.cursor() as cursor:
        cursor.execute(sql, [json.dumps(keys)])
        return np.array(cursor.fetchall(), ROW)


def mark_few(rows: np.ndarray) -> None:
    """`mark` for rows of several questions, each of a project of its own: one statement each, which
    takes the lock, in the order in which writers of one project take theirs."""
    rows = rows[np.lexsort([rows["rater"], rows["item"]])]
    each = zip(*(rows[name].tolist() for name in ("code", "day", "id")), strict=True)
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE ratings_rating SET counted = %s, counted_day = %s WHERE id = %s", list(each)
        )


def mark(question_id: int, rows: np.ndarray) -> None:
    """Let every rating remember what was read of it. ``rows``: array of ROW, of this question.
    Inside a transaction.

    They are locked in the order in which writers of ratings lock them: else a rater and a counter
    that want the same two rows could wait for each other in a circle, and the database would end
    one of them, perhaps the rater.
    """
    rows = rows[np.lexsort([rows["rater"], rows["item"]])]
    if connection.vendor == "postgresql" and rows.size >= bulk.COPY_FROM:
        _mark_by_copy(question_id, rows)
        return
    each = zip(*(rows[name].tolist() for name in ("id", "code", "day")), strict=True)
    bulk.update_by_id("ratings_rating", ["counted", "counted_day"], list(each))


def _mark_by_copy(question_id: int, rows: np.ndarray) -> None:
    marked = np.empty(rows.size, _MARKED)
    marked["fields"] = 3
    for place, name in enumerate(("id", "code", "day")):
        marked[name] = rows[name]
        marked[f"l{place}"] = _MARKED[name].itemsize
    first, last = int(rows["item"][0]), int(rows["item"][-1])
    span = [question_id, first, last]
    # Where most items between are among them, all are held: in the order of the index, at a quarter
    # of the cost.
    most = last - first < 2 * np.unique(rows["item"]).size
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS pg_temp.marked")
        cursor.execute(_MAKE_COPIED)
        with cursor.copy("COPY marked FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(_HEAD + marked.tobytes() + _END)
        # Where PostgreSQL believes that the index holds next to none, it would look at all of them
        # for each rating.
        cursor.execute("SET LOCAL enable_nestloop = off")
        cursor.execute(_HOLD_ALL if most else _HOLD_COPIED, span)
        cursor.execute(_MARK_COPIED, span)
        cursor.execute("SET LOCAL enable_nestloop TO DEFAULT")
