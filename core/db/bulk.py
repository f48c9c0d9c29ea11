"""Bulk reads and writes of rows, with the same calls on SQLite and PostgreSQL.

Raw SQL, because one statement must handle a single row in well under a millisecond and 100,000
rows in a second: the ORM's bulk_create builds an object and a parameter list per row and costs ten
times as much. Table and column names come from the code alone, never from a request.
"""

from __future__ import annotations

import datetime
import itertools
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import is_, itemgetter
from typing import Any

from django.db import connection
from django.db.models import QuerySet

CHUNK_ROWS = 10_000  # rows formatted as text at a time


def copy_rows(cursor: Any, into: str, rows: Sequence[Sequence[Any]]) -> None:
    """Write rows of equal length into a PostgreSQL table by COPY.

    ``into``: the table's name and columns as SQL. Values are formatted a column at a time:
    psycopg's `copy.write_row` would double the time per row.
    """
    with cursor.copy(f"COPY {into} FROM STDIN") as copy:
        for start in range(0, len(rows), CHUNK_ROWS):
            columns = map(_format_column, zip(*rows[start : start + CHUNK_ROWS], strict=True))
            copy.write(
                "".join([f"{line}\n" for line in map("\t".join, zip(*columns, strict=True))])
            )


def _format_column(values: Sequence[Any]) -> list[str]:
    """Return a column's values as COPY reads them.

    Raises TypeError for a type that no table here has.
    """
    first_value = values[0]
    # Many columns hold one value in all rows: the question, the time, an empty comment.
    if all(map(is_, values, itertools.repeat(first_value))):
        return [_FORMATTERS[type(first_value)](first_value)] * len(values)
    return [_FORMATTERS[type(value)](value) for value in values]


def _escape(text: str) -> str:
    return text.translate(_ESCAPES) if _SPECIAL.search(text) else text


_SPECIAL = re.compile(r"[\\\t\n\r]")
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


class _CopyFormatters(dict[type, Callable[[Any], str]]):
    """Map each type to the function that formats its values for COPY.

    Enumerations use their base type.
    """

    def __missing__(self, value_type: type) -> Callable[[Any], str]:
        for base in value_type.__mro__[1:]:
            if base in self:
                self[value_type] = self[base]
                return self[value_type]
        raise TypeError(f"COPY cannot format {value_type.__name__}")


_FORMATTERS = _CopyFormatters(
    {
        type(None): lambda _none: r"\N",
        bool: str,
        int: str,
        float: repr,
        str: _escape,
        bytes: lambda value: rf"\\x{value.hex()}",
        datetime.date: datetime.date.isoformat,
        datetime.datetime: datetime.datetime.isoformat,
    }
)


MAX_PIPELINED_ROWS = 8  # rows; up to this many are updated by one statement each in one pipeline
COPY_MIN_ROWS = 200  # rows; from here on, COPY into a temporary table is faster on PostgreSQL
MAX_INLINE_VALUES = 10  # up to this many values are parameters of their own, more become one list

Statement = tuple[str, Sequence[Any]]  # SQL and its parameters


def execute_statements(statements: Iterable[Statement]) -> list[list[tuple[Any, ...]]]:
    """Execute the statements and return the rows of each (empty where it returns none).

    This takes one round trip to the database where it supports that: a small request spends most of
    its time on the way to PostgreSQL and back. Each statement sees what was committed when that
    statement began, as if they had been sent one by one.

    Raises Django's DatabaseError for the first statement that fails; those after it are not
    executed.
    """
    batch = list(statements)
    if not batch:
        return []
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            return _execute_in_pipeline(cursor, batch)
        return [_fetch_rows(cursor.execute(sql, values) or cursor) for sql, values in batch]


def _execute_in_pipeline(
    cursor: Any, statements: Sequence[Statement]
) -> list[list[tuple[Any, ...]]]:
    """Execute the statements in psycopg's pipeline; return the rows of each.

    ``cursor`` is Django's, which wraps a separate psycopg cursor for each statement.
    """
    psycopg: Any = connection.Database  # type: ignore[attr-defined]  # Django's name for the driver
    raw = connection.connection
    cursors = []
    with connection.wrap_database_errors, raw.pipeline():
        for sql, values in statements:
            if list in map(type, values):
                # The best plan depends on the length of the list. Django's cursor writes the
                # values into the SQL text and never prepares it.
                cursor.cursor = raw.cursor()
            else:
                # psycopg's own cursor prepares statements: parsing and planning cost as much as
                # the execution.
                cursor.cursor = psycopg.Cursor(raw)
            cursor.execute(sql, values)
            cursors.append(cursor.cursor)
    return [executed.fetchall() if executed.rownumber is not None else [] for executed in cursors]


def _fetch_rows(cursor: Any) -> list[tuple[Any, ...]]:
    return cursor.fetchall() if cursor.description else []


def select_from(statement: Statement, columns: str, tail: str = "") -> Statement:
    """Return the SELECT of ``columns`` from the rows of a statement; Django has none of a union.

    ``columns`` and ``tail`` are the SELECT list and the end of the statement, as SQL.
    """
    sql, values = statement
    return f"SELECT {columns} FROM ({sql}) AS selected {tail}", values


def insert_from_query(table: str, columns: Sequence[str], query: QuerySet[Any, Any]) -> None:
    """Insert the rows of a query into these columns."""
    sql, values = query.query.sql_with_params()
    execute_statements([(f"INSERT INTO {table} ({_quote_columns(columns)}) {sql}", values)])


def delete_rows_by_id(table: str, ids: Sequence[int]) -> None:
    """Delete the rows with these ids, of a table to which no other one refers."""
    if ids:
        condition, values = build_in_condition("id", ids)
        execute_statements([(f"DELETE FROM {table} WHERE {condition}", values)])


def upsert(
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    key: Sequence[str],
    update: dict[str, str] | None = None,
    follow_up: Statement | None = None,
    keep_order: bool = False,
) -> None:
    """Insert the rows, or update those whose ``key`` exists.

    ``update`` maps columns to SQL expressions ("excluded.x" by default).

    ``keep_order`` writes in the order of ``rows``, so that the ids of new rows follow it. The
    caller must then make sure that two writers of the same rows cannot deadlock.

    ``follow_up`` is an INSERT that reads the upserted rows, in their order, from the common table
    expression ``written``. This is cheaper than sending the same values again.

    Must run inside a transaction. Rows must not repeat a key.
    """
    if not rows:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and len(rows) >= COPY_MIN_ROWS:
            _copy_to_temp_table(cursor, table, columns, rows)
            # The same key order everywhere, so that two writers cannot deadlock.
            order = "ctid" if keep_order else _quote_columns(key)
            source = f"SELECT {_quote_columns(columns)} FROM incoming ORDER BY {order}"
            sql = _build_upsert(table, columns, source, key=key, update=update)
            if follow_up is None:
                cursor.execute(sql)
            else:
                cursor.execute(f"WITH written AS ({sql} RETURNING *) {follow_up[0]}", follow_up[1])
        else:
            _upsert_few(cursor, table, columns, rows, key=key, update=update)
            if follow_up is not None:
                execute_follow_up(cursor, table, columns, rows, key=key, follow_up=follow_up)


def _upsert_few(
    cursor: Any,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    key: Sequence[str],
    update: dict[str, str] | None,
) -> None:
    """Upsert with one statement per row on SQLite, and one for all rows on PostgreSQL.

    Each is the faster way on that database.
    """
    if connection.vendor != "postgresql":
        cursor.executemany(build_row_upsert(table, columns, key=key, update=update), rows)
        return
    row_placeholders = f"({', '.join(['%s'] * len(columns))})"
    source = f"VALUES {', '.join([row_placeholders] * len(rows))}"
    cursor.execute(
        _build_upsert(table, columns, source, key=key, update=update),
        [value for row in rows for value in row],
    )


def execute_follow_up(
    cursor: Any,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    key: Sequence[str],
    follow_up: Statement,
) -> None:
    """Execute ``follow_up`` (see ``upsert``) on rows that were written by another statement.

    They are selected again by their ``key``, whose columns are integers.
    """
    positions = [columns.index(column) for column in key]
    keys = json.dumps([[row[position] for position in positions] for row in rows])
    if connection.vendor == "postgresql":
        source = f"{JSON_ROWS_SQL} WITH ORDINALITY AS k(value, line)"
        key_sql = "(k.value->>{})::bigint"
    else:
        source, key_sql = "json_each(%s) AS k", "json_extract(k.value, '$[{}]')"
    key_condition = " AND ".join(
        f't."{column}" = {key_sql.format(position)}' for position, column in enumerate(key)
    )
    # CROSS JOIN makes SQLite read the list of keys first.
    written_sql = f"SELECT t.* FROM {source} CROSS JOIN {table} t WHERE {key_condition}"
    cursor.execute(f"WITH written AS ({written_sql}) {follow_up[0]}", [keys, *follow_up[1]])


def build_row_upsert(
    table: str, columns: Sequence[str], *, key: Sequence[str], update: dict[str, str] | None = None
) -> str:
    """Build the SQL that upserts one row, as ``upsert`` does for many.

    The row's values are the parameters.
    """
    return _build_upsert(
        table, columns, f"VALUES ({', '.join(['%s'] * len(columns))})", key=key, update=update
    )


def build_json_upsert(
    table: str, types: Mapping[str, str], *, key: Sequence[str], update: dict[str, str]
) -> str:
    """Build PostgreSQL's SQL that upserts all rows of a JSON array of arrays.

    The statement has one parameter, the array, so it is prepared once however many rows there are.
    ``types`` maps each column to its SQL type.
    """
    return _build_upsert(
        table,
        list(types),
        f"SELECT {build_json_columns(types)} FROM {JSON_ROWS_SQL} AS r (value)",
        key=key,
        update=update,
    )


JSON_ROWS_SQL = "jsonb_array_elements(%s::jsonb)"


def build_json_columns(types: Mapping[str, str]) -> str:
    """Build the SELECT list that casts the elements of each array ``value`` of JSON_ROWS_SQL.

    ``types`` maps each column, in the order of the elements, to its SQL type.
    """
    return ", ".join(
        f"(value->>{position})::{type_name}" for position, type_name in enumerate(types.values())
    )


def _build_upsert(
    table: str,
    columns: Sequence[str],
    source: str,
    *,
    key: Sequence[str],
    update: dict[str, str] | None,
) -> str:
    if update is None:
        update = {column: f'excluded."{column}"' for column in columns if column not in key}
    changes = ", ".join(f'"{column}" = {expression}' for column, expression in update.items())
    conflict = f"ON CONFLICT ({_quote_columns(key)}) DO " + (
        f"UPDATE SET {changes}" if changes else "NOTHING"
    )
    return f"INSERT INTO {table} ({_quote_columns(columns)}) {source} {conflict}"


def update_rows_by_id(
    table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, key: str = "id"
) -> None:
    """Set ``columns`` of the rows with the given ids (``key``); each row is (id, value, ...).

    Must run inside a transaction.
    """
    if not rows:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and len(rows) >= COPY_MIN_ROWS:
            _copy_to_temp_table(cursor, table, [key, *columns], rows)
            changes = ", ".join(f'"{column}" = incoming."{column}"' for column in columns)
            cursor.execute(
                f"UPDATE {table} SET {changes} FROM incoming WHERE {table}.{key} = incoming.{key}"
            )
        else:
            changes = ", ".join(f'"{column}" = %s' for column in columns)
            sql = f"UPDATE {table} SET {changes} WHERE {key} = %s"
            move_id_last = itemgetter(*range(1, 1 + len(columns)), 0)
            if len(rows) <= MAX_PIPELINED_ROWS:
                execute_statements((sql, move_id_last(row)) for row in rows)
            else:
                cursor.executemany(sql, list(map(move_id_last, rows)))


def _quote_columns(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _copy_to_temp_table(
    cursor: Any, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Copy the rows into a temporary table ``incoming`` with the column types of ``table``."""
    quoted_columns = _quote_columns(columns)
    cursor.execute("DROP TABLE IF EXISTS pg_temp.incoming")
    cursor.execute(
        "CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS "
        f"SELECT {quoted_columns} FROM {table} WITH NO DATA"
    )
    copy_rows(cursor, f"incoming ({quoted_columns})", rows)


def get_ids_by_key(table: str, project_id: int, keys: Collection[str]) -> dict[str, int]:
    """Return {key: id} of the project's rows of a table that has both columns (items, raters).

    Unknown keys are left out.
    """
    return {
        key: pk
        for rows in execute_statements(build_key_lookup(table, "id", project_id, keys))
        for key, pk in rows
    }


def build_key_lookup(
    table: str, columns: str, project_id: int, keys: Collection[str]
) -> list[Statement]:
    """Build the statements that select (key, *columns) of the project's rows with these keys.

    There is one statement, or none.
    """
    if not keys:
        return []
    condition, values = build_in_condition("key", list(keys))
    sql = f"SELECT key, {columns} FROM {table} WHERE project_id = %s AND {condition}"
    return [(sql, [project_id, *values])]


def build_in_condition(column: str, values: Sequence[str] | Sequence[int]) -> Statement:
    """Build the SQL condition that a column has one of these values; return it with its parameters.

    The values are texts or integers, at least one.
    """
    if len(values) <= MAX_INLINE_VALUES:
        return f"{column} IN ({', '.join(['%s'] * len(values))})", values
    if connection.vendor != "postgresql":
        return f"{column} IN (SELECT value FROM json_each(%s))", [json.dumps(values)]
    return f"{column} = ANY(%s::{'bigint' if isinstance(values[0], int) else 'text'}[])", [
        list(values)
    ]
