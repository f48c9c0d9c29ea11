"""Slots of an item beyond the project's overlap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from projects.models import Item, Project, Question, Rater
from projects.services import projects
from ratings.annotation.assignments import queue
from ratings.services import slots

pytestmark = pytest.mark.django_db

Rate = Callable[..., Any]


@pytest.fixture
def full_item(project: Project, question: Question, rate: Rate) -> Item:
    """Return an item with an overlap of two, rated by two raters."""
    project.overlap = 2
    project.save()
    item = Item.objects.create(project=project, key="i0", body={"text": "x"})
    for key in ("x", "y"):
        rate(question, "i0", key, "major")
    return item


def request_one_more_rating(item: Item) -> None:
    with transaction.atomic():
        demand = slots.lock_and_get_demand(item.pk, overlap=2)
        assert demand is not None
        slots.set_requested_slots(item.pk, demand.taken + 1, overlap=2)


def get_next_item_for(project: Project, key: str) -> Item | None:
    Rater.objects.get_or_create(project=project, key=key)
    return queue.get_next_item(Rater.objects.select_related("project").get(key=key))


def test_one_more_rating_of_a_full_item_goes_to_one_rater(
    project: Project, full_item: Item, question: Question, rate: Rate
) -> None:
    assert get_next_item_for(project, "z") is None
    request_one_more_rating(full_item)
    assert get_next_item_for(project, "x") is None  # has rated it
    assert get_next_item_for(project, "z") == full_item
    assert get_next_item_for(project, "w") is None  # while it is open
    assert slots.lock_and_get_demand(full_item.pk, overlap=2) == slots.SlotDemand(
        requested=3, taken=3, open=1
    )
    rate(question, "i0", "z", "major")
    assert get_next_item_for(project, "w") is None
    full_item.refresh_from_db()
    assert (full_item.slots_taken, full_item.extra_slots) == (2, 1)


def test_withdrawn_rating_frees_a_requested_slot(
    project: Project, full_item: Item, question: Question, rate: Rate
) -> None:
    request_one_more_rating(full_item)
    rate(question, "i0", "z", "major")
    for key in ("x", "y", "z"):
        rate(question, "i0", key, None)
    full_item.refresh_from_db()
    assert full_item.slots_taken == 0
    for key in ("a", "b", "c"):
        assert get_next_item_for(project, key) == full_item
    assert get_next_item_for(project, "d") is None
    slots.recount_slots([full_item.pk])
    full_item.refresh_from_db()
    assert full_item.slots_taken == 2


def test_recount_of_many_items_equals_recount_of_one(
    project: Project, full_item: Item, question: Question, rate: Rate
) -> None:
    request_one_more_rating(full_item)
    other_items = Item.objects.bulk_create(
        Item(project=project, key=f"other{number}", body={"text": "x"}) for number in range(40)
    )
    Item.objects.update(slots_taken=7)
    slots.recount_slots([full_item.pk, *(item.pk for item in other_items)])
    assert set(Item.objects.values_list("slots_taken", flat=True)) == {0, 1}
    assert Item.objects.get(pk=full_item.pk).slots_taken == 1


def test_higher_overlap_is_not_added_to_requested_slots(
    project: Project, full_item: Item, question: Question, rate: Rate, lead: User
) -> None:
    request_one_more_rating(full_item)
    projects.change_project(project=project, by=lead, overlap=3)
    assert slots.lock_and_get_demand(full_item.pk, overlap=3) == slots.SlotDemand(
        requested=3, taken=2, open=0
    )
    assert get_next_item_for(project, "z") == full_item
    assert get_next_item_for(project, "w") is None


def test_item_without_content_has_no_demand(project: Project, full_item: Item) -> None:
    Item.objects.update(body={}, has_content=False)
    assert slots.lock_and_get_demand(full_item.pk, overlap=2) is None
