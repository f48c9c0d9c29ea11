"""Locks, snapshots and time limits of a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from .bulk import Statement, execute_statements


def build_advisory_lock(lock_key: int, object_id: int, *, shared: bool = False) -> list[Statement]:
    """Build the statement that takes PostgreSQL's advisory lock until the transaction ends.

    SQLite needs none: it has one writer at a time.
    """
    if connection.vendor != "postgresql":
        return []
    function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    return [(f"SELECT {function}(%s, %s)", [lock_key, object_id])]


def take_advisory_lock(lock_key: int, object_id: int, *, shared: bool = False) -> None:
    execute_statements(build_advisory_lock(lock_key, object_id, shared=shared))


def lock_row_shared(
    table: str, row_id: int, *, key: str = "id", allows_updates: bool = True
) -> None:
    """Lock a row against exclusive locks until the transaction ends; wait for one that is held.

    ``key``: the column that ``row_id`` identifies the row by. With ``allows_updates``, others may
    still change columns that are no key. SQLite has no such locks.
    """
    if connection.vendor == "postgresql":
        strength = "KEY SHARE" if allows_updates else "SHARE"
        sql = f"SELECT 1 FROM {table} WHERE {key} = %s FOR {strength}"  # noqa: S608 - fixed names
        execute_statements([(sql, [row_id])])


def limit_statement_time(database: Any, milliseconds: int) -> None:
    """Limit the time of each statement until the transaction ends; no effect on SQLite."""
    if database.vendor == "postgresql":
        with database.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {milliseconds}")


@contextmanager
def open_snapshot() -> Iterator[None]:
    """Let all queries inside the block read one consistent snapshot of the database.

    Inside a transaction it changes nothing: the queries read what that transaction sees.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    else:
        # Django's transactions take SQLite's write lock immediately; this one only reads.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
