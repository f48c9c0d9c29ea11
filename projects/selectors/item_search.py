"""Search items for a text in the key or the body."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.db.models import Q

from projects.models import Item


def build_text_filter(text: str) -> Q:
    """Build a filter for items that may contain the text in the key or the body.

    The query must annotate the body's JSON as ``text``. It matches a few more items than
    ``contains_text``. SQLite stores the JSON as it was written, in ASCII, and ignores case for
    ASCII letters only; PostgreSQL stores it in its own form.
    """
    is_sqlite = connection.vendor == "sqlite"
    condition = Q()
    for variant in {text, text.lower(), text.upper()} if is_sqlite else {text}:
        stored = json.dumps(variant, ensure_ascii=is_sqlite)[1:-1]
        condition |= Q(key__icontains=variant) | Q(text__icontains=stored)
    return condition


def contains_text(item: Item, text: str) -> bool:
    """Return True if the text is in the key or in a value of the body.

    Names of fields do not count.
    """
    folded = text.casefold()
    return folded in item.key.casefold() or any(
        folded in body_text.casefold() for body_text in _iter_texts(item.body)
    )


def _iter_texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _iter_texts(inner)
    elif isinstance(value, bool) or value is None:
        return
    else:
        yield str(value)
