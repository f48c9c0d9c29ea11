"""Content of an item for display: its body as a list of safe blocks.

Attributes are never shown: they may name the source and so unblind the rater.

Body keys with a meaning: ``text``; ``html`` (cleaned); ``image``, ``audio``, ``video`` (an address
or a list of them); ``turns`` or ``messages`` (a conversation: a list of {"role", "text" or
"content"}). Every other key is a row of a table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy, ngettext

from core.text import truncate_to_line
from core.web.safe_html import clean_html, extract_excerpt, is_media_allowed
from ratings.files.media import STORED_NAME_PATTERN

MEDIA = {
    "image": gettext_lazy("Image"),
    "audio": gettext_lazy("Audio"),
    "video": gettext_lazy("Video"),
}
TURNS = ("turns", "messages")
MAX_EXCERPT_LENGTH = 140  # maximum characters of an excerpt
MAX_EXCERPT_SOURCE = 10_000  # characters that are looked at for an excerpt
MAX_KEYS = 200  # rows of all tables of an item; also its media of each kind
MAX_TURNS = 2_000  # turns of all conversations of an item
MAX_FILE_NAME_LENGTH = 80  # characters of a file name that is shown
# Speakers with the same side of the page in every conversation; others by their order.
SIDES = {
    **dict.fromkeys(("user", "human", "customer", "client", "prompter"), "start"),
    **dict.fromkeys(("assistant", "bot", "model", "ai", "agent", "chatbot", "gpt"), "end"),
    **dict.fromkeys(("system", "developer", "tool", "function"), "both"),
}


@dataclass(frozen=True, slots=True)
class ContentBlock:
    """One part of an item: kind and value, or rows of (name, block) of a table or conversation.

    ``name`` is the accessible name of an image, audio or video.
    """

    kind: str  # text, html, image, audio, video, link, table, turns, data
    value: str = ""
    name: str = ""
    rows: tuple[tuple[str, ContentBlock], ...] = ()


def build_blocks(body: Any) -> list[ContentBlock]:
    """Return the blocks of an item's body: text, HTML, media, conversation, table of the rest.

    Rows beyond MAX_KEYS and turns beyond MAX_TURNS are replaced by a row with their number; media
    beyond MAX_KEYS of a kind are left out.
    """
    budget = _Budget()
    if not isinstance(body, dict):
        return [] if body in (None, "") else [_build_value(body, budget)]
    content_blocks: list[ContentBlock] = []
    if (text := body.get("text")) not in (None, ""):
        content_blocks.append(_build_value(text, budget))
    if isinstance(body.get("html"), str):
        content_blocks.append(ContentBlock("html", clean_html(body["html"])))
    for kind in MEDIA:
        addresses = body.get(kind)
        content_blocks.extend(
            _build_media(kind, address)
            for address in (addresses[:MAX_KEYS] if isinstance(addresses, list) else [addresses])
            if address
        )
    content_blocks.extend(
        ContentBlock("turns", rows=_build_turns(body[key], budget))
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
        content_blocks.append(_build_value(other_parts, budget))
    return content_blocks


def iter_turns_with_sides(
    turns: Iterable[tuple[str, ContentBlock]],
) -> Iterator[tuple[str, ContentBlock, str]]:
    """Yield (speaker, text, side of the page: start, end or both) for each turn."""
    sides: dict[str, str] = {}  # of the speakers without a fixed side
    for speaker, text in turns:
        role = speaker.strip().casefold()
        side = SIDES.get(role) or sides.setdefault(role, "end" if len(sides) % 2 else "start")
        yield speaker, text, side


def get_excerpt(body: Any) -> str:
    """Return the beginning of an item's text on one line, for lists."""
    if isinstance(body, dict) and not body.get("text") and isinstance(body.get("html"), str):
        text = extract_excerpt(body["html"])
    elif isinstance(body, dict) and isinstance(body.get("text"), str):
        text = body["text"]
    elif isinstance(body, dict):
        other_parts = {key: value for key, value in body.items() if key not in MEDIA}
        text = next(_iter_content_strings(other_parts), "") or _get_media_name(body)
    else:
        text = next(_iter_content_strings(body), "")
    # Of a long text only the beginning is split into words.
    return truncate_to_line(text[:MAX_EXCERPT_SOURCE], max_length=MAX_EXCERPT_LENGTH)


def render_inline(body: Any, name: str = "") -> SafeString | str:
    """Return an item on one line of a list: an excerpt, or its first image if it has no text.

    ``name`` is the image's alternative text.
    """
    image = _get_only_image(body)
    if image is None:
        return get_excerpt(body)
    return format_html(
        '<img class="thumbnail" src="{}" alt="{}" loading="lazy" decoding="async">', image, name
    )


def _get_only_image(body: Any) -> str | None:
    """Return the URL of the item's first image if it has neither text nor HTML; else None.

    Also None if the URL may not be loaded.
    """
    if not isinstance(body, dict) or body.get("text") or body.get("html"):
        return None
    images = body.get("image")
    address = str(next(iter(images), "") if isinstance(images, list) else images or "").strip()
    return address if address and is_media_allowed("image", address) else None


def _iter_content_strings(value: Any) -> Iterator[str]:
    """Yield the strings in a body in order, without the speakers of a conversation."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("role", "speaker"):
                yield from _iter_content_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _iter_content_strings(inner)


def _build_media(kind: str, address: Any) -> ContentBlock:
    text = str(address)
    if is_media_allowed(kind, text):
        return ContentBlock(kind, text.strip(), name=_build_media_name(kind, text))
    # From another site: not loaded, but shown as a link.
    return ContentBlock(
        "link" if text.strip().startswith(("https://", "http://")) else "text", text.strip()
    )


def _get_media_name(body: Mapping[str, Any]) -> str:
    """Return the name of the body's first medium; empty if there is none."""
    for kind in MEDIA:
        addresses = body.get(kind)
        address = next(iter(addresses), "") if isinstance(addresses, list) else addresses
        if address and is_media_allowed(kind, str(address)):
            return _build_media_name(kind, str(address))
        if address:  # from another site: not loaded
            return str(address)
    return ""


def _build_media_name(kind: str, address: str) -> str:
    """Return "Audio: call.wav", or only "Audio" if the URL has no readable file name."""
    label = str(MEDIA[kind])
    if address.strip().lower().startswith("data:"):
        return label
    path = address.strip().partition("?")[0].partition("#")[0]
    file_name = unquote(path.rpartition("/")[2])[:MAX_FILE_NAME_LENGTH]
    if not file_name or STORED_NAME_PATTERN.fullmatch(file_name):
        return label
    return f"{label}: {file_name}"


@dataclass(slots=True)
class _Budget:
    """Numbers of rows and turns that may still be shown of an item."""

    keys: int = MAX_KEYS
    turns: int = MAX_TURNS


def _build_value(value: Any, budget: _Budget) -> ContentBlock:
    if isinstance(value, str):
        return ContentBlock("text", value)
    if isinstance(value, dict):
        return ContentBlock("table", rows=_build_rows(value, budget))
    if _is_conversation(value):
        return ContentBlock("turns", rows=_build_turns(value, budget))
    if isinstance(value, (list, bool)) or value is None:
        return ContentBlock("data", json.dumps(value, ensure_ascii=False, indent=2))
    return ContentBlock("text", str(value))


def _build_rows(value: Mapping[str, Any], budget: _Budget) -> tuple[tuple[str, ContentBlock], ...]:
    rows: list[tuple[str, ContentBlock]] = []
    for key, inner in value.items():
        if budget.keys <= 0:
            rows.append(_build_rest(len(value) - len(rows)))
            break
        budget.keys -= 1
        rows.append((str(key), _build_value(inner, budget)))
    return tuple(rows)


def _build_rest(number: int) -> tuple[str, ContentBlock]:
    """Return the row ("…", text) that states how many further rows are not shown."""
    message = ngettext("%(number)s more not shown", "%(number)s more not shown", number)
    return "…", ContentBlock("text", message % {"number": number})


def _is_conversation(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(turn, dict) and isinstance(turn.get("text", turn.get("content")), str)
            for turn in value
        )
    )


def _build_turns(
    value: Sequence[Mapping[str, Any]], budget: _Budget
) -> tuple[tuple[str, ContentBlock], ...]:
    turns = value[: budget.turns]
    budget.turns -= len(turns)
    rows = []
    for turn in turns:
        speaker = turn.get("role") or turn.get("speaker") or turn.get("name") or ""
        rows.append(
            (str(speaker), ContentBlock("text", str(turn.get("text", turn.get("content")))))
        )
    if len(turns) < len(value):
        rows.append(_build_rest(len(value) - len(turns)))
    return tuple(rows)
