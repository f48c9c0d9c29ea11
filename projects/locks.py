"""Database locks between writers of ratings and items, and those who change settings.

SQLite needs none: it has one writer at a time.
"""

from __future__ import annotations

from django.db import connection

from core.db.bulk import Statement, execute_statements

# First keys of PostgreSQL advisory locks; the second key is an id.
CATEGORIES_LOCK = 0x636174  # with a question id
ITEMS_LOCK = 0x69746D  # with a project id


def build_shared_categories_lock(question_id: int) -> list[Statement]:
    """Build the statements that lock the question's categories against changes.

    The lock is held until the transaction ends.

    Writers of ratings share this lock, and send it with their first query.
    """
    return _build_advisory_lock("pg_advisory_xact_lock_shared", CATEGORIES_LOCK, question_id)


def lock_categories(question_id: int) -> None:
    """Lock the question's categories exclusively until the transaction ends.

    Waits for running writers of ratings, and blocks new ones.
    """
    execute_statements(_build_advisory_lock("pg_advisory_xact_lock", CATEGORIES_LOCK, question_id))


def build_items_lock(project_id: int) -> list[Statement]:
    """Build the statements that lock the project's items against creation by key.

    The lock is held until the transaction ends.

    Waits for other writers. So items can be created in the order in which they were given, and two
    writers that create the same items in different orders cannot deadlock.
    """
    return _build_advisory_lock("pg_advisory_xact_lock", ITEMS_LOCK, project_id)


def lock_project_row(project_id: int) -> None:
    """Lock the project's row against exclusive locks until the transaction ends.

    Waits for a running exclusive lock.

    Rows that refer to the project lock it only at commit, because the foreign key is deferred.
    """
    if connection.vendor == "postgresql":
        sql = "SELECT 1 FROM projects_project WHERE id = %s FOR KEY SHARE"
        execute_statements([(sql, [project_id])])


def _build_advisory_lock(function: str, lock_key: int, object_id: int) -> list[Statement]:
    if connection.vendor != "postgresql":
        return []
    return [(f"SELECT {function}(%s, %s)", [lock_key, object_id])]
