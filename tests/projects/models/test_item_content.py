"""What shows something, and what shows nothing."""

from __future__ import annotations

from typing import Any

import pytest

from projects.models import Item, Project, has_content

NOTHING: list[Any] = [
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
SOMETHING: list[Any] = [
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


@pytest.mark.parametrize("body", NOTHING)
def test_nothing_is_seen(body: Any) -> None:
    assert not has_content(body)


@pytest.mark.parametrize("body", SOMETHING)
def test_something_is_seen(body: Any) -> None:
    assert has_content(body)


def test_a_row_says_it_however_it_is_made(project: Project) -> None:
    one = Item.objects.create(project=project, key="a", body={"text": "x"})
    bare = Item(project=project, key="b")
    full = Item(project=project, key="c", body={"n": 1})
    Item.objects.bulk_create([bare, full])
    one.body = {}
    one.save()
    found = dict(Item.objects.values_list("key", "has_content"))
    assert found == {"a": False, "b": False, "c": True}
