"""Limits of JSON texts that are counted before they are parsed, and of the numbers in them.

An empty list is two characters of a text and 56 bytes of memory.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import NoReturn

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = re.compile(r"[^\[\]{}]++")
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}


def has_more_parts(text: str, limit: int) -> bool:
    """Return True if a JSON text has more objects, lists and commas than a limit."""
    return _count_parts(text) > limit and _count_parts(_STRING.sub("", text)) > limit


def is_nested_deeper(text: str, limit: int) -> bool:
    """Return True if objects and lists of a JSON text are nested deeper than a limit."""
    if text.count("[") + text.count("{") <= limit:
        return False
    brackets = _NO_BRACKETS.sub("", _STRING.sub("", text))
    return max(itertools.accumulate(map(_STEPS.__getitem__, brackets)), default=0) > limit


def _count_parts(text: str) -> int:
    return text.count("[") + text.count("{") + text.count(",")


def reject_constant(name: str) -> NoReturn:
    """Raise ValueError for NaN and Infinity (``parse_constant`` of JSON decoders)."""
    raise ValueError(f"{name} is not a JSON number")


def parse_finite_float(text: str) -> float:
    """Return the number; raises ValueError if it is too large (``parse_float`` of decoders)."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value
