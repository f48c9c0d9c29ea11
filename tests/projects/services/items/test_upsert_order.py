"""Items are stored in the order in which they were given."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from projects.models import Item, Project
from projects.services.items.upsert import upsert_items
from tests.ratings.imports.wizard_client import Wizard

MANY = 450  # a bulk of PostgreSQL goes another way, from 200 rows on


def stored(project: Project) -> list[str]:
    return list(Item.objects.filter(project=project).order_by("pk").values_list("key", flat=True))


def put(project: Project, keys: list[str], text: str = "x") -> None:
    upsert_items(project=project, rows=[{"key": key, "body": {"text": text}} for key in keys])


def test_many_items_stand_as_given(project: Project) -> None:
    keys = [f"{number:03}" for number in range(MANY)]
    random.Random(7).shuffle(keys)
    put(project, keys)
    assert stored(project) == keys


class Batches(TestCase):
    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.lists(st.sampled_from("abcdefghij"), unique=True), max_size=4))
    def test_what_stands_keeps_its_place(self, batches: list[list[str]]) -> None:
        project = Project.objects.create(name="Order")
        for number, keys in enumerate(batches):
            put(project, keys, str(number))
        first_seen = list(dict.fromkeys(key for keys in batches for key in keys))
        assert stored(project) == first_seen
        texts = {key: str(number) for number, keys in enumerate(batches) for key in keys}
        bodies = Item.objects.filter(project=project).values_list("key", "body")
        assert {key: body["text"] for key, body in bodies} == texts


@pytest.mark.parametrize("number", [3, MANY])
@pytest.mark.parametrize("rated", [False, True], ids=["items", "ratings"])
def test_items_of_a_file_stand_as_in_the_file(
    project: Project, question: Any, lead: Any, client_for: Any, number: int, rated: bool
) -> None:
    keys = [f"{place * 7919 % 1009:04}" for place in range(1, number + 1)]
    head = "item,rater,label" if rated else "item,text"
    lines = [f"{key},ann,minor" if rated else f"{key},the text of {key}" for key in keys]
    run = Wizard(client_for(lead), project).all("\n".join([head, *lines]).encode())
    assert run.state == "done"
    assert stored(project) == keys
