"""The planned order of the queue: a few planned items come first, by their positions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.utils import timezone

from projects.models import Item, Project, QueueOrder, Rater
from ratings.annotation.assignments import candidates, queue
from ratings.models import Assignment
from ratings.services import slots

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(project: Project) -> list[Item]:
    project.queue_order = QueueOrder.PLANNED_LABELS
    project.save()
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": "x"}) for number in range(30)
    )


def assign_next_items(rater: Rater, n_items: int) -> list[Item]:
    """Assign items to the rater one after the other and return them."""
    assigned = []
    for _ in range(n_items):
        item = queue.get_next_item(rater)
        assert item is not None
        assigned.append(item)
        Assignment.objects.filter(rater=rater).update(state="done", closed_at=timezone.now())
        slots.recount_slots([item.pk])
    return assigned


@pytest.fixture
def rater(project: Project, items: list[Item], monkeypatch: pytest.MonkeyPatch) -> Rater:
    monkeypatch.setattr(candidates, "RANDOM_EVERY", 2**64)  # no item is chosen at random
    return Rater.objects.select_related("project").get(key="ann")


def test_planned_items_come_first_and_then_the_others(
    project: Project, rater: Rater, items: list[Item]
) -> None:
    planned = [items[20], items[3], items[11]]
    assert candidates.set_planned_order(project.pk, [item.pk for item in planned]) == 3
    assigned = assign_next_items(rater, 30)
    assert assigned[:3] == planned
    assert sorted(item.pk for item in assigned) == [item.pk for item in items]


def test_new_plan_writes_only_moved_items(
    project: Project, rater: Rater, items: list[Item]
) -> None:
    ids = [item.pk for item in items]
    candidates.set_planned_order(project.pk, ids[:10])
    assert candidates.set_planned_order(project.pk, [ids[20], *ids[1:9]]) == 3
    assert assign_next_items(rater, 2) == [items[20], items[1]]
    with pytest.raises(ValueError, match="500"):
        candidates.set_planned_order(project.pk, [1] * 501)


def test_planned_item_that_is_full_or_withdrawn_is_passed_over(
    project: Project, rater: Rater, items: list[Item]
) -> None:
    candidates.set_planned_order(project.pk, [item.pk for item in items[:3]])
    Item.objects.filter(pk=items[0].pk).update(slots_taken=project.overlap)
    Item.objects.filter(pk=items[1].pk).update(withdrawn_at=timezone.now())
    assert assign_next_items(rater, 1) == [items[2]]


def test_project_in_another_order_ignores_the_plan(
    project: Project, rater: Rater, items: list[Item]
) -> None:
    candidates.set_planned_order(project.pk, [items[9].pk])
    rater.project.queue_order = QueueOrder.FIXED
    assert assign_next_items(rater, 1) == [items[0]]


def test_one_item_of_ten_is_chosen_at_random(project: Project) -> None:
    project.queue_order = QueueOrder.PLANNED_INTERVAL
    raters = [Rater(pk=number, project=project) for number in range(1, 21)]
    n_planned = sum(
        candidates.should_use_plan(rater, n_assigned)
        for rater in raters
        for n_assigned in range(100)
    )
    assert 1750 < n_planned < 1850


def test_planned_search_uses_its_index(
    project: Project, rater: Rater, items: list[Item], explain_query: Callable[[str, list], str]
) -> None:
    candidates.set_planned_order(project.pk, [item.pk for item in items[:5]])
    search_sql = candidates.build_planned_search_sql(3, 16, "")
    assert "item_by_plan" in explain_query(search_sql, [project.pk, 0, 0, rater.pk])


@pytest.fixture
def explain_query(project: Project) -> Callable[[str, list], str]:
    """Return a function that returns the database's plan of a statement."""

    def explain(sql: str, values: list) -> str:
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute(f"EXPLAIN QUERY PLAN {sql}", values)
            else:
                Item.objects.bulk_create(
                    Item(project=project, key=f"other{number}", body={"text": "x"})
                    for number in range(3_000)
                )
                cursor.execute("ANALYZE projects_item")
                cursor.execute(f"EXPLAIN {sql}", values)
            return " ".join(str(row) for row in cursor.fetchall())

    return explain
