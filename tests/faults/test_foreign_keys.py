"""A rating and a line of history never refer to what is not there, whatever happens beside."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from projects.models import Item, Question, Rater
from ratings.models import Rating, Revision
from tests.faults.threads import finish, start, wait_until_blocked

pytestmark = pytest.mark.django_db(transaction=True)

postgresql_only = pytest.mark.postgresql_only("SQLite has one writer at a time")
each_reference = pytest.mark.parametrize("name", ["question", "item", "rater", "rating", "by"])
MISSING = 10**9


@pytest.fixture
def parents(project: Any) -> dict[str, Any]:
    """A row of each kind that a rating or a line of history refers to. Nothing refers to it yet."""
    about, others = (
        {
            "question": Question.objects.create(project=project, key=key, text="?", position=9),
            "item": Item.objects.create(project=project, key=key),
            "rater": Rater.objects.create(project=project, key=key),
        }
        for key in ("a", "b")
    )
    return {**about, "rating": made(Rating, **others), "by": User.objects.create(username="gone")}


def made(model: Any, **fields: Any) -> Any:
    now = timezone.now()
    more = (
        {"changed_at": now, "day": 0} if model is Rating else {"recorded_at": now, "source": "api"}
    )
    return model.objects.create(code=0, rated_at=now, **more, **fields)


def child(parents: dict[str, Any], name: str) -> Any:
    """A new row that refers to the parent ``name``."""
    model, names = (
        (Revision, ["rating", "by"])
        if name in ("rating", "by")
        else (Rating, ["question", "item", "rater"])
    )
    return made(model, **{one: parents[one] for one in names})


def run(sql: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def delete(parent: Any) -> None:
    """Past Django, which looks for children itself."""
    run(f"DELETE FROM {parent._meta.db_table} WHERE id = %s", parent.pk)


def stands(row: Any) -> bool:
    return type(row).objects.filter(pk=row.pk).exists()


@each_reference
def test_nothing_refers_to_what_does_not_exist(parents: dict[str, Any], name: str) -> None:
    known = child(parents, name)
    table, model, column = known._meta.db_table, type(known), known._meta.get_field(name).column
    with pytest.raises(IntegrityError):
        model.objects.filter(pk=known.pk).update(**{column: MISSING})
    gone = {**parents, name: type(parents[name])(pk=MISSING)}
    with pytest.raises(IntegrityError):
        child(gone, name)
    columns = ", ".join(field.column for field in known._meta.fields if not field.primary_key)
    chosen = columns.replace(column, f"id + {MISSING}")
    with pytest.raises(IntegrityError):
        run(f"INSERT INTO {table} ({columns}) SELECT {chosen} FROM {table}")
    assert getattr(model.objects.get(pk=known.pk), column) == parents[name].pk
    assert not model.objects.filter(**{f"{column}__gte": MISSING}).exists()


@each_reference
def test_what_is_referred_to_stays(parents: dict[str, Any], name: str) -> None:
    kept, parent = child(parents, name), parents[name]
    table = parent._meta.db_table
    with pytest.raises(IntegrityError):
        delete(parent)
    with pytest.raises(IntegrityError):
        run(f"UPDATE {table} SET id = %s WHERE id = %s", MISSING, parent.pk)
    assert stands(parent)
    type(kept).objects.filter(pk=kept.pk)._raw_delete("default")
    delete(parent)
    assert not stands(parent)


def test_nobody_need_be_named(parents: dict[str, Any]) -> None:
    child({**parents, "by": None}, "rating")
    delete(parents["by"])


@postgresql_only
@each_reference
def test_a_writer_waits_for_who_deletes_and_then_finds_nothing_to_refer_to(
    parents: dict[str, Any], name: str
) -> None:
    with transaction.atomic():
        delete(parents[name])
        futures = start(lambda: child(parents, name))
        wait_until_blocked()
    with pytest.raises(IntegrityError):
        finish(futures)
    assert not stands(parents[name])


@postgresql_only
@each_reference
def test_a_writer_goes_on_when_nothing_was_deleted_after_all(
    parents: dict[str, Any], name: str
) -> None:
    with transaction.atomic():
        delete(parents[name])
        futures = start(lambda: child(parents, name))
        wait_until_blocked()
        transaction.set_rollback(True)
    (kept,) = finish(futures)
    assert stands(parents[name])
    assert stands(kept)


@postgresql_only
@each_reference
def test_a_row_may_be_deleted_and_made_again_in_one_transaction(
    parents: dict[str, Any], name: str
) -> None:
    kept, parent = child(parents, name), parents[name]
    with transaction.atomic():
        delete(parent)
        parent.save(force_insert=True)
    assert stands(parent)
    assert stands(kept)
