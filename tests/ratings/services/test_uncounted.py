"""Uncounted ratings are found, whatever made them so, and on PostgreSQL without an index that makes
counting dear."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Count

from metrics.counting import question_counting
from metrics.integrity import audit
from metrics.jobs import question_updates
from metrics.models import CountState
from projects.models import Item, Question, Rater
from ratings.models import Rating, UncountedItem
from ratings.services import uncounted
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests import query_plans
from tests.metrics import invariants

pytestmark = pytest.mark.django_db
postgresql_only = pytest.mark.postgresql_only("SQLite has a partial index")
ITEMS, RATERS = 300, 3


@pytest.fixture
def rated(question: Question) -> Question:
    """More ratings than PostgreSQL is told one by one."""
    project = question.project
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}") for number in range(ITEMS)
    )
    raters = Rater.objects.bulk_create(
        Rater(project=project, key=f"r{number}") for number in range(RATERS)
    )
    new = [
        Judgement(item.pk, rater.pk, (item.pk + rater.pk) % 3) for item in items for rater in raters
    ]
    record_ratings({question: new}, by=None, source="api")
    return question


def found(question: Question) -> set[Rating]:
    return set(uncounted.get_ratings([question.pk]))


@pytest.mark.sqlite_only("PostgreSQL has notes")
def test_sqlite_never_looks_at_the_ratings_that_are_counted(question: Question) -> None:
    def ask() -> None:
        rows = uncounted.get_ratings([question.pk])
        list(rows)
        uncounted.get_ratings([question.pk, question.pk + 1]).count()
        list(rows.order_by().values_list("question__project_id").annotate(Count("id")))
        uncounted.list_question_ids()
        uncounted.get_backlog()
        uncounted.get_extent(question.pk)
        uncounted.list_next_items(question.pk, after=0, last=9, limit=5)
        uncounted.read_batch(question.pk)
        uncounted.read_batch(question.pk, limit=5)
        uncounted.read_batch(question.pk, first=1, last=9)
        uncounted.has_uncounted(question.pk)
        uncounted.count_by_question(5)
        uncounted.read_batches([question.pk], 5)

    found_by = query_plans.of_sqlite(ask)
    assert len(found_by) == 13
    for plan in found_by:
        assert "INDEX rating_uncounted" in plan, plan


@pytest.mark.sqlite_only("PostgreSQL keeps statistics")
def test_what_was_rated_last_has_an_index_of_its_own(question: Question) -> None:
    latest = Rating.objects.newest_for_question(question).values_list("item_id", flat=True)[:9]
    (plan,) = query_plans.of_sqlite(lambda: list(latest))
    assert "INDEX rating_latest" in plan
    others = Rating.objects.filter(question=question)
    for plan in query_plans.of_sqlite(lambda: [others.count(), others.filter(rater=1).exists()]):
        assert "rating_latest" not in plan


def test_every_way_to_leave_a_rating_uncounted_is_noticed(rated: Question) -> None:
    """The database sees to it: also where rows are changed behind the application's back."""
    assert len(found(rated)) == ITEMS * RATERS
    assert uncounted.list_question_ids() == {rated.pk}
    question_updates.update_question(rated.pk)
    assert found(rated) == uncounted.list_question_ids() == set()
    first, second, third, *_ = ratings = list(Rating.objects.order_by("pk"))
    Rating.objects.filter(pk=first.pk).update(code=-1)
    Rating.objects.filter(pk=second.pk).update(day=second.day + 1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ratings_rating SET counted = -1 WHERE id = %s", [third.pk])
    assert found(rated) == {first, second, third}
    Rating.objects.filter(pk=ratings[3].pk).update(comment="no change")
    late = Rater.objects.create(project=rated.project, key="late")
    made = Rating.objects.create(
        question=rated, item_id=first.item_id, rater=late, code=1, rated_at=first.rated_at,
        changed_at=first.changed_at, day=first.day,
    )  # fmt: skip
    assert found(rated) == {first, second, third, made}
    assert set(uncounted.get_ratings()) == found(rated)
    question_updates.reset_counts(rated)  # the counts still hold what the third one has forgotten
    question_updates.sweep_questions()
    invariants.check(rated.pk)


@postgresql_only
def test_marking_as_counted_touches_no_index(rated: Question) -> None:
    """PostgreSQL enters a new version of a row into all indexes, unless it stands on the page of
    the old one and no index, nor the condition of one, looks at what changed."""
    updated, beside = _updates()
    question_updates.update_question(rated.pk)
    now_updated, now_beside = _updates()
    assert now_updated - updated == ITEMS * RATERS
    assert now_beside - beside == ITEMS * RATERS


def _updates() -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = "
            "'ratings_rating'"
        )
        return cursor.fetchone()


@postgresql_only
def test_what_is_written_after_the_look_stays_noted(rated: Question, rate: Any) -> None:
    """Notes are removed one by one, not "all of this item": the newest one speaks of what was not
    read."""
    noted = uncounted.read_batch(rated.pk, limit=5)
    item = Item.objects.get(pk=noted.item_ids[0])
    rate(rated, item.key, "r0", "critical")
    uncounted.delete_notes(noted.note_ids)
    assert {rating.item_id for rating in found(rated)} >= {item.pk}
    assert uncounted.read_batch(rated.pk, limit=1).item_ids == [item.pk]


@postgresql_only
def test_notes_of_what_was_taken_back_are_thrown_away(rated: Question) -> None:
    question_updates.update_question(rated.pk)
    version = CountState.objects.get(question=rated).version
    rating = Rating.objects.earliest("pk")
    Rating.objects.filter(pk=rating.pk).update(code=(rating.code + 1) % 3)
    Rating.objects.filter(pk=rating.pk).update(code=rating.code)
    assert not found(rated)
    assert uncounted.list_question_ids() == {rated.pk}
    assert question_counting.count_items(rated.pk).n_items == 0
    assert not UncountedItem.objects.exists()
    # nothing moved, so no page is told to look
    assert CountState.objects.get(question=rated).version == version


@postgresql_only
def test_notes_of_a_question_that_is_gone_are_thrown_away(question: Question) -> None:
    UncountedItem.objects.create(question_id=question.pk + 1000, item_id=1, ratings=1)
    question_updates.sweep_questions()
    assert not UncountedItem.objects.exists()


@postgresql_only
def test_an_audit_finds_ratings_that_nobody_would_find(rated: Question) -> None:
    question_updates.update_question(rated.pk)
    Rating.objects.filter(code=1).update(code=2)
    UncountedItem.objects.all().delete()
    (difference,) = audit.audit_question(rated.pk).differences
    assert difference == "number of uncounted ratings that a worker finds : stored 0, recounted 300"
    question_updates.reset_counts(rated)
    question_updates.update_question(rated.pk)
    invariants.check(rated.pk)


@postgresql_only
def test_the_migration_takes_along_what_waits(rated: Question) -> None:
    migration: Any = importlib.import_module("ratings.migrations.0006_uncounted_items")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    with connection.schema_editor(atomic=False) as editor:
        migration.backwards(apps, editor)
        UncountedItem.objects.all().delete()
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_indexes WHERE indexname = 'rating_uncounted'")
            assert cursor.fetchone() == (1,)
        migration.forwards(apps, editor)
    assert len(found(rated)) == ITEMS * RATERS
    question_updates.update_question(rated.pk)
    invariants.check(rated.pk)
