"""Format numbers in the reader's notation, with a dash for undefined values.

In a CSV file of a table (core/web/tables.py), numbers have up to 15 significant digits, in
programming notation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from core.text import get_list_separator
from core.web import tables
from core.web.tables import Interval, export_as

from . import display_names

Estimate = Mapping[str, Any]
MAX_COUNT_BELOW_ONE = 0.5  # a higher expected count is rounded to 1 or more


def format_number(value: float | None, decimals: int = 2) -> str:
    """Format a number with ``decimals`` decimals in the reader's notation; a dash for None."""
    return format_number_in(value, decimals, get_language())


def format_number_in(value: float | None, decimals: int, language: str | None) -> str:
    """Format a number in the notation of ``language``; a dash for None and not-a-number.

    Tags with several numbers use it, because looking up the language takes as long as formatting.
    """
    if value is None or not math.isfinite(value):
        return "–"
    if tables.is_exporting():
        return repr(tables.remove_rounding_error(float(value)))
    return _format_cached(round(value, decimals) + 0.0, decimals, language)  # -0.00 is 0.00


@functools.lru_cache(maxsize=4_096)
def _format_cached(number: float, decimals: int, language: str | None) -> str:
    """Format a number in the notation of ``language``, which must be the active language.

    The result is cached: a page has a thousand numbers, most of them equal.
    """
    return number_format(number, decimals, force_grouping=True)


def format_signed(value: float | None, decimals: int = 2) -> str:
    """Format a difference with its sign; a dash for None."""
    text = format_number(value, decimals)
    # By the formatted text: 0.004 is positive, but shown as 0.00 it gets no sign.
    is_positive = value is not None and value > 0 and any(digit in text for digit in "123456789")
    return f"+{text}" if is_positive and not tables.is_exporting() else text


def format_count(value: int | None) -> str:
    """Format a count with thousands separators; a dash for None."""
    if value is None:
        return "–"
    return str(value) if tables.is_exporting() else _format_cached(value, 0, get_language())


def format_expected_count(value: float | None) -> str:
    """Format an expected count as a whole number; "< 1" where it would round to 0."""
    if value is None:
        return format_count(None)
    if tables.is_exporting():
        return format_number(value)
    return "< 1" if 0 < value <= MAX_COUNT_BELOW_ONE else format_count(round(value))


def describe_expected_count(value: float) -> str:
    """Describe an expected count in words: "about 26", or "fewer than 1"."""
    if value <= MAX_COUNT_BELOW_ONE:
        return _("fewer than 1")
    return _("about %(n)s") % {"n": format_count(round(value))}


def format_percent(value: float | None, decimals: int = 0) -> str:
    """Format a share as a percentage: 0% and 100% mean exactly none and all."""
    if value is None or tables.is_exporting():
        return format_number(value)
    if not decimals and (0 < value < 0.005 or 0.995 <= value < 1):
        return f"{format_number(min(max(100 * value, 0.1), 99.9), 1)}%"
    return f"{format_number(100 * value, decimals)}%"


def build_interval(estimate: Estimate | None) -> Interval | None:
    """Return the interval of an estimate as an Interval without a value, or None."""
    return Interval(None, estimate.get("low"), estimate.get("high")) if estimate else None


@export_as(build_interval)
def format_interval(estimate: Estimate | None) -> str:
    """Format the interval of an estimate, like [0.38, 0.48]; empty when there is none."""
    return format_interval_in(estimate, get_language()) if estimate else ""


def format_interval_in(estimate: Estimate, language: str | None) -> str:
    """Format the interval of an estimate in a language; empty when there is none."""
    low, high = estimate.get("low"), estimate.get("high")
    return (
        ""
        if low is None or high is None
        else f"[{format_number_in(low, 2, language)}, {format_number_in(high, 2, language)}]"
    )


def build_estimate_interval(value: Estimate | None, _signed: bool = False) -> Interval:
    """Return an estimate as an Interval for a file; without a value, with the reason.

    It replaces a filter, whose second argument it ignores: the sign is in the number.
    """
    if not value or value.get("value") is None:
        return Interval(
            None, None, None, str(display_names.get_undefined_reason((value or {}).get("reason")))
        )
    return Interval(value["value"], value.get("low"), value.get("high"))


def build_optional_estimate_interval(
    value: Estimate | None, _signed: bool = False
) -> Interval | None:
    """Return an estimate as an Interval for a file; None for None."""
    return build_estimate_interval(value) if value else None


def build_bounds_interval(value: Any) -> Interval:
    """Return the ends of an interval as an Interval without a value, for a file."""
    low, high = (
        (value["low"], value["high"]) if isinstance(value, Mapping) else (value.low, value.high)
    )
    return Interval(None, low, high)


def format_category_counts(counts: Sequence[tuple[str, int]]) -> str:
    """Return counts by category: "minor 3, major 1"."""
    return get_list_separator().join(f"{label} {n}" for label, n in counts)
