"""Who is asked next."""

import datetime

import pytest
from django.db import connection
from django.utils import timezone

from projects.models import Item, QueueOrder, Rater
from projects.services.items.upsert import upsert_items
from ratings.annotation.assignments import candidates, queue
from ratings.models import Assignment
from ratings.services import slots
from tests.query_counts import journeys

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
def make_rater(project):
    return lambda key: Rater.objects.create(project=project, key=key)


def close(rater, item, state=Assignment.State.DONE):
    """What the desk does when an answer or a skip comes in, without its rating."""
    Assignment.objects.filter(rater=rater, item=item).update(state=state, closed_at=timezone.now())
    slots.recount([item.pk])


def run_out(rater):
    Assignment.objects.filter(rater=rater).update(
        leased_until=timezone.now() - datetime.timedelta(seconds=1)
    )


def stored_places(item):
    return Item.objects.get(pk=item.pk).places_taken


def test_the_same_item_is_given_until_it_is_answered(rater, items):
    assert queue.get_next_item(rater) == items[0]
    assert queue.get_next_item(rater) == items[0]
    assert Assignment.objects.count() == 1


def test_items_come_in_the_order_they_were_added(rater, items, question, rate):
    seen = []
    for _ in items:
        item = queue.get_next_item(rater)
        seen.append(item)
        assert item
        rate(question, item.key, rater.key, "minor")
    assert seen == items
    assert queue.get_next_item(rater) is None


def test_besides_gives_the_item_after_the_one_on_the_desk(rater, items):
    first = queue.get_next_item(rater)
    assert first
    assert queue.get_next_item(rater, exclude_item_id=first.pk) == items[1]
    assert queue.get_next_item(rater, exclude_item_id=first.pk) == items[1]
    assert queue.get_next_item(rater) == first


def test_an_item_is_given_to_as_many_raters_as_the_overlap_says(project, items, make_rater):
    project.overlap = 2
    project.save()
    given = [queue.get_next_item(make_rater(f"r{number}")) for number in range(5)]
    assert given == [items[0], items[0], items[1], items[1], items[2]]
    assert stored_places(items[0]) == 2


def test_ratings_from_elsewhere_take_places(rater, items, question, rate):
    for other in ("x", "y", "z"):
        rate(question, "i0", other, "major")
    assert queue.get_next_item(rater) == items[1]


def test_a_withdrawn_rating_frees_its_place(rater, items, question, rate):
    for other in ("x", "y", "z"):
        rate(question, "i0", other, "major")
    rate(question, "i0", "x", None)
    assert stored_places(items[0]) == 2
    assert queue.get_next_item(rater) == items[0]


def test_a_changed_rating_moves_no_place(items, question, rate):
    rate(question, "i0", "x", "major")
    rate(question, "i0", "x", "minor")
    assert stored_places(items[0]) == 1


def test_a_rater_of_two_questions_takes_one_place(project, items, question, rate):
    from projects.models import Category, Question

    second = Question.objects.create(project=project, key="fluency", text="Fluent?", position=1)
    Category.objects.bulk_create(
        Category(question=second, code=code, label=label, position=code)
        for code, label in enumerate(("no", "yes"))
    )
    rate(question, "i0", "x", "major")
    rate(second, "i0", "x", "yes")
    assert stored_places(items[0]) == 1
    rate(question, "i0", "x", None)
    assert stored_places(items[0]) == 1
    rate(second, "i0", "x", None)
    assert stored_places(items[0]) == 0


def test_an_item_the_rater_rated_elsewhere_is_not_given(rater, items, question, rate):
    rate(question, "i0", rater.key, "minor")
    assert queue.get_next_item(rater) == items[1]


def test_an_open_item_that_was_rated_elsewhere_leaves_the_desk(rater, items, question, rate):
    queue.get_next_item(rater)
    rate(question, "i0", rater.key, "minor")
    assert queue.get_next_item(rater) == items[1]
    assert Assignment.objects.get(item=items[0]).state == Assignment.State.DONE
    assert stored_places(items[0]) == 1


def test_a_withdrawn_item_does_not_come_back_to_its_rater(rater, items, question, rate):
    rate(question, "i0", rater.key, "minor")
    rate(question, "i0", rater.key, None)
    assert queue.get_next_item(rater) == items[1]


def test_a_skipped_item_goes_to_others_and_not_back(project, rater, items, make_rater):
    project.overlap = 1
    project.save()
    queue.get_next_item(rater)
    close(rater, items[0], Assignment.State.SKIPPED)
    assert queue.get_next_item(rater) == items[1]
    assert queue.get_next_item(make_rater("other")) == items[0]


def test_an_expired_place_is_free_again(project, rater, items, make_rater):
    project.overlap = 1
    project.save()
    queue.get_next_item(rater)
    other = make_rater("other")
    assert queue.get_next_item(other) == items[1]
    close(other, items[1])
    run_out(rater)
    # The search goes on behind the last item, and comes back to what became free when it has
    # reached the end.
    for item in items[2:]:
        assert queue.get_next_item(other) == item
        close(other, item)
    assert queue.get_next_item(other) == items[0]
    assert Assignment.objects.get(rater=rater).state == Assignment.State.EXPIRED


def test_an_expired_item_may_come_back_to_its_rater(rater, items):
    queue.get_next_item(rater)
    run_out(rater)
    queue.release_expired()
    assert stored_places(items[0]) == 0
    for item in items[1:]:
        assert queue.get_next_item(rater) == item
        close(rater, item)
    assert queue.get_next_item(rater) == items[0]


def test_looking_again_renews_the_time(rater, items):
    queue.get_next_item(rater)
    run_out(rater)
    queue.get_next_item(rater)
    assert Assignment.objects.get().leased_until > timezone.now() + datetime.timedelta(minutes=29)


def test_a_paused_rater_gets_nothing(rater, items):
    rater.paused = True
    assert queue.get_next_item(rater) is None
    assert not Assignment.objects.exists()


def test_a_raised_overlap_opens_full_items_again(project, rater, items, make_rater, question, rate):
    project.overlap = 1
    project.save()
    for item in items:
        rate(question, item.key, "x", "major")
    assert queue.get_next_item(rater) is None
    project.overlap = 2
    project.save()
    rater.refresh_from_db()
    assert queue.get_next_item(rater) == items[0]


def test_a_row_that_says_too_little_is_put_right_when_looked_at(
    project, rater, items, question, rate
):
    for other in ("x", "y", "z"):
        rate(question, "i0", other, "major")
    Item.objects.update(places_taken=0)
    assert queue.get_next_item(rater) == items[1]
    assert stored_places(items[0]) == 3


def test_recounting_makes_every_row_right(project, items, question, rate):
    rate(question, "i3", "x", "major")
    Item.objects.update(places_taken=9)
    slots.recount([item.pk for item in items])
    assert list(Item.objects.values_list("places_taken", flat=True)) == [0, 0, 0, 1, 0, 0]


def test_a_place_given_up_can_be_taken_again_while_there_is_one(project, rater, items, make_rater):
    project.overlap = 1
    project.save()
    item = queue.get_next_item(rater)
    assert item
    close(rater, item, Assignment.State.SKIPPED)
    assert queue.claim_slot(rater, item)
    assert not queue.claim_slot(make_rater("other"), item)
    assert stored_places(item) == 1


def test_random_order_differs_by_rater_and_shows_everything_once(
    project, make_rater, question, rate
):
    project.queue_order = QueueOrder.RANDOM
    project.overlap = 2
    project.save()
    items = Item.objects.bulk_create(
        Item(project=project, key=f"r{number}", body={"text": "x"}) for number in range(30)
    )
    orders = []
    for rater in (make_rater("one"), make_rater("two")):
        order = []
        while (item := queue.get_next_item(rater)) is not None:
            order.append(item.pk)
            close(rater, item)
            rate(question, item.key, rater.key, "minor")
        orders.append(order)
    ids = [item.pk for item in items]
    assert sorted(orders[0]) == sorted(orders[1]) == ids
    assert orders[0] != orders[1]
    assert ids not in orders
    assert queue.get_next_item(make_rater("three")) is None


def test_other_projects_items_are_never_given(make_project, rater, items):
    foreign = make_project("Other")
    Item.objects.create(project=foreign, key="a", body={"text": "x"})
    given = set()
    while (item := queue.get_next_item(rater)) is not None:
        given.add(item.project_id)
        close(rater, item)
    assert given == {rater.project_id}


@pytest.mark.parametrize("order", QueueOrder.values)
def test_more_overlap_than_levels_that_are_looked_at_one_by_one(project, rater, items, order):
    project.overlap = 2 * candidates.MAX_LEVELS + 1
    project.queue_order = order
    project.save()
    rater.refresh_from_db()
    levels = (
        project.overlap - 1,
        0,
        project.overlap,
        candidates.MAX_LEVELS - 1,
        candidates.MAX_LEVELS,
        candidates.MAX_LEVELS + 1,
    )
    for item, taken in zip(items, levels, strict=True):
        Item.objects.filter(pk=item.pk).update(places_taken=taken)
    given = []
    while (item := queue.get_next_item(rater)) is not None:
        given.append(item)
        close(rater, item)
    open_items = [items[0], items[1], *items[3:]]
    assert (
        given if order == QueueOrder.FIXED else sorted(given, key=lambda item: item.pk)
    ) == open_items


@pytest.mark.parametrize("order", QueueOrder.values)
def test_an_item_is_handed_out_in_four_journeys(project, items, order):
    """And in two that begin and end the transaction. SQLite gets the statements one by one."""
    project.queue_order = order
    project.save()
    # The random order hangs on the rater's id: with some, the search begins behind all that is new
    # to them.
    rater = Rater.objects.create(pk=10**9, project=project, key="always the same")
    close(rater, queue.get_next_item(rater))
    planned = QueueOrder(order).planned  # here nothing is: one more finds that out
    one_by_one = 14 if order == QueueOrder.FIXED else 15
    with journeys() as taken:
        item = queue.get_next_item(rater)
    assert taken() == (one_by_one if connection.vendor == "sqlite" else 4 + 2) + planned
    with journeys() as taken:
        assert queue.get_next_item(rater) == item
    assert taken() == (one_by_one - 10 if connection.vendor == "sqlite" else 1)


def test_nothing_left_is_found_out_once(project, rater, items):
    """Not a second time for items that are locked by somebody, where there are none at all."""
    Item.objects.update(places_taken=project.overlap)
    rater = Rater.objects.select_related("project").get(pk=rater.pk)
    one_by_one = connection.vendor == "sqlite"
    with journeys() as taken:
        assert queue.get_next_item(rater) is None
    assert taken() == (4 + 2 + 3 + 2 if one_by_one else 1 + 2 + 1 + 2)


# --- what is never asked for


def test_what_shows_nothing_waits_until_it_does(project, rater, items):
    Item.objects.filter(pk__in=[item.pk for item in items]).delete()
    bare, blank, full = (
        Item.objects.create(project=project, key=key, body=body)
        for key, body in (("bare", {}), ("blank", {"text": " "}), ("full", {"text": "x"}))
    )
    assert queue.get_next_item(rater) == full
    assert queue.get_next_item(rater, exclude_item_id=full.pk) is None
    upsert_items(project=project, rows=[{"key": "blank", "body": {"text": "Here"}}])
    assert queue.get_next_item(rater, exclude_item_id=full.pk) == blank
    assert not Assignment.objects.filter(item=bare).exists()


@pytest.mark.parametrize("order", QueueOrder.values)
def test_a_withdrawn_item_is_not_asked_for(project, rater, items, order):
    project.queue_order = order
    project.save()
    rater.project.refresh_from_db()
    for item in items[:5]:
        upsert_items(
            project=project, rows=[{"key": item.key, "body": item.body, "withdrawn": True}]
        )
    assert queue.get_next_item(rater) == items[5]
    assert queue.get_next_item(rater, exclude_item_id=items[5].pk) is None
    upsert_items(
        project=project, rows=[{"key": items[2].key, "body": items[2].body, "withdrawn": False}]
    )
    assert queue.get_next_item(rater, exclude_item_id=items[5].pk) == items[2]


@pytest.mark.parametrize("change", [{"withdrawn": True, "body": {"text": "x"}}, {"body": {}}])
def test_what_is_withdrawn_while_it_is_open_is_not_given_again(project, rater, items, change):
    assert queue.get_next_item(rater) == items[0]
    upsert_items(project=project, rows=[{"key": items[0].key, **change}])
    assert queue.get_next_item(rater) == items[1]
    assert stored_places(items[0]) == 1  # until its time is over: an answer may be on its way
    run_out(rater)
    queue.release_expired()
    assert stored_places(items[0]) == 0


def test_the_queue_is_read_off_its_index(project, rater, items):
    finding = candidates.get_search_sql(3, 16, "")
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {finding}", [project.pk, 0, 9, rater.pk])
        else:
            # Among many that have all their ratings, as in a project at work.
            Item.objects.bulk_create(
                Item(project=project, key=f"full{number}", body={"text": "x"}, places_taken=3)
                for number in range(3_000)
            )
            cursor.execute("ANALYZE projects_item")
            cursor.execute(f"EXPLAIN {finding}", [project.pk, 0, 9, rater.pk])
        plan = " ".join(str(row) for row in cursor.fetchall())
    assert plan.count("item_to_ask") >= 3  # each of the levels
