"""Days, ISO weeks and months as integers: days since 1970-01-01 in the project's time zone."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

import numpy as np

from metrics.agreement.estimate import Value
from ratings.services.rating_timestamps import EPOCH, date_from_day

SPANS = ("day", "week", "month")
MAX_DAYS = {"day": 1, "week": 7, "month": 31}  # days
MIN_ITEMS = 10  # in a period; a value of fewer items is noise


def compute_start_days(days: np.ndarray, span: str) -> np.ndarray:
    """Return the first day (n,) of the period that contains each of ``days`` (n,).

    Days are integers since 1970-01-01. Raises ValueError unless ``span`` is "day", "week" or
    "month".
    """
    days = np.asarray(days, np.int64)
    if span == "day":
        return days
    if span == "week":  # 1970-01-01 was a Thursday; ISO weeks begin on Monday
        return days - (days + 3) % 7
    if span == "month":
        return (
            days.astype("datetime64[D]")
            .astype("datetime64[M]")
            .astype("datetime64[D]")
            .astype(np.int64)
        )
    raise ValueError(f"unknown span {span!r}; one of {', '.join(SPANS)}")


def list_period_days(days: Iterable[int]) -> list[int]:
    """Return all days of all weeks and months that contain one of ``days``, ascending."""
    period_days: set[int] = set()
    for span in ("week", "month"):
        for start in np.unique(compute_start_days(np.fromiter(days, np.int64), span)).tolist():
            period_days.update(
                range(start, (get_end_date(date_from_day(start), span) - EPOCH).days)
            )
    return sorted(period_days)


def has_enough_items(estimate: Value) -> bool:
    """Return whether a value is of MIN_ITEMS items or more; False where their number is unknown."""
    return (estimate.get("n_items") or 0) >= MIN_ITEMS


def get_end_date(start: datetime.date, span: str) -> datetime.date:
    """Return the first day after the period that begins on ``start``; ``span`` as in SPANS."""
    if span == "month":
        return (start.replace(day=1) + datetime.timedelta(days=32)).replace(day=1)
    return start + datetime.timedelta(days={"day": 1, "week": 7}[span])
