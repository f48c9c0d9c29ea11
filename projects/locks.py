"""Database locks between writers of ratings and items, and those who change settings.

SQLite needs none: it has one writer at a time.
"""

from __future__ import annotations

from core.db.bulk import Statement
from core.db.transactions import build_advisory_lock, lock_row_shared, take_advisory_lock

# First keys of PostgreSQL advisory locks; the second key is an id.
CATEGORIES_LOCK = 0x636174  # with a question id
ITEMS_LOCK = 0x69746D  # with a project id


def build_shared_categories_lock(question_id: int) -> list[Statement]:
    """Build the statements that lock the question's categories against changes.

    The lock is held until the transaction ends. Writers of ratings share this lock, and send it
    with their first query.
    """
    return build_advisory_lock(CATEGORIES_LOCK, question_id, shared=True)


def lock_categories(question_id: int) -> None:
    """Lock the question's categories exclusively until the transaction ends.

    Waits for running writers of ratings, and blocks new ones.
    """
    take_advisory_lock(CATEGORIES_LOCK, question_id)


def build_items_lock(project_id: int) -> list[Statement]:
    """Build the statements that lock the project's items against creation by others.

    The lock is held until the transaction ends; other writers are waited for. Items can thus be
    created in the order given: two writers that create the same items in different orders cannot
    deadlock.
    """
    return build_advisory_lock(ITEMS_LOCK, project_id)


def lock_items(project_id: int) -> None:
    """Lock the project's items against creation by others until the transaction ends.

    It is the lock of ``build_items_lock``.
    """
    take_advisory_lock(ITEMS_LOCK, project_id)


def share_categories_lock(question_id: int) -> None:
    """Lock the question's categories against changes until the transaction ends.

    It is the lock of ``build_shared_categories_lock``, which writers of ratings share.
    """
    take_advisory_lock(CATEGORIES_LOCK, question_id, shared=True)


def lock_project_row(project_id: int) -> None:
    """Lock the project's row against exclusive locks until the transaction ends.

    Waits for a running exclusive lock. Inserting rows that refer to the project is not enough: as
    the foreign key is deferred, this locks the project's row only at the commit.
    """
    lock_row_shared("projects_project", project_id)
