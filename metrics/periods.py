"""Days, ISO weeks and months as integers: days since 1970-01-01 in the project's time zone."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

import numpy as np

from ratings.services.days import EPOCH, date_of

SPANS = ("day", "week", "month")
LONGEST = {"day": 1, "week": 7, "month": 31}  # days
FIRM = 10  # items of a period; the value on fewer is noise


def starts(days: np.ndarray, span: str) -> np.ndarray:
    """The first day of the period in which each day lies. days, result: (n,) integers."""
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


def whole(days: Iterable[int]) -> list[int]:
    """All days of all periods that contain one of ``days``, ascending."""
    found: set[int] = set()
    for span in ("week", "month"):
        for start in np.unique(starts(np.fromiter(days, np.int64), span)).tolist():
            found.update(range(start, (end_date(date_of(start), span) - EPOCH).days))
    return sorted(found)


def end_date(start: datetime.date, span: str) -> datetime.date:
    """The first day after the period."""
    if span == "month":
        return (start.replace(day=1) + datetime.timedelta(days=32)).replace(day=1)
    return start + datetime.timedelta(days={"day": 1, "week": 7}[span])
