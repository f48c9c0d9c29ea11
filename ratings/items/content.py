"""Content of an item for raters, made safe: its body as a list of blocks.

Attributes are never shown: they may name the source and so unblind the rater.

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

from core.text import truncate_to_line
from core.web.safe_html import clean_html, extract_text, is_media_allowed

MEDIA = ("image", "audio", "video")
TURNS = ("turns", "messages")
MAX_EXCERPT_LENGTH = 140  # maximum characters of an excerpt


@dataclass(frozen=True, slots=True)
class ContentBlock:
    """One part of an item: kind and value, or rows of (name, block) of a table or conversation."""

    kind: str  # text, html, image, audio, video, link, table, turns, data
    value: str = ""
    name: str = ""
    rows: tuple[tuple[str, ContentBlock], ...] = ()


def build_blocks(body: Any) -> list[ContentBlock]:
    """Return the blocks of an item's body in a fixed order.

    Text, HTML, media, conversation, and a table of everything else.
    """
    if not isinstance(body, dict):
        return [] if body in (None, "") else [_build_value(body)]
    content_blocks: list[ContentBlock] = []
    if (text := body.get("text")) not in (None, ""):
        content_blocks.append(_build_value(text))
    if isinstance(body.get("html"), str):
        content_blocks.append(ContentBlock("html", clean_html(body["html"])))
    for kind in MEDIA:
        addresses = body.get(kind)
        content_blocks.extend(
            _build_media(kind, address)
            for address in (addresses if isinstance(addresses, list) else [addresses])
            if address
        )
    content_blocks.extend(
        ContentBlock("turns", rows=tuple(_iter_turns(body[key])))
        for key in TURNS
        if _is_conversation(body.get(key))
    )
    handled_keys = {
        "text",
        "html",
        *MEDIA,
        *(key for key in TURNS if _is_conversation(body.get(key))),
    }
    other_parts = {key: value for key, value in body.items() if key not in handled_keys}
    if other_parts:
        content_blocks.append(_build_value(other_parts))
    return content_blocks


def get_excerpt(body: Any) -> str:
    """Return the beginning of an item's text on one line, for lists."""
    if isinstance(body, dict) and not body.get("text") and isinstance(body.get("html"), str):
        text = extract_text(body["html"])
    elif isinstance(body, dict) and isinstance(body.get("text"), str):
        text = body["text"]
    else:
        text = next(_iter_strings(body), "")
    return truncate_to_line(text, max_length=MAX_EXCERPT_LENGTH)


def render_inline(body: Any, name: str = "") -> SafeString | str:
    """Return an item for a line in a list: its image if it shows nothing else, or an excerpt.

    ``name`` is the image's alternative text.
    """
    image = _get_only_image(body)
    if image is None:
        return get_excerpt(body)
    return format_html(
        '<img class="thumbnail" src="{}" alt="{}" loading="lazy" decoding="async">', image, name
    )


def _get_only_image(body: Any) -> str | None:
    """Return the image's address if the body shows nothing else and it may be loaded, or None."""
    if not isinstance(body, dict) or body.get("text") or body.get("html"):
        return None
    images = body.get("image")
    address = str(next(iter(images), "") if isinstance(images, list) else images or "").strip()
    return address if address and is_media_allowed("image", address) else None


def _iter_strings(value: Any) -> Iterator[str]:
    """Yield the strings in a body in its order, without the roles of a conversation."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("role", "speaker"):
                yield from _iter_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _iter_strings(inner)


def _build_media(kind: str, address: Any) -> ContentBlock:
    text = str(address)
    if is_media_allowed(kind, text):
        return ContentBlock(kind, text.strip())
    # From another site: not loaded, but shown as a link.
    return ContentBlock(
        "link" if text.strip().startswith(("https://", "http://")) else "text", text.strip()
    )


def _build_value(value: Any) -> ContentBlock:
    if isinstance(value, str):
        return ContentBlock("text", value)
    if isinstance(value, dict):
        return ContentBlock(
            "table", rows=tuple((str(key), _build_value(inner)) for key, inner in value.items())
        )
    if _is_conversation(value):
        return ContentBlock("turns", rows=tuple(_iter_turns(value)))
    if isinstance(value, (list, bool)) or value is None:
        return ContentBlock("data", json.dumps(value, ensure_ascii=False, indent=2))
    return ContentBlock("text", str(value))


def _is_conversation(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(turn, dict) and isinstance(turn.get("text", turn.get("content")), str)
            for turn in value
        )
    )


def _iter_turns(value: list[dict[str, Any]]) -> Iterator[tuple[str, ContentBlock]]:
    for turn in value:
        speaker = turn.get("role") or turn.get("speaker") or turn.get("name") or ""
        yield str(speaker), ContentBlock("text", str(turn.get("text", turn.get("content"))))
