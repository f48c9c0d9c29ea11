"""PostgreSQL plans by what it last heard of a table, and that may be that a full table is empty:
when it was looked at, all rows were still being written. No statement may then read all ratings
again for each of many items."""

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
MANY_ITEMS = 1_800  # no portion is larger
RATERS = 4
# at each rating, by everything below together; ITEMS of them already, when one statement goes
# astray
LOOKS = 60

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.postgresql_only("SQLite plans without them"),
]


@pytest.fixture
def believed_empty() -> Callable[[], None]:
    """Make the planner believe so. With an empty index a plan through any index costs the same."""

    def fool() -> None:
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

    return fool


def read(table: str) -> int:
    """Rows of the table that this transaction has looked at so far."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)"
            " FROM pg_stat_xact_user_tables WHERE relname = %s",
            [table],
        )
        return int(cursor.fetchone()[0])


def said_of(items: list[Item], raters: list[Rater], code: int) -> list[Judgement]:
    return [Judgement(item.pk, rater.pk, code) for item in items for rater in raters]


def test_no_statement_reads_all_ratings_for_each_item(
    question: Question, believed_empty: Callable[[], None]
) -> None:
    project = question.project
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={}) for number in range(ITEMS)
    )
    raters = Rater.objects.bulk_create(
        Rater(project=project, key=f"r{number}") for number in range(RATERS)
    )

    def rate(code: int) -> Any:
        return record_ratings({question: said_of(items, raters, code)}, by=None, source="api")

    rate(0)
    before = read("ratings_rating")
    believed_empty()
    with transaction.atomic():
        slots.recount([item.pk for item in items])
    question_updates.update_question(question.pk)
    rate(1)
    rate(-1)
    rate(2)
    question_updates.update_question(question.pk)

    assert read("ratings_rating") - before < LOOKS * ITEMS * RATERS
    assert set(Item.objects.values_list("places_taken", flat=True)) == {RATERS}
    assert Rating.objects.uncounted().count() == 0
    invariants.check(question.pk)


@pytest.mark.parametrize("step", [1, 3])  # all items, and some here and there
def test_what_was_counted_is_not_looked_through_for_each_rating(
    question: Question, believed_empty: Callable[[], None], step: int
) -> None:
    project = question.project
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={}) for number in range(MANY_ITEMS)
    )
    raters = Rater.objects.bulk_create(
        Rater(project=project, key=f"r{number}") for number in range(RATERS)
    )
    believed_empty()
    record_ratings({question: said_of(items[::step], raters, 1)}, by=None, source="api")
    plans: list[str] = []

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "marked" in sql and sql.lstrip().startswith(("SELECT", "UPDATE")):
            execute(f"EXPLAIN {sql}", params, many, context)
            plans.append("\n".join(line for (line,) in context["cursor"].fetchall()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explained):
        question_updates.update_question(question.pk)
    assert any("marked" in plan for plan in plans)
    assert not [plan for plan in plans if "Nested Loop" in plan]


def test_the_queue_reads_a_few_rows_of_each_item(
    question: Question, believed_empty: Callable[[], None]
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
    *done, last = items
    said = [Judgement(item.pk, rater.pk, 0) for item in done for rater in raters[:RATERS]]
    record_ratings({question: said}, by=None, source="api")
    times = {"leased_until": timezone.now(), "closed_at": timezone.now()}
    asked = [
        Assignment(item=item, rater=rater, state="skipped", **times)
        for item in done
        for rater in raters
    ]
    Assignment.objects.bulk_create(asked)
    before = read("ratings_rating") + read("ratings_assignment")
    believed_empty()
    for rater in (raters[0], raters[-1]):  # who rated all the others, and who skipped them
        assert queue.get_next_item(rater) == last
    assert read("ratings_rating") + read("ratings_assignment") - before < 2 * (
        len(said) + len(asked)
    )
