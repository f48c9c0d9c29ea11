"""Locks between those who rate or join and those who change what it means. SQLite needs none: its
writers stand in one line."""

from __future__ import annotations

from django.db import connection

from core.db.bulk import Statement, several

# First keys of advisory locks; the second is an id.
CATEGORIES = 0x636174  # of a question
ITEMS = 0x69746D  # of a project


def hold_categories(question_id: int) -> list[Statement]:
    """Statements after which, until the transaction ends, nobody can change the question's
    categories. Writers of ratings share this lock, and send it along with what they ask first."""
    return _locking("pg_advisory_xact_lock_shared", CATEGORIES, question_id)


def change_categories(question_id: int) -> None:
    """Wait for the writers of ratings, and keep them waiting until the transaction ends."""
    several(_locking("pg_advisory_xact_lock", CATEGORIES, question_id))


def write_items(project_id: int) -> list[Statement]:
    """Statements after which, until the transaction ends, nobody else can make items of the project
    by their keys; they wait for who does. So items can be made in the order in which they were
    given: two who make the same ones in different orders never wait for each other in a circle."""
    return _locking("pg_advisory_xact_lock", ITEMS, project_id)


def hold_project(project_id: int) -> None:
    """Until the transaction ends, nobody can take the project's row to themselves; wait for who
    has. Rows that refer to the project hold it only when they are committed: that they do is
    checked no sooner."""
    if connection.vendor == "postgresql":
        hold = "SELECT 1 FROM projects_project WHERE id = %s FOR KEY SHARE"
        several([(hold, [project_id])])


def _locking(function: str, kind: int, number: int) -> list[Statement]:
    if connection.vendor != "postgresql":
        return []
    return [(f"SELECT {function}(%s, %s)", [kind, number])]
