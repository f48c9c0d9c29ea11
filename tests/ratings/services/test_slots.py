"""Places of an item beyond the project's overlap."""

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
def full(project: Project, question: Question, rate: Rate) -> Item:
    """Asked for twice, rated by two."""
    project.overlap = 2
    project.save()
    item = Item.objects.create(project=project, key="i0", body={"text": "x"})
    for key in ("x", "y"):
        rate(question, "i0", key, "major")
    return item


def once_more(item: Item) -> None:
    with transaction.atomic():
        asked = slots.lock_and_get_demand(item.pk, overlap=2)
        assert asked is not None
        slots.set_requested_slots(item.pk, asked.taken + 1, overlap=2)


def next_of(project: Project, key: str) -> Item | None:
    Rater.objects.get_or_create(project=project, key=key)
    return queue.get_next_item(Rater.objects.select_related("project").get(key=key))


def test_a_full_item_that_is_wanted_once_more_goes_to_one_rater(
    project: Project, full: Item, question: Question, rate: Rate
) -> None:
    assert next_of(project, "z") is None
    once_more(full)
    assert next_of(project, "x") is None  # has rated it
    assert next_of(project, "z") == full
    assert next_of(project, "w") is None  # while it is open
    assert slots.lock_and_get_demand(full.pk, overlap=2) == slots.SlotDemand(
        requested=3, taken=3, open=1
    )
    rate(question, "i0", "z", "major")
    assert next_of(project, "w") is None
    full.refresh_from_db()
    assert (full.places_taken, full.extra_places) == (2, 1)


def test_a_withdrawn_rating_frees_a_place_of_those_that_are_wanted(
    project: Project, full: Item, question: Question, rate: Rate
) -> None:
    once_more(full)
    rate(question, "i0", "z", "major")
    for key in ("x", "y", "z"):
        rate(question, "i0", key, None)
    full.refresh_from_db()
    assert full.places_taken == 0
    for key in ("a", "b", "c"):
        assert next_of(project, key) == full
    assert next_of(project, "d") is None
    slots.recount([full.pk])
    full.refresh_from_db()
    assert full.places_taken == 2


def test_many_items_are_counted_like_one(
    project: Project, full: Item, question: Question, rate: Rate
) -> None:
    once_more(full)
    others = Item.objects.bulk_create(
        Item(project=project, key=f"other{number}", body={"text": "x"}) for number in range(40)
    )
    Item.objects.update(places_taken=7)
    slots.recount([full.pk, *(item.pk for item in others)])
    assert set(Item.objects.values_list("places_taken", flat=True)) == {0, 1}
    assert Item.objects.get(pk=full.pk).places_taken == 1


def test_a_higher_overlap_is_not_added_to_what_was_wanted_already(
    project: Project, full: Item, question: Question, rate: Rate, lead: User
) -> None:
    once_more(full)
    projects.change_project(project=project, by=lead, overlap=3)
    assert slots.lock_and_get_demand(full.pk, overlap=3) == slots.SlotDemand(
        requested=3, taken=2, open=0
    )
    assert next_of(project, "z") == full
    assert next_of(project, "w") is None


def test_what_is_withdrawn_or_shows_nothing_is_not_wanted(project: Project, full: Item) -> None:
    Item.objects.update(body={}, has_content=False)
    assert slots.lock_and_get_demand(full.pk, overlap=2) is None
