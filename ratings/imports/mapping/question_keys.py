"""Keys of questions from the names of columns."""

from __future__ import annotations

import re

from django.utils.text import slugify

MAX_KEY_LENGTH = 64
_INVALID_CHARS = re.compile(r"[^A-Za-z0-9_.-]+")


def build_column_question_key(name: str) -> str:
    """Return the name of a column as a valid question key."""
    key = _INVALID_CHARS.sub("_", name.strip()).strip("_.-")
    return (key or slugify(name) or "label")[:MAX_KEY_LENGTH]
