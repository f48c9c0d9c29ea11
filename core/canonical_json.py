"""JSON in its canonical form (RFC 8785), so that equal values have equal bytes for a signature."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

MAX_EXACT_INTEGER = 2**53  # larger integers are not exact as numbers of JavaScript
MAX_PLAIN_DIGITS = 21  # digits before the point up to which ECMAScript writes no exponent
MIN_PLAIN_EXPONENT = -6


def encode(value: Any) -> bytes:
    """Return a JSON value in canonical form.

    ValueError for numbers that are not finite or not exact, and for keys that are no texts.
    """
    return _encode(value).encode("utf-8")


def _encode(value: Any) -> str:
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("keys of JSON objects are texts")
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(f"{_encode(key)}:{_encode(part)}" for key, part in members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_encode(part) for part in value) + "]"
    if isinstance(value, float):
        return _format_number(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_EXACT_INTEGER:
        raise ValueError(f"{value} is too large to be exact in JSON")
    return json.dumps(value, ensure_ascii=False)


def _format_number(value: float) -> str:
    """Return a number as ECMAScript writes it: the shortest digits that give the same number."""
    if not math.isfinite(value):
        raise ValueError(f"{value} is no number of JSON")
    if value == 0:
        return "0"
    _sign, digit_list, power = Decimal(repr(value)).normalize().as_tuple()
    digits, sign = "".join(map(str, digit_list)), "-" if value < 0 else ""
    n_before_point = len(digits) + int(power)
    if MIN_PLAIN_EXPONENT < n_before_point <= 0:
        return f"{sign}0.{'0' * -n_before_point}{digits}"
    if 0 < n_before_point <= MAX_PLAIN_DIGITS:
        integer_part = digits[:n_before_point].ljust(n_before_point, "0")
        return sign + integer_part + (f".{rest}" if (rest := digits[n_before_point:]) else "")
    exponent = n_before_point - 1
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'+' if exponent > 0 else ''}{exponent}"
