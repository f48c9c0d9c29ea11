"""Times as the staging database stores them: microseconds since 1970."""

from __future__ import annotations

import datetime

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)


def to_microseconds(value: datetime.datetime) -> int:
    """Return a datetime as microseconds since 1970."""
    return (value - EPOCH) // MICROSECOND


def to_datetime(microseconds: int | None) -> datetime.datetime | None:
    """Return the datetime of a number of microseconds since 1970, or None."""
    return None if microseconds is None else EPOCH + microseconds * MICROSECOND


def format_timestamp(microseconds: int | None) -> str:
    """Return the time as ISO 8601 text in UTC, empty if there is none."""
    value = to_datetime(microseconds)
    return "" if value is None else value.isoformat().replace("+00:00", "Z")
