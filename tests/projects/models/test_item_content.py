"""Item bodies with and without content to show."""

from __future__ import annotations

from typing import Any

import pytest

from projects.models import Item, Project, has_content

EMPTY_BODIES: list[Any] = [
    {},
    {"text": ""},
    {"text": "  \n\t"},
    {"text": "\u200b\u00a0\ufeff"},
    {"text": None, "left": "", "right": []},
    {"html": "<p> <b></b>&nbsp;</p><script>alert(1)</script>"},
    {"html": '<img src="https://elsewhere.example/a.png">'},
    {"image": ""},
    {"image": []},
    {"turns": [{"role": "user", "text": ""}]},
    {"table": {"a": {"b": [None, ""]}}},
    None,
    [],
    "",
]
BODIES_WITH_CONTENT: list[Any] = [
    {"text": "x"},
    {"text": "", "source": "Hallo"},
    {"html": "<p>Hello</p>"},
    {"html": '<img src="/projects/1/media/a.png">'},
    {"image": "/projects/1/media/a.png"},
    {"audio": ["", "https://elsewhere.example/a.ogg"]},
    {"turns": [{"role": "user", "text": ""}, {"role": "bot", "content": "Hi"}]},
    {"n": 0},
    {"flag": False},
    {"deep": {"a": [{"b": "二"}]}},
    "text",
]


@pytest.mark.parametrize("body", EMPTY_BODIES)
def test_empty_body_has_no_content(body: Any) -> None:
    assert not has_content(body)


@pytest.mark.parametrize("body", BODIES_WITH_CONTENT)
def test_body_with_any_value_has_content(body: Any) -> None:
    assert has_content(body)


def test_has_content_is_stored_on_every_kind_of_write(project: Project) -> None:
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    empty_item = Item(project=project, key="b")
    item_with_content = Item(project=project, key="c", body={"n": 1})
    Item.objects.bulk_create([empty_item, item_with_content])
    item.body = {}
    item.save()
    stored = dict(Item.objects.values_list("key", "has_content"))
    assert stored == {"a": False, "b": False, "c": True}
