"""Uncounted ratings are found, whatever made them uncounted.

On PostgreSQL they are found without an index that would make counting expensive.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.models import Count

from metrics.counting import question_counting
from metrics.integrity import audit
from metrics.jobs import question_updates
from metrics.models import CountState
from projects.models import Item, Question, Rater
from ratings.models import Rating, UncountedItem
from ratings.services import uncounted_ratings
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests import query_plans
from tests.metrics import invariants

pytestmark = pytest.mark.django_db
postgresql_only = pytest.mark.postgresql_only("SQLite has a partial index")
ITEMS, RATERS = 300, 3


@pytest.fixture
def rated_question(question: Question) -> Question:
    """Rate more items than PostgreSQL writes one by one."""
    project = question.project
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}") for number in range(ITEMS)
    )
    raters = Rater.objects.bulk_create(
        Rater(project=project, key=f"r{number}") for number in range(RATERS)
    )
    judgements = [
        Judgement(item.pk, rater.pk, (item.pk + rater.pk) % 3) for item in items for rater in raters
    ]
    record_ratings({question: judgements}, by=None, source="api")
    return question


def get_uncounted(question: Question) -> set[Rating]:
    return set(uncounted_ratings.get_ratings([question.pk]))


@pytest.mark.sqlite_only("PostgreSQL has notes")
def test_sqlite_never_reads_counted_ratings(question: Question) -> None:
    def run_queries() -> None:
        rows = uncounted_ratings.get_ratings([question.pk])
        list(rows)
        uncounted_ratings.get_ratings([question.pk, question.pk + 1]).count()
        list(rows.order_by().values_list("question__project_id").annotate(Count("id")))
        uncounted_ratings.get_question_ids()
        uncounted_ratings.get_backlog()
        uncounted_ratings.get_last_item_and_count(question.pk)
        uncounted_ratings.list_next_items(question.pk, after=0, last=9, limit=5)
        uncounted_ratings.get_batch(question.pk)
        uncounted_ratings.get_batch(question.pk, limit=5)
        uncounted_ratings.get_batch(question.pk, first=1, last=9)
        uncounted_ratings.has_uncounted(question.pk)
        uncounted_ratings.count_by_question(5)
        uncounted_ratings.get_batches([question.pk], 5)

    sql_plans = query_plans.explain_sqlite_queries(run_queries)
    assert len(sql_plans) == 13
    for plan in sql_plans:
        assert "INDEX rating_uncounted" in plan, plan


@pytest.mark.sqlite_only("PostgreSQL keeps statistics")
def test_latest_ratings_have_their_own_index(question: Question) -> None:
    latest = Rating.objects.newest_for_question(question).values_list("item_id", flat=True)[:9]
    (plan,) = query_plans.explain_sqlite_queries(lambda: list(latest))
    assert "INDEX rating_latest" in plan
    ratings = Rating.objects.filter(question=question)
    for plan in query_plans.explain_sqlite_queries(
        lambda: [ratings.count(), ratings.filter(rater=1).exists()]
    ):
        assert "rating_latest" not in plan


def test_every_change_that_leaves_a_rating_uncounted_is_found(rated_question: Question) -> None:
    """The database itself tracks this, so changes outside the application are found, too."""
    assert len(get_uncounted(rated_question)) == ITEMS * RATERS
    assert uncounted_ratings.get_question_ids() == {rated_question.pk}
    question_updates.update_question(rated_question.pk)
    assert get_uncounted(rated_question) == uncounted_ratings.get_question_ids() == set()
    first, second, third, *_ = ratings = list(Rating.objects.order_by("pk"))
    Rating.objects.filter(pk=first.pk).update(code=-1)
    Rating.objects.filter(pk=second.pk).update(day=second.day + 1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ratings_rating SET counted = -1 WHERE id = %s", [third.pk])
    assert get_uncounted(rated_question) == {first, second, third}
    Rating.objects.filter(pk=ratings[3].pk).update(comment="no change")
    new_rater = Rater.objects.create(project=rated_question.project, key="late")
    new_rating = Rating.objects.create(
        question=rated_question, item_id=first.item_id, rater=new_rater, code=1, rated_at=first.rated_at,
        changed_at=first.changed_at, day=first.day,
    )  # fmt: skip
    assert get_uncounted(rated_question) == {first, second, third, new_rating}
    assert set(uncounted_ratings.get_ratings()) == get_uncounted(rated_question)
    question_updates.delete_counts_and_results(
        rated_question
    )  # the counts still contain the old code of the third rating
    question_updates.sweep_questions()
    invariants.check(rated_question.pk)


@postgresql_only
def test_marking_as_counted_touches_no_index(rated_question: Question) -> None:
    """PostgreSQL performs heap-only updates for ratings that are marked as counted.

    It adds a new row version to all indexes unless the version is on the page of the old one and no
    index, nor the condition of one, uses a changed column.
    """
    n_updated, n_heap_only = _get_update_counts()
    question_updates.update_question(rated_question.pk)
    n_updated_after, n_heap_only_after = _get_update_counts()
    assert n_updated_after - n_updated == ITEMS * RATERS
    assert n_heap_only_after - n_heap_only == ITEMS * RATERS


def _get_update_counts() -> tuple[int, int]:
    """Return the number of updates, and of heap-only updates, of the ratings table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = "
            "'ratings_rating'"
        )
        return cursor.fetchone()


@postgresql_only
def test_rating_written_after_the_scan_keeps_its_note(rated_question: Question, rate: Any) -> None:
    """Notes are removed one by one, not per item: the newest belongs to a rating that was not read."""
    batch = uncounted_ratings.get_batch(rated_question.pk, limit=5)
    item = Item.objects.get(pk=batch.item_ids[0])
    rate(rated_question, item.key, "r0", "critical")
    uncounted_ratings.delete_notes(batch.note_ids)
    assert {rating.item_id for rating in get_uncounted(rated_question)} >= {item.pk}
    assert uncounted_ratings.get_batch(rated_question.pk, limit=1).item_ids == [item.pk]


@postgresql_only
def test_notes_of_reverted_changes_are_deleted(rated_question: Question) -> None:
    question_updates.update_question(rated_question.pk)
    version = CountState.objects.get(question=rated_question).version
    rating = Rating.objects.earliest("pk")
    Rating.objects.filter(pk=rating.pk).update(code=(rating.code + 1) % 3)
    Rating.objects.filter(pk=rating.pk).update(code=rating.code)
    assert not get_uncounted(rated_question)
    assert uncounted_ratings.get_question_ids() == {rated_question.pk}
    assert question_counting.count_items(rated_question.pk).n_items == 0
    assert not UncountedItem.objects.exists()
    # Nothing changed, so no page needs an update.
    assert CountState.objects.get(question=rated_question).version == version


@postgresql_only
def test_notes_of_a_deleted_question_are_deleted(question: Question) -> None:
    UncountedItem.objects.create(question_id=question.pk + 1000, item_id=1, n_ratings=1)
    question_updates.sweep_questions()
    assert not UncountedItem.objects.exists()


@postgresql_only
def test_audit_finds_uncounted_ratings_without_a_note(rated_question: Question) -> None:
    question_updates.update_question(rated_question.pk)
    Rating.objects.filter(code=1).update(code=2)
    UncountedItem.objects.all().delete()
    (difference,) = audit.audit_question(rated_question.pk).differences
    assert difference == "number of uncounted ratings that a worker finds : stored 0, recounted 300"
    question_updates.delete_counts_and_results(rated_question)
    question_updates.update_question(rated_question.pk)
    invariants.check(rated_question.pk)
