"""Whether an item has anything to show to those who rate it."""

from __future__ import annotations

import unicodedata
from typing import Any

from django.db import models

from core.web.safe_html import clean_html, words

# Who speaks is no content.
SPEAKERS = ("role", "speaker", "name")
CONVERSATIONS = ("turns", "messages")
# Blanks, line ends, control signs, and what joins or parts others without being seen.
UNSEEN = {"Cc", "Cf", "Zl", "Zp", "Zs"}


def has_content(body: Any) -> bool:
    """Whether anything in an item's body can be seen: a text that is more than blanks, a number, a
    yes or no, an address, HTML with words or a picture. Null, and lists and objects without any of
    these, are nothing."""
    if not isinstance(body, dict):
        return _seen(body)
    for name, value in body.items():
        if name == "html" and isinstance(value, str):
            cleaned = clean_html(value)
            found = "<img src=" in cleaned or _seen(words(cleaned))
        elif name in CONVERSATIONS and isinstance(value, list):
            found = any(_turn_seen(turn) for turn in value)
        else:
            found = _seen(value)
        if found:
            return True
    return False


def _turn_seen(turn: Any) -> bool:
    if not isinstance(turn, dict):
        return _seen(turn)
    return any(_seen(value) for name, value in turn.items() if name not in SPEAKERS)


def _seen(value: Any) -> bool:
    if value is None:
        return False
    if isinstance(value, str):
        return any(unicodedata.category(sign) not in UNSEEN for sign in value)
    if isinstance(value, dict):
        return any(map(_seen, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_seen, value))
    return True


class HasContent(models.BooleanField):
    """Says of a row's ``body`` whether there is something to show. Written with the row, as
    ``auto_now`` is; who writes a body by plain SQL or ``update`` writes this, too."""

    def pre_save(self, model_instance: Any, add: bool) -> bool:
        found = has_content(model_instance.body)
        setattr(model_instance, self.attname, found)
        return found
