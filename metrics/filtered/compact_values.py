"""What the parts of a slice share: how much is held at once, and readings as short lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metrics.agreement.estimate import Estimate

CELLS = 8_000_000  # numbers of an array that is held at once
POINTS = 400  # the newest so many periods
SHORT = ("value", "low", "high", "reason")

Body = dict[str, Any]


def short(reading: Mapping[str, Any]) -> list[Any]:
    return [reading[name] for name in SHORT]


def point(reading: Mapping[str, Any]) -> list[Any]:
    """A reading of a trend; pages.sources.sliced reads it."""
    return [*short(reading), reading["n_items"], reading["n_ratings"], reading["se"]]


def points(estimates: dict[str, Estimate]) -> Body:
    """Name -> [[point], ...] of estimates (T,)."""
    found = {}
    for name, estimate in estimates.items():
        found[name] = [[point(reading)] for reading in estimate.readings()]
    return found


def median_seconds(seconds: np.ndarray) -> float | None:
    """Of the ratings whose seconds are known."""
    known = seconds[np.isfinite(seconds)]
    return float(np.median(known)) if known.size else None
