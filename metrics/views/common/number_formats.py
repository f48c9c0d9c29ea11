"""Numbers as people read them: so many decimals in the reader's notation, a dash for what is
undefined. In a table's file (core/web/tables.py) they are whole, and written as programs do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from core.web import tables

Reading = Mapping[str, Any]


def figure(value: float | None, decimals: int = 2) -> str:
    """A number with so many decimals in the reader's notation; a dash for None."""
    return in_language(value, decimals, get_language())


def in_language(value: float | None, decimals: int, language: str | None) -> str:
    """For tags with several figures: asking for the language costs as much as writing one."""
    if value is None or not math.isfinite(value):
        return "–"
    if tables.is_made():
        return repr(float(value))
    return _written(round(value, decimals) + 0.0, decimals, language)  # -0.00 is 0.00


@functools.lru_cache(maxsize=4_096)
def _written(number: float, decimals: int, language: str | None) -> str:
    """In the notation of ``language``, the active one. Kept: a page has a thousand figures, and
    most are alike."""
    return number_format(number, decimals, force_grouping=True)


def signed(value: float | None, decimals: int = 2) -> str:
    """A difference with its sign; a dash for None."""
    text = figure(value, decimals)
    # By what is written: a computer's 0.005 is above it, and is told as 0.00.
    is_more = value is not None and value > 0 and any(digit in text for digit in "123456789")
    return f"+{text}" if is_more and not tables.is_made() else text


def whole(value: int | None) -> str:
    """A count with its thousands told apart."""
    if value is None:
        return "–"
    return str(value) if tables.is_made() else _written(value, 0, get_language())


def about(value: float | None) -> str:
    """An expected count: a whole number, "< 1" where that would be 0."""
    if value is None:
        return whole(None)
    if tables.is_made():
        return figure(value)
    return "< 1" if 0 < value <= 0.5 else whole(round(value))


def percent(value: float | None, places: int = 0) -> str:
    if value is None or tables.is_made():
        return figure(value)
    return _("%(number)s %%") % {"number": figure(100 * value, places)}


def interval(reading: Reading | None) -> str:
    """[0.38, 0.48], or nothing when there is none."""
    return interval_in(reading, get_language()) if reading else ""


def interval_in(reading: Reading, language: str | None) -> str:
    low, high = reading.get("low"), reading.get("high")
    return (
        ""
        if low is None or high is None
        else f"[{in_language(low, 2, language)}, {in_language(high, 2, language)}]"
    )
