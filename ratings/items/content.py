"""What an item shows to those who rate it, made safe: its body as a list of blocks. Attributes are
never shown: they may name the source and so unblind the rater.

Body keys with a meaning: ``text``; ``html`` (cleaned); ``image``, ``audio``, ``video`` (an address
or a list of them); ``turns`` or ``messages`` (a conversation: a list of {"role", "text" or
"content"}). Every other key is a row of a table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.text import one_line
from core.web.safe_html import can_show, clean_html, words

MEDIA = ("image", "audio", "video")
TURNS = ("turns", "messages")
EXCERPT = 140  # characters


@dataclass(frozen=True, slots=True)
class Block:
    """One part of an item: how to show it, what, and for a table or a conversation its rows of
    (name, Block)."""

    kind: str  # text, html, image, audio, video, link, table, turns, data
    value: str = ""
    name: str = ""
    rows: tuple[tuple[str, Block], ...] = ()


def blocks(body: Any) -> list[Block]:
    """The parts of an item's body in a fixed order: text, HTML, media, conversation, and a table of
    all the rest."""
    if not isinstance(body, dict):
        return [] if body in (None, "") else [_value(body)]
    found: list[Block] = []
    if (text := body.get("text")) not in (None, ""):
        found.append(_value(text))
    if isinstance(body.get("html"), str):
        found.append(Block("html", clean_html(body["html"])))
    for kind in MEDIA:
        given = body.get(kind)
        found.extend(
            _media(kind, address)
            for address in (given if isinstance(given, list) else [given])
            if address
        )
    found.extend(
        Block("turns", rows=tuple(_turns(body[key])))
        for key in TURNS
        if _is_conversation(body.get(key))
    )
    shown = {"text", "html", *MEDIA, *(key for key in TURNS if _is_conversation(body.get(key)))}
    rest = {key: value for key, value in body.items() if key not in shown}
    if rest:
        found.append(_value(rest))
    return found


def excerpt(body: Any) -> str:
    """The first words of an item, for a line in a list."""
    if isinstance(body, dict) and not body.get("text") and isinstance(body.get("html"), str):
        first = words(body["html"])
    elif isinstance(body, dict) and isinstance(body.get("text"), str):
        first = body["text"]
    else:
        first = next(_strings(body), "")
    return one_line(first, longest=EXCERPT)


def in_a_line(body: Any, name: str = "") -> SafeString | str:
    """An item in a line of a list: its picture, where that is all it shows, or its first words.
    ``name`` says to those who see no picture what it is of."""
    picture = _only_picture(body)
    if picture is None:
        return excerpt(body)
    return format_html(
        '<img class="thumbnail" src="{}" alt="{}" loading="lazy" decoding="async">', picture, name
    )


def _only_picture(body: Any) -> str | None:
    if not isinstance(body, dict) or body.get("text") or body.get("html"):
        return None
    given = body.get("image")
    first = str(next(iter(given), "") if isinstance(given, list) else given or "").strip()
    return first if first and can_show("image", first) else None


def _strings(value: Any) -> Iterator[str]:
    """The strings in a body, in its order; the roles of a conversation are none."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("role", "speaker"):
                yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _media(kind: str, address: Any) -> Block:
    text = str(address)
    if can_show(kind, text):
        return Block(kind, text.strip())
    # From elsewhere: not loaded, but it can be opened on purpose.
    return Block(
        "link" if text.strip().startswith(("https://", "http://")) else "text", text.strip()
    )


def _value(value: Any) -> Block:
    if isinstance(value, str):
        return Block("text", value)
    if isinstance(value, dict):
        return Block("table", rows=tuple((str(key), _value(inner)) for key, inner in value.items()))
    if _is_conversation(value):
        return Block("turns", rows=tuple(_turns(value)))
    if isinstance(value, (list, bool)) or value is None:
        return Block("data", json.dumps(value, ensure_ascii=False, indent=2))
    return Block("text", str(value))


def _is_conversation(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(turn, dict) and isinstance(turn.get("text", turn.get("content")), str)
            for turn in value
        )
    )


def _turns(value: list[dict[str, Any]]) -> Iterator[tuple[str, Block]]:
    for turn in value:
        speaker = turn.get("role") or turn.get("speaker") or turn.get("name") or ""
        yield str(speaker), Block("text", str(turn.get("text", turn.get("content"))))
