"""Compact forms of values in the bodies of filtered results, and limits of memory."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, Self, cast

import numpy as np

from metrics.agreement.estimate import Estimate, Value
from metrics.results.intervals import QuestionClusters

MAX_CELLS = 8_000_000  # numbers in an array in memory
MAX_POINTS = 400  # in a trend: the newest periods
SHORT_FIELDS = ("value", "low", "high", "reason")
POINT_FIELDS = (*SHORT_FIELDS, "n_items", "n_ratings", "se")
EMPTY_VALUE = Value(
    value=None, low=None, high=None, se=None, observed=None, expected=None,
    n_items=None, n_ratings=None, reason=None,
)  # fmt: skip

ShortList = list[float | str | None]  # the SHORT_FIELDS of a Value
# Period unit -> {"starts": first days, coefficient -> points}. A point: [POINT_FIELDS of the
# period's Value], or these and the SHORT_FIELDS of the Value of all items up to its end.
Trend = dict[str, dict[str, list[Any]]]


def to_short_list(value: Value) -> ShortList:
    """Return the SHORT_FIELDS of a Value as a list."""
    return [value["value"], value["low"], value["high"], value["reason"]]


def to_trend_point(value: Value) -> ShortList:
    """Return the POINT_FIELDS of a Value as a list."""
    return [*to_short_list(value), value["n_items"], value["n_ratings"], value["se"]]


def to_trend_points(estimates: Mapping[str, Estimate]) -> dict[str, list[Any]]:
    """Return name -> T lists of one trend point each, of estimates (T,)."""
    return {
        name: [[to_trend_point(value)] for value in estimate.to_values()]
        for name, estimate in estimates.items()
    }


def from_list(numbers: ShortList) -> Value:
    """Return the Value of a short list or a trend point; fields that it does not hold are None."""
    return cast("Value", EMPTY_VALUE | dict(zip(POINT_FIELDS, numbers, strict=False)))


def compute_median_seconds(seconds: np.ndarray) -> float | None:
    """Return the median of the known ``seconds`` (NaN: unknown), or None if none is known."""
    finite = seconds[np.isfinite(seconds)]
    return float(np.median(finite)) if finite.size else None


def _to_json(part: Any) -> Any:
    """Return a field of results as plain JSON, with dataclasses as dictionaries."""
    if isinstance(part, list):
        return [_to_json(entry) for entry in part] if part and is_dataclass(part[0]) else part
    return vars(part) if is_dataclass(part) else part


@dataclass(frozen=True, kw_only=True)
class StoredResults:
    """Results of a filter, and the clusters of the selected items (None without clusters).

    Intervals are stored as for independent items, and widened for clusters when they are read.
    """

    clusters: QuestionClusters | None = None

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the results that a FilteredResult holds."""
        fields = dict(stored)
        if fields["clusters"] is not None:
            fields["clusters"] = QuestionClusters(**fields["clusters"])
        return cls(**fields)

    def to_json(self) -> dict[str, object]:
        """Return the fields as plain JSON."""
        return {name: _to_json(part) for name, part in vars(self).items()}

    def widen_interval(self, name: str, value: Value) -> Value:
        """Return the Value of a coefficient with its interval widened for clusters, if any."""
        widened: Value = self.clusters.widen_interval(name, value) if self.clusters else value
        return widened


@dataclass(frozen=True, kw_only=True)
class TrendResults(StoredResults):
    """Results with coefficients by day, week and month."""

    trend: Trend

    def list_points(self, span: str, name: str) -> list[tuple[datetime.date, Value, Value | None]]:
        """Return (first day, Value, cumulative Value or None) of the periods, oldest first."""
        lines = self.trend.get(span, {})
        points = []
        for text, numbers in zip(lines.get("starts", []), lines.get(name, []), strict=False):
            values = [self.widen_interval(name, from_list(part)) for part in numbers]
            cumulative = values[1] if len(values) > 1 else None
            points.append((datetime.date.fromisoformat(text), values[0], cumulative))
        return points

    def list_period_sizes(self) -> list[tuple[str, int]]:
        """Return (period unit, number of items) of each period."""
        sizes = []
        for span, lines in self.trend.items():
            points: list[Any] = next((lines[name] for name in lines if name != "starts"), [])
            sizes += [(span, point[0][POINT_FIELDS.index("n_items")]) for point in points]
        return sizes
