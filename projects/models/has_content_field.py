"""Decide if an item has anything to show to its raters."""

from __future__ import annotations

import unicodedata
from typing import Any

from django.db import models

from core.web.safe_html import clean_html, extract_text

# Fields of a turn that name the speaker, which is not content.
SPEAKER_FIELDS = ("role", "speaker", "name")
CONVERSATION_FIELDS = ("turns", "messages")
# Unicode categories of blanks, line ends, control characters and invisible joiners.
INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Zs"}


def has_content(body: Any) -> bool:
    """Return True if anything in an item's body is visible.

    Visible are a text that is more than blanks, a number, a boolean, an address, and HTML with
    words or an image. Null, and lists and objects without any of these, are not.
    """
    if not isinstance(body, dict):
        return _is_visible(body)
    for name, value in body.items():
        if name == "html" and isinstance(value, str):
            cleaned = clean_html(value)
            visible = "<img src=" in cleaned or _is_visible(extract_text(cleaned))
        elif name in CONVERSATION_FIELDS and isinstance(value, list):
            visible = any(_is_turn_visible(turn) for turn in value)
        else:
            visible = _is_visible(value)
        if visible:
            return True
    return False


def _is_turn_visible(turn: Any) -> bool:
    if not isinstance(turn, dict):
        return _is_visible(turn)
    return any(_is_visible(value) for name, value in turn.items() if name not in SPEAKER_FIELDS)


def _is_visible(value: Any) -> bool:
    if value is None:
        return False
    if isinstance(value, str):
        return any(
            unicodedata.category(character) not in INVISIBLE_CATEGORIES for character in value
        )
    if isinstance(value, dict):
        return any(map(_is_visible, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_is_visible, value))
    return True


class HasContentField(models.BooleanField):
    """A field that records if the row's ``body`` has visible content.

    It is set on save, like ``auto_now``; code that writes a body by plain SQL or ``update`` must
    set it as well.
    """

    def pre_save(self, model_instance: Any, add: bool) -> bool:
        visible = has_content(model_instance.body)
        setattr(model_instance, self.attname, visible)
        return visible
