"""Difference of two independent values, from the interval of each.

Zou & Donner 2008, Statistics in Medicine 27, 1693-1702.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from scipy import special

from metrics.agreement.estimate import CONFIDENCE_LEVEL, NORMAL_QUANTILE


def compute_difference_margin(before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
    """Return by how much two independent values must differ to be more than chance.

    before, after: value, low and high. The margin of the 95% interval of the difference towards 0,
    infinite where a limit is undefined.
    """
    lower, higher = sorted((before, after), key=lambda estimate: float(estimate["value"]))
    if lower["high"] is None or higher["low"] is None:
        return math.inf
    return math.hypot(lower["high"] - lower["value"], higher["value"] - higher["low"])


def compute_difference_interval(
    before: Mapping[str, Any], after: Mapping[str, Any], *, n_differences: int = 1
) -> tuple[float, float] | None:
    """Return the 95% interval of the difference of two independent values, after less before.

    before, after: value, low and high; None where one of them is undefined. With so many
    differences, all of their intervals hold in 95% of cases (Bonferroni).
    """
    numbers = [estimate[name] for estimate in (before, after) for name in ("value", "low", "high")]
    if None in numbers:
        return None
    value, low, high, new_value, new_low, new_high = numbers
    change = new_value - value
    quantile = special.ndtri(1 - (1 - CONFIDENCE_LEVEL) / 2 / n_differences)
    factor = float(quantile) / NORMAL_QUANTILE
    return (
        change - factor * math.hypot(new_value - new_low, high - value),
        change + factor * math.hypot(new_high - new_value, value - low),
    )
