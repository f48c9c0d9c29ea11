"""A text in an item: in its key, or in what it shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.db.models import Q

from projects.models import Item


def may_say(text: str) -> Q:
    """Whether the text may be in the key or in the body's JSON, which the query calls ``text``: a
    few more items than ``says``. SQLite keeps the JSON that was written, in ASCII, and knows the
    case of no other letters; PostgreSQL writes it anew."""
    is_sqlite = connection.vendor == "sqlite"
    found = Q()
    for written in {text, text.lower(), text.upper()} if is_sqlite else {text}:
        stored = json.dumps(written, ensure_ascii=is_sqlite)[1:-1]
        found |= Q(key__icontains=written) | Q(text__icontains=stored)
    return found


def says(item: Item, text: str) -> bool:
    """Whether the text is in the key, or in a text of the body: names of parts are none."""
    folded = text.casefold()
    return folded in item.key.casefold() or any(
        folded in said.casefold() for said in _texts(item.body)
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, bool) or value is None:
        return
    else:
        yield str(value)
