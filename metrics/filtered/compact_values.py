"""Compact forms of values in the bodies of filtered results, and limits of memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metrics.agreement.estimate import Estimate

MAX_CELLS = 8_000_000  # numbers in an array in memory
MAX_POINTS = 400  # in a trend: the newest periods
SHORT_FIELDS = ("value", "low", "high", "reason")

Body = dict[str, Any]


def to_short_list(value: Mapping[str, Any]) -> list[Any]:
    """Return the SHORT_FIELDS of a Value."""
    return [value[name] for name in SHORT_FIELDS]


def to_trend_point(value: Mapping[str, Any]) -> list[Any]:
    """Return a Value as a short list for a trend in a stored body."""
    return [*to_short_list(value), value["n_items"], value["n_ratings"], value["se"]]


def to_trend_points(estimates: dict[str, Estimate]) -> Body:
    """Return name -> [[point], ...] of estimates (T,)."""
    points = {}
    for name, estimate in estimates.items():
        points[name] = [[to_trend_point(value)] for value in estimate.to_values()]
    return points


def compute_median_seconds(seconds: np.ndarray) -> float | None:
    """Return the median of the ratings whose seconds are known, or None."""
    finite = seconds[np.isfinite(seconds)]
    return float(np.median(finite)) if finite.size else None
