"""Plans stay good while PostgreSQL's statistics say that a full table is empty.

The table may have been analyzed while all its rows were still being written. No statement
may then read all ratings again for each of many items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from metrics.jobs import question_updates
from projects.models import Item, Question, Rater
from ratings.annotation.assignments import queue
from ratings.models import Assignment, Rating
from ratings.services import slots
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.metrics import invariants

ITEMS = 300
MANY_ITEMS = 1_800  # the largest batch
RATERS = 4
# Row reads for each rating by all work below together. One statement with a bad plan already needs
# ITEMS of them.
MAX_READS_PER_RATING = 60

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.postgresql_only("SQLite plans without them"),
]


@pytest.fixture
def make_tables_look_empty() -> Callable[[], None]:
    """Return a function that makes the planner believe that all tables are empty.

    With an empty index, a plan through any index costs the same.
    """

    def update_statistics() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
            if cursor.fetchone() != (True,):
                pytest.skip("only a superuser can tell the planner lies")
            cursor.execute(
                "UPDATE pg_class SET reltuples = 0, relpages = 10 WHERE relname ~ "
                "'^(projects|ratings|metrics)_'"
                " OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid::regclass::text ~ "
                "'^(projects|ratings)_')"
            )

    return update_statistics


def count_rows_read(table: str) -> int:
    """Return the number of rows of the table that this transaction has read so far."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)"
            " FROM pg_stat_xact_user_tables WHERE relname = %s",
            [table],
        )
        return int(cursor.fetchone()[0])


def build_judgements(items: list[Item], raters: list[Rater], code: int) -> list[Judgement]:
    return [Judgement(item.pk, rater.pk, code) for item in items for rater in raters]


def test_no_statement_reads_all_ratings_for_each_item(
    question: Question, make_tables_look_empty: Callable[[], None]
) -> None:
    project = question.project
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={}) for number in range(ITEMS)
    )
    raters = Rater.objects.bulk_create(
        Rater(project=project, key=f"r{number}") for number in range(RATERS)
    )

    def rate(code: int) -> Any:
        return record_ratings(
            {question: build_judgements(items, raters, code)}, by=None, source="api"
        )

    rate(0)
    before = count_rows_read("ratings_rating")
    make_tables_look_empty()
    with transaction.atomic():
        slots.recount_slots([item.pk for item in items])
    question_updates.update_question(question.pk)
    rate(1)
    rate(-1)
    rate(2)
    question_updates.update_question(question.pk)

    assert count_rows_read("ratings_rating") - before < MAX_READS_PER_RATING * ITEMS * RATERS
    assert set(Item.objects.values_list("slots_taken", flat=True)) == {RATERS}
    assert Rating.objects.uncounted().count() == 0
    invariants.check(question.pk)


@pytest.mark.parametrize("step", [1, 3])  # all items, and every third item
def test_counted_ratings_are_not_scanned_for_each_rating(
    question: Question, make_tables_look_empty: Callable[[], None], step: int
) -> None:
    project = question.project
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={}) for number in range(MANY_ITEMS)
    )
    raters = Rater.objects.bulk_create(
        Rater(project=project, key=f"r{number}") for number in range(RATERS)
    )
    make_tables_look_empty()
    record_ratings({question: build_judgements(items[::step], raters, 1)}, by=None, source="api")
    plans: list[str] = []

    def explain_and_execute(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "marked" in sql and sql.lstrip().startswith(("SELECT", "UPDATE")):
            execute(f"EXPLAIN {sql}", params, many, context)
            plans.append("\n".join(line for (line,) in context["cursor"].fetchall()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain_and_execute):
        question_updates.update_question(question.pk)
    assert any("marked" in plan for plan in plans)
    assert not [plan for plan in plans if "Nested Loop" in plan]


def test_the_queue_reads_a_few_rows_of_each_item(
    question: Question, make_tables_look_empty: Callable[[], None]
) -> None:
    project = question.project
    project.overlap = 2 * RATERS
    project.save()
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": "x"}) for number in range(ITEMS)
    )
    raters = Rater.objects.bulk_create(
        Rater(project=project, key=f"r{number}") for number in range(2 * RATERS)
    )
    *rated_items, unrated_item = items
    judgements = [
        Judgement(item.pk, rater.pk, 0) for item in rated_items for rater in raters[:RATERS]
    ]
    record_ratings({question: judgements}, by=None, source="api")
    times = {"leased_until": timezone.now(), "closed_at": timezone.now()}
    assignments = [
        Assignment(item=item, rater=rater, state="skipped", **times)
        for item in rated_items
        for rater in raters
    ]
    Assignment.objects.bulk_create(assignments)
    before = count_rows_read("ratings_rating") + count_rows_read("ratings_assignment")
    make_tables_look_empty()
    for rater in (raters[0], raters[-1]):  # one rated all the others, one skipped them
        assert queue.get_next_item(rater) == unrated_item
    assert count_rows_read("ratings_rating") + count_rows_read(
        "ratings_assignment"
    ) - before < 2 * (len(judgements) + len(assignments))
