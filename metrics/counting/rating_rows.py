"""Load ratings from the database into arrays, and mark them as counted."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import numpy as np
from django.db import connection

from core.db import bulk

ROWS_AT_ONCE = 20_000  # fetched from the cursor

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
_SELECT_SQL = """
    SELECT id, item_id, rater_id, code, counted, day, counted_day
    FROM ratings_rating WHERE question_id = %s AND
    """

# Many rows are locked through the index of items, neither one by one nor by a full scan.
_LOCK_RANGE_SQL = """
    SELECT count(*) FROM (
        SELECT 1 FROM ratings_rating
        WHERE question_id = %s AND item_id BETWEEN %s AND %s
        ORDER BY item_id, rater_id FOR NO KEY UPDATE
    ) AS held
    """
_LOCK_MARKED_SQL = """
    SELECT count(*) FROM (
        SELECT 1 FROM ratings_rating
        WHERE question_id = %s AND item_id BETWEEN %s AND %s AND id IN (SELECT id FROM marked)
        ORDER BY item_id, rater_id FOR NO KEY UPDATE
    ) AS held
    """
_MARK_SQL = """
    UPDATE ratings_rating r SET counted = m.counted, counted_day = m.counted_day FROM marked m
    WHERE r.id = m.id AND question_id = %s AND item_id BETWEEN %s AND %s
    """

_CREATE_MARKED_SQL = """
    CREATE TEMP TABLE marked (id bigint, counted smallint, counted_day integer) ON COMMIT DROP
    """

_COPY_HEADER, _COPY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


# A row in PostgreSQL's binary COPY format: the number of fields, then the size and the value of
# each. NumPy writes it directly; a million rows written from Python numbers took a second.
_COPY_ROW = np.dtype(
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


def load_ratings_of_items(question_id: int, items: Sequence[int]) -> np.ndarray:
    """Return all ratings of the items as an array of ROW, read by one statement."""
    if not items:
        return np.zeros(0, ROW)
    condition, values = bulk.build_in_condition("item_id", items)
    with connection.cursor() as cursor:
        cursor.execute(_SELECT_SQL + condition, [question_id, *values])
        batches = iter(lambda: cursor.fetchmany(ROWS_AT_ONCE), [])
        return np.fromiter(itertools.chain.from_iterable(batches), dtype=ROW)


def load_ratings_of_keys(keys: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return all ratings of these (question, item) as an array of ROW, read by one statement."""
    if not keys:
        return np.zeros(0, ROW)
    if connection.vendor == "postgresql":
        source, key_part = f"{bulk.JSON_ROWS_SQL} AS k (value)", "(k.value->>{})::bigint"
    else:
        source, key_part = "json_each(%s) AS k", "json_extract(k.value, '$[{}]')"
    # CROSS JOIN makes SQLite read the list of keys first.
    sql = f"""
        SELECT r.id, item_id, rater_id, code, counted, day, counted_day
        FROM {source} CROSS JOIN ratings_rating r
        WHERE r.question_id = {key_part.format(0)} AND r.item_id = {key_part.format(1)}
        """
    with connection.cursor() as cursor:
        cursor.execute(sql, [json.dumps(keys)])
        return np.array(cursor.fetchall(), ROW)


def mark_rows_of_questions_counted(rows: np.ndarray) -> None:
    """Mark ratings of several questions, each of a different project, as counted.

    One statement for each rating, in the order (item, rater) in which other writers of a project
    lock its ratings: otherwise they could deadlock.
    """
    rows = rows[np.lexsort([rows["rater"], rows["item"]])]
    records = zip(*(rows[name].tolist() for name in ("code", "day", "id")), strict=True)
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE ratings_rating SET counted = %s, counted_day = %s WHERE id = %s", list(records)
        )


def mark_rows_counted(question_id: int, rows: np.ndarray) -> None:
    """Mark a question's ratings (array of ROW) as counted as they were read.

    Call it inside a transaction. The rows are locked in the order in which writers of ratings lock
    them. Otherwise a rater and a counting worker that want the same two rows could deadlock, and
    the database would abort one of them, perhaps the rater's request.
    """
    rows = rows[np.lexsort([rows["rater"], rows["item"]])]
    if connection.vendor == "postgresql" and rows.size >= bulk.COPY_MIN_ROWS:
        _mark_by_copy(question_id, rows)
        return
    records = zip(*(rows[name].tolist() for name in ("id", "code", "day")), strict=True)
    bulk.update_rows_by_id("ratings_rating", ["counted", "counted_day"], list(records))


def _mark_by_copy(question_id: int, rows: np.ndarray) -> None:
    """Mark many ratings as counted, by COPY into a temporary table and one UPDATE (PostgreSQL).

    ``rows``: array of ROW, in the order (item, rater).
    """
    copy_rows = np.empty(rows.size, _COPY_ROW)
    copy_rows["fields"] = 3
    for index, name in enumerate(("id", "code", "day")):
        copy_rows[name] = rows[name]
        copy_rows[f"l{index}"] = _COPY_ROW[name].itemsize
    first, last = int(rows["item"][0]), int(rows["item"][-1])
    bounds = [question_id, first, last]
    # If most items in the range are among the rows, lock the whole range in index order: a quarter
    # of the cost.
    lock_all = last - first < 2 * np.unique(rows["item"]).size
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS pg_temp.marked")
        cursor.execute(_CREATE_MARKED_SQL)
        with cursor.copy("COPY marked FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(_COPY_HEADER + copy_rows.tobytes() + _COPY_END)
        # When PostgreSQL's statistics underestimate the range, it would choose a nested loop, which
        # scans the range once for each rating.
        cursor.execute("SET LOCAL enable_nestloop = off")
        cursor.execute(_LOCK_RANGE_SQL if lock_all else _LOCK_MARKED_SQL, bounds)
        cursor.execute(_MARK_SQL, bounds)
        cursor.execute("SET LOCAL enable_nestloop TO DEFAULT")
