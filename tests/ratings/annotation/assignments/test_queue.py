"""Assignment of items to raters by the queue."""

import datetime

import pytest
from django.db import connection
from django.utils import timezone

from projects.models import Item, QueueOrder, Rater
from projects.services.item_upsert import upsert_items
from ratings.annotation.assignments import candidates, queue
from ratings.models import Assignment
from ratings.services import slots
from tests.query_counts import measure_round_trips

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(project):
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": "x"}) for number in range(6)
    )


@pytest.fixture
def rater(project):
    return Rater.objects.get(key="ann")


@pytest.fixture
def create_rater(project):
    return lambda key: Rater.objects.create(project=project, key=key)


def close_assignment(rater, item, state=Assignment.State.DONE):
    """Close the assignment as an answer or a skip does, without storing a rating."""
    Assignment.objects.filter(rater=rater, item=item).update(state=state, closed_at=timezone.now())
    slots.recount_slots([item.pk])


def expire_lease(rater):
    Assignment.objects.filter(rater=rater).update(
        leased_until=timezone.now() - datetime.timedelta(seconds=1)
    )


def get_slots_taken(item):
    return Item.objects.get(pk=item.pk).slots_taken


def test_same_item_is_assigned_until_it_is_answered(rater, items):
    assert queue.get_next_item(rater) == items[0]
    assert queue.get_next_item(rater) == items[0]
    assert Assignment.objects.count() == 1


def test_items_come_in_the_order_they_were_added(rater, items, question, rate):
    assigned_items = []
    for _ in items:
        item = queue.get_next_item(rater)
        assigned_items.append(item)
        assert item
        rate(question, item.key, rater.key, "minor")
    assert assigned_items == items
    assert queue.get_next_item(rater) is None


def test_next_item_can_exclude_the_open_item(rater, items):
    open_item = queue.get_next_item(rater)
    assert open_item
    assert queue.get_next_item(rater, exclude_item_ids=[open_item.pk]) == items[1]
    assert queue.get_next_item(rater, exclude_item_ids=[open_item.pk]) == items[1]
    assert queue.get_next_item(rater) == open_item


def test_item_is_assigned_to_as_many_raters_as_the_overlap(project, items, create_rater):
    project.overlap = 2
    project.save()
    assigned_items = [queue.get_next_item(create_rater(f"r{number}")) for number in range(5)]
    assert assigned_items == [items[0], items[0], items[1], items[1], items[2]]
    assert get_slots_taken(items[0]) == 2


def test_ratings_from_other_sources_take_slots(rater, items, question, rate):
    for other_rater in ("x", "y", "z"):
        rate(question, "i0", other_rater, "major")
    assert queue.get_next_item(rater) == items[1]


def test_withdrawn_rating_frees_its_slot(rater, items, question, rate):
    for other_rater in ("x", "y", "z"):
        rate(question, "i0", other_rater, "major")
    rate(question, "i0", "x", None)
    assert get_slots_taken(items[0]) == 2
    assert queue.get_next_item(rater) == items[0]


def test_changed_rating_takes_no_further_slot(items, question, rate):
    rate(question, "i0", "x", "major")
    rate(question, "i0", "x", "minor")
    assert get_slots_taken(items[0]) == 1


def test_rater_of_two_questions_takes_one_slot(project, items, question, rate):
    from projects.models import Category, Question

    second_question = Question.objects.create(
        project=project, key="fluency", text="Fluent?", position=1
    )
    Category.objects.bulk_create(
        Category(question=second_question, code=code, label=label, position=code)
        for code, label in enumerate(("no", "yes"))
    )
    rate(question, "i0", "x", "major")
    rate(second_question, "i0", "x", "yes")
    assert get_slots_taken(items[0]) == 1
    rate(question, "i0", "x", None)
    assert get_slots_taken(items[0]) == 1
    rate(second_question, "i0", "x", None)
    assert get_slots_taken(items[0]) == 0


def test_item_rated_from_another_source_is_not_assigned(rater, items, question, rate):
    rate(question, "i0", rater.key, "minor")
    assert queue.get_next_item(rater) == items[1]


def test_open_item_rated_from_another_source_is_closed(rater, items, question, rate):
    queue.get_next_item(rater)
    rate(question, "i0", rater.key, "minor")
    assert queue.get_next_item(rater) == items[1]
    assert Assignment.objects.get(item=items[0]).state == Assignment.State.DONE
    assert get_slots_taken(items[0]) == 1


def test_item_with_withdrawn_rating_does_not_return_to_its_rater(rater, items, question, rate):
    rate(question, "i0", rater.key, "minor")
    rate(question, "i0", rater.key, None)
    assert queue.get_next_item(rater) == items[1]


def test_skipped_item_goes_only_to_other_raters(project, rater, items, create_rater):
    project.overlap = 1
    project.save()
    queue.get_next_item(rater)
    close_assignment(rater, items[0], Assignment.State.SKIPPED)
    assert queue.get_next_item(rater) == items[1]
    assert queue.get_next_item(create_rater("other")) == items[0]


def test_slot_of_an_expired_lease_is_free_again(project, rater, items, create_rater):
    project.overlap = 1
    project.save()
    queue.get_next_item(rater)
    other_rater = create_rater("other")
    assert queue.get_next_item(other_rater) == items[1]
    close_assignment(other_rater, items[1])
    expire_lease(rater)
    # The search continues after the last item. It returns to items that became free once it has
    # reached the end.
    for item in items[2:]:
        assert queue.get_next_item(other_rater) == item
        close_assignment(other_rater, item)
    assert queue.get_next_item(other_rater) == items[0]
    assert Assignment.objects.get(rater=rater).state == Assignment.State.EXPIRED


def test_expired_item_may_return_to_its_rater(rater, items):
    queue.get_next_item(rater)
    expire_lease(rater)
    queue.release_expired_assignments()
    assert get_slots_taken(items[0]) == 0
    for item in items[1:]:
        assert queue.get_next_item(rater) == item
        close_assignment(rater, item)
    assert queue.get_next_item(rater) == items[0]


def test_opening_the_item_again_extends_the_lease(rater, items):
    queue.get_next_item(rater)
    expire_lease(rater)
    queue.get_next_item(rater)
    assert Assignment.objects.get().leased_until > timezone.now() + datetime.timedelta(minutes=29)


def test_paused_rater_gets_no_item(rater, items):
    rater.paused = True
    assert queue.get_next_item(rater) is None
    assert not Assignment.objects.exists()


def test_a_raised_overlap_opens_full_items_again(
    project, rater, items, create_rater, question, rate
):
    project.overlap = 1
    project.save()
    for item in items:
        rate(question, item.key, "x", "major")
    assert queue.get_next_item(rater) is None
    project.overlap = 2
    project.save()
    rater.refresh_from_db()
    assert queue.get_next_item(rater) == items[0]


def test_slot_count_that_is_too_low_is_corrected_by_the_search(
    project, rater, items, question, rate
):
    for other_rater in ("x", "y", "z"):
        rate(question, "i0", other_rater, "major")
    Item.objects.update(slots_taken=0)
    assert queue.get_next_item(rater) == items[1]
    assert get_slots_taken(items[0]) == 3


def test_recount_corrects_every_row(project, items, question, rate):
    rate(question, "i3", "x", "major")
    Item.objects.update(slots_taken=9)
    slots.recount_slots([item.pk for item in items])
    assert list(Item.objects.values_list("slots_taken", flat=True)) == [0, 0, 0, 1, 0, 0]


def test_released_slot_can_be_claimed_again_while_free(project, rater, items, create_rater):
    project.overlap = 1
    project.save()
    item = queue.get_next_item(rater)
    assert item
    close_assignment(rater, item, Assignment.State.SKIPPED)
    assert queue.reclaim_slot(rater, item)
    assert not queue.reclaim_slot(create_rater("other"), item)
    assert get_slots_taken(item) == 1


def test_random_order_differs_by_rater_and_has_each_item_once(
    project, create_rater, question, rate
):
    project.queue_order = QueueOrder.RANDOM
    project.overlap = 2
    project.save()
    items = Item.objects.bulk_create(
        Item(project=project, key=f"r{number}", body={"text": "x"}) for number in range(30)
    )
    orders = []
    for rater in (create_rater("one"), create_rater("two")):
        order = []
        while (item := queue.get_next_item(rater)) is not None:
            order.append(item.pk)
            close_assignment(rater, item)
            rate(question, item.key, rater.key, "minor")
        orders.append(order)
    ids = [item.pk for item in items]
    assert sorted(orders[0]) == sorted(orders[1]) == ids
    assert orders[0] != orders[1]
    assert ids not in orders
    assert queue.get_next_item(create_rater("three")) is None


def test_items_of_other_projects_are_never_assigned(make_project, rater, items):
    other_project = make_project("Other")
    Item.objects.create(project=other_project, key="a", body={"text": "x"})
    project_ids = set()
    while (item := queue.get_next_item(rater)) is not None:
        project_ids.add(item.project_id)
        close_assignment(rater, item)
    assert project_ids == {rater.project_id}


@pytest.mark.parametrize("order", QueueOrder.values)
def test_overlap_larger_than_the_number_of_search_levels(project, rater, items, order):
    project.overlap = 2 * candidates.MAX_LEVELS + 1
    project.queue_order = order
    project.save()
    rater.refresh_from_db()
    slot_counts = (
        project.overlap - 1,
        0,
        project.overlap,
        candidates.MAX_LEVELS - 1,
        candidates.MAX_LEVELS,
        candidates.MAX_LEVELS + 1,
    )
    for item, slot_count in zip(items, slot_counts, strict=True):
        Item.objects.filter(pk=item.pk).update(slots_taken=slot_count)
    assigned_items = []
    while (item := queue.get_next_item(rater)) is not None:
        assigned_items.append(item)
        close_assignment(rater, item)
    open_items = [items[0], items[1], *items[3:]]
    assert (
        assigned_items
        if order == QueueOrder.FIXED
        else sorted(assigned_items, key=lambda item: item.pk)
    ) == open_items


@pytest.mark.parametrize("order", QueueOrder.values)
def test_item_is_assigned_in_four_queries(project, items, order):
    """Two more begin and end the transaction. SQLite sends every statement separately."""
    project.queue_order = order
    project.save()
    # The random order depends on the rater's id: with some ids the search starts after all items
    # that are new to the rater.
    rater = Rater.objects.create(pk=10**9, project=project, key="always the same")
    close_assignment(rater, queue.get_next_item(rater))
    is_planned = QueueOrder(order).is_planned  # nothing is planned here, which takes one more query
    n_sqlite_queries = 14 if order == QueueOrder.FIXED else 15
    with measure_round_trips() as get_query_count:
        item = queue.get_next_item(rater)
    assert (
        get_query_count()
        == (n_sqlite_queries if connection.vendor == "sqlite" else 4 + 2) + is_planned
    )
    with measure_round_trips() as get_query_count:
        assert queue.get_next_item(rater) == item
    assert get_query_count() == (n_sqlite_queries - 10 if connection.vendor == "sqlite" else 1)


def test_empty_queue_is_searched_once(project, rater, items):
    """There is no second search for locked items if there are no candidates at all."""
    Item.objects.update(slots_taken=project.overlap)
    rater = Rater.objects.select_related("project").get(pk=rater.pk)
    is_sqlite = connection.vendor == "sqlite"
    with measure_round_trips() as get_query_count:
        assert queue.get_next_item(rater) is None
    assert get_query_count() == (4 + 2 + 3 + 2 if is_sqlite else 1 + 2 + 1 + 2)


# --- items that are never assigned


def test_item_without_content_waits_until_it_has_some(project, rater, items):
    Item.objects.filter(pk__in=[item.pk for item in items]).delete()
    empty_item, blank_item, item_with_text = (
        Item.objects.create(project=project, key=key, body=body)
        for key, body in (("bare", {}), ("blank", {"text": " "}), ("full", {"text": "x"}))
    )
    assert queue.get_next_item(rater) == item_with_text
    assert queue.get_next_item(rater, exclude_item_ids=[item_with_text.pk]) is None
    upsert_items(project=project, rows=[{"key": "blank", "body": {"text": "Here"}}])
    assert queue.get_next_item(rater, exclude_item_ids=[item_with_text.pk]) == blank_item
    assert not Assignment.objects.filter(item=empty_item).exists()


@pytest.mark.parametrize("order", QueueOrder.values)
def test_withdrawn_item_is_not_assigned(project, rater, items, order):
    project.queue_order = order
    project.save()
    rater.project.refresh_from_db()
    for item in items[:5]:
        upsert_items(
            project=project, rows=[{"key": item.key, "body": item.body, "withdrawn": True}]
        )
    assert queue.get_next_item(rater) == items[5]
    assert queue.get_next_item(rater, exclude_item_ids=[items[5].pk]) is None
    upsert_items(
        project=project, rows=[{"key": items[2].key, "body": items[2].body, "withdrawn": False}]
    )
    assert queue.get_next_item(rater, exclude_item_ids=[items[5].pk]) == items[2]


@pytest.mark.parametrize("change", [{"withdrawn": True, "body": {"text": "x"}}, {"body": {}}])
def test_item_withdrawn_while_open_is_not_assigned_again(project, rater, items, change):
    assert queue.get_next_item(rater) == items[0]
    upsert_items(project=project, rows=[{"key": items[0].key, **change}])
    assert queue.get_next_item(rater) == items[1]
    assert get_slots_taken(items[0]) == 1  # until the lease ends: an answer may still arrive
    expire_lease(rater)
    queue.release_expired_assignments()
    assert get_slots_taken(items[0]) == 0


def test_queue_search_uses_its_index(project, rater, items):
    search_sql = candidates.build_search_sql(3, 16, "")
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {search_sql}", [project.pk, 0, 9, rater.pk])
        else:
            # With many items that have all their ratings, as in an active project.
            Item.objects.bulk_create(
                Item(project=project, key=f"full{number}", body={"text": "x"}, slots_taken=3)
                for number in range(3_000)
            )
            cursor.execute("ANALYZE projects_item")
            cursor.execute(f"EXPLAIN {search_sql}", [project.pk, 0, 9, rater.pk])
        plan = " ".join(str(row) for row in cursor.fetchall())
    assert plan.count("item_to_assign") >= 3  # each of the levels
