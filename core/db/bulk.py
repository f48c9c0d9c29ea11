"""Many rows in one go, the same call on SQLite and PostgreSQL.

Raw SQL because one statement must serve a single row in well under a millisecond and 100,000 rows
in a second: the ORM's bulk_create makes an object and a parameter list per row and costs ten times
as much. Table and column names come from the code alone, never from a request.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from django.db import connection

from .postgres_copy import copy_rows

FEW = 8  # rows that are updated by a statement each on one journey
COPY_FROM = 200  # rows from which COPY into a temporary table beats single statements on PostgreSQL
NAMED = 10  # so many values are named in a condition, more come as one list

Statement = tuple[str, Sequence[Any]]  # SQL and its parameters


def several(statements: Iterable[Statement]) -> list[list[tuple[Any, ...]]]:
    """The rows of each statement (none, where it returns none), in one journey to the database
    where it can.

    A small request spends most of its time on the way to PostgreSQL and back. Each statement sees
    what was committed when that statement began, as if they had been sent one by one.

    Raises Django's DatabaseError for the first statement that fails; those behind it are not done.
    """
    wanted = list(statements)
    if not wanted:
        return []
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            return _on_one_journey(cursor, wanted)
        return [_fetched(cursor.execute(sql, values) or cursor) for sql, values in wanted]


def _on_one_journey(cursor: Any, wanted: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    """``several`` in psycopg's pipeline. Django's cursor stands before one of psycopg's for each
    statement."""
    psycopg: Any = connection.Database  # type: ignore[attr-defined]  # so Django calls it
    raw = connection.connection
    asked = []
    with connection.wrap_database_errors, raw.pipeline():
        for sql, values in wanted:
            if list in map(type, values):
                # How long a list is decides on the plan. Django's kind of them writes values into
                # the text, and never prepares.
                cursor.cursor = raw.cursor()
            else:
                # psycopg's own kind prepares: parsing and planning cost as much as the work.
                cursor.cursor = psycopg.Cursor(raw)
            cursor.execute(sql, values)
            asked.append(cursor.cursor)
    return [one.fetchall() if one.rownumber is not None else [] for one in asked]


def _fetched(cursor: Any) -> list[tuple[Any, ...]]:
    return cursor.fetchall() if cursor.description else []


def upsert(
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    key: Sequence[str],
    update: dict[str, str] | None = None,
    then: Statement | None = None,
    as_given: bool = False,
) -> None:
    """Insert the rows; where ``key`` exists, set ``update`` (column -> SQL expression, "excluded.x"
    by default).

    ``as_given``: in the order of ``rows``, so that the ids of new ones follow it. Then the caller
    sees to it that two writers of the same rows never wait for each other in a circle.

    ``then`` is an INSERT that reads the rows as they stand now, in their order, from ``written``.
    It is cheaper than to send what it says once more.

    Must run inside a transaction. Rows must not repeat a key.
    """
    if not rows:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and len(rows) >= COPY_FROM:
            _copy(cursor, table, columns, rows)
            # In key order everywhere, so that two writers never wait for each other in a circle.
            order = "ctid" if as_given else _names(key)
            source = f"SELECT {_names(columns)} FROM incoming ORDER BY {order}"
            sql = _upsert(table, columns, source, key=key, update=update)
            if then is None:
                cursor.execute(sql)
            else:
                cursor.execute(f"WITH written AS ({sql} RETURNING *) {then[0]}", then[1])
        else:
            _upsert_few(cursor, table, columns, rows, key=key, update=update)
            if then is not None:
                _read_written(cursor, table, columns, rows, key=key, then=then)


def _upsert_few(
    cursor: Any,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    key: Sequence[str],
    update: dict[str, str] | None,
) -> None:
    """SQLite is quickest with a statement a row, and PostgreSQL with one for all."""
    if connection.vendor != "postgresql":
        cursor.executemany(upsert_one(table, columns, key=key, update=update), rows)
        return
    marks = f"({', '.join(['%s'] * len(columns))})"
    source = f"VALUES {', '.join([marks] * len(rows))}"
    cursor.execute(
        _upsert(table, columns, source, key=key, update=update),
        [value for row in rows for value in row],
    )


def _read_written(
    cursor: Any,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    key: Sequence[str],
    then: Statement,
) -> None:
    """``then``, with the rows found again by their key, which is of whole numbers."""
    places = [columns.index(column) for column in key]
    keys = json.dumps([[row[place] for place in places] for row in rows])
    if connection.vendor == "postgresql":
        source, part = f"{LIST} WITH ORDINALITY AS k(value, line)", "(k.value->>{})::bigint"
    else:
        source, part = "json_each(%s) AS k", "json_extract(k.value, '$[{}]')"
    same = " AND ".join(f't."{column}" = {part.format(place)}' for place, column in enumerate(key))
    # CROSS: SQLite reads the list first.
    found = f"SELECT t.* FROM {source} CROSS JOIN {table} t WHERE {same}"
    cursor.execute(f"WITH written AS ({found}) {then[0]}", [keys, *then[1]])


def upsert_one(
    table: str, columns: Sequence[str], *, key: Sequence[str], update: dict[str, str] | None = None
) -> str:
    """The statement that does for one row, its parameters, what ``upsert`` does for many."""
    return _upsert(
        table, columns, f"VALUES ({', '.join(['%s'] * len(columns))})", key=key, update=update
    )


def upsert_listed(
    table: str, types: Mapping[str, str], *, key: Sequence[str], update: dict[str, str]
) -> str:
    """The same for all rows of a JSON array of arrays, the one parameter, on PostgreSQL: it is
    prepared once, however many they are. ``types`` are of the columns."""
    return _upsert(
        table,
        list(types),
        f"SELECT {listed(types)} FROM {LIST} AS r (value)",
        key=key,
        update=update,
    )


LIST = "jsonb_array_elements(%s::jsonb)"


def listed(types: Mapping[str, str]) -> str:
    """What to select of the arrays of a LIST, each a ``value``."""
    return ", ".join(f"(value->>{place})::{name}" for place, name in enumerate(types.values()))


def _upsert(
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
    conflict = f"ON CONFLICT ({_names(key)}) DO " + (
        f"UPDATE SET {changes}" if changes else "NOTHING"
    )
    return f"INSERT INTO {table} ({_names(columns)}) {source} {conflict}"


def update_by_id(table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Set ``columns`` of the rows with the given ids; each row is (id, value, ...). Must run inside
    a transaction."""
    if not rows:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and len(rows) >= COPY_FROM:
            _copy(cursor, table, ["id", *columns], rows)
            changes = ", ".join(f'"{column}" = incoming."{column}"' for column in columns)
            cursor.execute(
                f"UPDATE {table} SET {changes} FROM incoming WHERE {table}.id = incoming.id"
            )
        else:
            changes = ", ".join(f'"{column}" = %s' for column in columns)
            sql, id_last = (
                f"UPDATE {table} SET {changes} WHERE id = %s",
                itemgetter(*range(1, 1 + len(columns)), 0),
            )
            if len(rows) <= FEW:
                several((sql, id_last(row)) for row in rows)
            else:
                cursor.executemany(sql, list(map(id_last, rows)))


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _copy(cursor: Any, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """The rows in a temporary table ``incoming`` with the column types of ``table``."""
    names = _names(columns)
    cursor.execute("DROP TABLE IF EXISTS pg_temp.incoming")
    cursor.execute(
        f"CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS SELECT {names} FROM {table} WITH NO "
        "DATA"
    )
    copy_rows(cursor, f"incoming ({names})", rows)


def ids_by_key(table: str, project_id: int, keys: Collection[str]) -> dict[str, int]:
    """key -> id of the project's rows of a table that has both columns (items, raters); unknown
    keys are left out."""
    return {key: pk for rows in several(find(table, "id", project_id, keys)) for key, pk in rows}


def find(table: str, columns: str, project_id: int, keys: Collection[str]) -> list[Statement]:
    """The statements, none or one, that find the project's rows with these keys: (key,
    *columns)."""
    if not keys:
        return []
    condition, values = among("key", list(keys))
    return [
        (
            f"SELECT key, {columns} FROM {table} WHERE project_id = %s AND {condition}",
            [project_id, *values],
        )
    ]


def among(column: str, values: Sequence[str] | Sequence[int]) -> Statement:
    """The condition that a column is one of these texts or whole numbers (at least one), and its
    parameters."""
    if len(values) <= NAMED:
        return f"{column} IN ({', '.join(['%s'] * len(values))})", values
    if connection.vendor != "postgresql":
        return f"{column} IN (SELECT value FROM json_each(%s))", [json.dumps(values)]
    return f"{column} = ANY(%s::{'bigint' if isinstance(values[0], int) else 'text'}[])", [
        list(values)
    ]
