"""Limits of JSON texts that are counted before they are parsed.

An empty list is two characters of a text and 56 bytes of memory.
"""

from __future__ import annotations

import itertools
import re

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = re.compile(r"[^\[\]{}]++")
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}


def has_more_parts(text: str, limit: int) -> bool:
    """Return True if a JSON text has more objects, lists and commas than a limit."""
    return _count_parts(text) > limit and _count_parts(_STRING.sub("", text)) > limit


def is_nested_deeper(text: str, limit: int) -> bool:
    """Return True if objects and lists of a JSON text are inside each other beyond a limit."""
    if text.count("[") + text.count("{") <= limit:
        return False
    brackets = _NO_BRACKETS.sub("", _STRING.sub("", text))
    return max(itertools.accumulate(map(_STEPS.__getitem__, brackets)), default=0) > limit


def _count_parts(text: str) -> int:
    return text.count("[") + text.count("{") + text.count(",")
