"""Items are stored in the order in which they are sent."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from projects.models import Item, Project
from projects.services.item_upsert import upsert_items
from tests.ratings.imports.wizard_client import WizardClient

BULK_SIZE = 450  # PostgreSQL uses a bulk path from 200 rows on


def list_stored_keys(project: Project) -> list[str]:
    return list(Item.objects.filter(project=project).order_by("pk").values_list("key", flat=True))


def store_items(project: Project, keys: list[str], text: str = "x") -> None:
    upsert_items(project=project, rows=[{"key": key, "body": {"text": text}} for key in keys])


def test_many_items_keep_the_order_sent(project: Project) -> None:
    keys = [f"{number:03}" for number in range(BULK_SIZE)]
    random.Random(7).shuffle(keys)
    store_items(project, keys)
    assert list_stored_keys(project) == keys


class ItemOrderTests(TestCase):
    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.lists(st.sampled_from("abcdefghij"), unique=True), max_size=4))
    def test_existing_items_keep_their_position(self, batches: list[list[str]]) -> None:
        project = Project.objects.create(name="Order")
        for number, keys in enumerate(batches):
            store_items(project, keys, str(number))
        first_seen = list(dict.fromkeys(key for keys in batches for key in keys))
        assert list_stored_keys(project) == first_seen
        texts = {key: str(number) for number, keys in enumerate(batches) for key in keys}
        bodies = Item.objects.filter(project=project).values_list("key", "body")
        assert {key: body["text"] for key, body in bodies} == texts


@pytest.mark.parametrize("number", [3, BULK_SIZE])
@pytest.mark.parametrize("rated", [False, True], ids=["items", "ratings"])
def test_imported_items_keep_the_order_of_the_file(
    project: Project, question: Any, lead: Any, client_for: Any, number: int, rated: bool
) -> None:
    keys = [f"{index * 7919 % 1009:04}" for index in range(1, number + 1)]
    head = "item,rater,label" if rated else "item,text"
    lines = [f"{key},ann,minor" if rated else f"{key},the text of {key}" for key in keys]
    run = WizardClient(client_for(lead), project).import_file("\n".join([head, *lines]).encode())
    assert run.state == "done"
    assert list_stored_keys(project) == keys
