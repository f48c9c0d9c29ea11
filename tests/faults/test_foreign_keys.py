"""Ratings and revisions never refer to missing rows, whatever happens concurrently."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from projects.models import Item, Question, Rater
from ratings.models import Rating, Revision
from tests.faults.threads import start_threads, wait_for_results, wait_until_blocked

pytestmark = pytest.mark.django_db(transaction=True)

postgresql_only = pytest.mark.postgresql_only("SQLite has one writer at a time")
each_reference = pytest.mark.parametrize("name", ["question", "item", "rater", "rating", "by"])
MISSING_ID = 10**9


@pytest.fixture
def parents(project: Any) -> dict[str, Any]:
    """Return a row of each kind that ratings and revisions refer to; nothing refers to it yet."""
    own_parents, other_parents = (
        {
            "question": Question.objects.create(project=project, key=key, text="?", position=9),
            "item": Item.objects.create(project=project, key=key),
            "rater": Rater.objects.create(project=project, key=key),
        }
        for key in ("a", "b")
    )
    return {
        **own_parents,
        "rating": create_row(Rating, **other_parents),
        "by": User.objects.create(username="gone"),
    }


def create_row(model: Any, **fields: Any) -> Any:
    now = timezone.now()
    extra = (
        {"changed_at": now, "day": 0} if model is Rating else {"recorded_at": now, "source": "api"}
    )
    return model.objects.create(code=0, rated_at=now, **extra, **fields)


def create_child(parents: dict[str, Any], name: str) -> Any:
    """Create a row that refers to the parent ``name``."""
    model, names = (
        (Revision, ["rating", "by"])
        if name in ("rating", "by")
        else (Rating, ["question", "item", "rater"])
    )
    return create_row(model, **{field: parents[field] for field in names})


def execute_sql(sql: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def delete_row(parent: Any) -> None:
    """Delete the row in SQL, past Django's own search for children."""
    execute_sql(f"DELETE FROM {parent._meta.db_table} WHERE id = %s", parent.pk)


def is_stored(row: Any) -> bool:
    return type(row).objects.filter(pk=row.pk).exists()


@each_reference
def test_reference_to_a_missing_row_is_rejected(parents: dict[str, Any], name: str) -> None:
    existing = create_child(parents, name)
    table, model, column = (
        existing._meta.db_table,
        type(existing),
        existing._meta.get_field(name).column,
    )
    with pytest.raises(IntegrityError):
        model.objects.filter(pk=existing.pk).update(**{column: MISSING_ID})
    parents_with_one_missing = {**parents, name: type(parents[name])(pk=MISSING_ID)}
    with pytest.raises(IntegrityError):
        create_child(parents_with_one_missing, name)
    columns = ", ".join(field.column for field in existing._meta.fields if not field.primary_key)
    selected_columns = columns.replace(column, f"id + {MISSING_ID}")
    with pytest.raises(IntegrityError):
        execute_sql(f"INSERT INTO {table} ({columns}) SELECT {selected_columns} FROM {table}")
    assert getattr(model.objects.get(pk=existing.pk), column) == parents[name].pk
    assert not model.objects.filter(**{f"{column}__gte": MISSING_ID}).exists()


@each_reference
def test_referenced_row_cannot_be_deleted_or_renumbered(parents: dict[str, Any], name: str) -> None:
    child_row, parent = create_child(parents, name), parents[name]
    table = parent._meta.db_table
    with pytest.raises(IntegrityError):
        delete_row(parent)
    with pytest.raises(IntegrityError):
        execute_sql(f"UPDATE {table} SET id = %s WHERE id = %s", MISSING_ID, parent.pk)
    assert is_stored(parent)
    type(child_row).objects.filter(pk=child_row.pk)._raw_delete("default")
    delete_row(parent)
    assert not is_stored(parent)


def test_author_of_a_revision_is_optional(parents: dict[str, Any]) -> None:
    create_child({**parents, "by": None}, "rating")
    delete_row(parents["by"])


@postgresql_only
@each_reference
def test_writer_waits_for_a_delete_and_is_rejected(parents: dict[str, Any], name: str) -> None:
    with transaction.atomic():
        delete_row(parents[name])
        futures = start_threads(lambda: create_child(parents, name))
        wait_until_blocked()
    with pytest.raises(IntegrityError):
        wait_for_results(futures)
    assert not is_stored(parents[name])


@postgresql_only
@each_reference
def test_writer_continues_after_a_delete_is_rolled_back(parents: dict[str, Any], name: str) -> None:
    with transaction.atomic():
        delete_row(parents[name])
        futures = start_threads(lambda: create_child(parents, name))
        wait_until_blocked()
        transaction.set_rollback(True)
    (child_row,) = wait_for_results(futures)
    assert is_stored(parents[name])
    assert is_stored(child_row)


@postgresql_only
@each_reference
def test_row_may_be_deleted_and_recreated_in_one_transaction(
    parents: dict[str, Any], name: str
) -> None:
    child_row, parent = create_child(parents, name), parents[name]
    with transaction.atomic():
        delete_row(parent)
        parent.save(force_insert=True)
    assert is_stored(parent)
    assert is_stored(child_row)
