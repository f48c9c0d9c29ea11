"""Locks between those who rate and those who change a scale. SQLite needs none: its writers stand in one line."""

from __future__ import annotations

from django.db import connection

CATEGORIES = 0x636174  # first key of these advisory locks; the second is the question's id


def hold_categories(question_id: int) -> None:
    """Until the transaction ends nobody can change the question's categories. Writers of ratings share this lock."""
    _lock("pg_advisory_xact_lock_shared", question_id)


def change_categories(question_id: int) -> None:
    """Wait for the writers of ratings, and keep them waiting until the transaction ends."""
    _lock("pg_advisory_xact_lock", question_id)


def _lock(function: str, question_id: int) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}(%s, %s)", [CATEGORIES, question_id])
