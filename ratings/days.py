"""Days of a project's time zone as integers (days since 1970-01-01), and the time stamps that are accepted."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

EPOCH = datetime.date(1970, 1, 1)
EARLIEST = datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC)
# Clocks of other systems may run a little ahead.
SKEW = datetime.timedelta(minutes=5)


def day_of(moment: datetime.datetime, zone: ZoneInfo) -> int:
    """The day in ``zone`` on which ``moment`` (aware) falls."""
    return (moment.astimezone(zone).date() - EPOCH).days


def date_of(day: int) -> datetime.date:
    return EPOCH + datetime.timedelta(days=day)


def parse_rated_at(text: str, *, now: datetime.datetime) -> datetime.datetime:
    """An ISO-8601 time stamp with its zone, not in the future; ValueError says what is wrong and what is allowed."""
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"'{text[:40]}' is not an ISO-8601 time, like 2026-03-01T09:30:00Z") from None
    return check_rated_at(moment, now=now)


def check_rated_at(moment: datetime.datetime, *, now: datetime.datetime) -> datetime.datetime:
    """``moment`` itself when it is an acceptable time of a rating; ValueError otherwise."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone; add Z or an offset like +02:00")
    try:
        moment = moment.astimezone(datetime.UTC)
    except OverflowError:
        raise ValueError(f"{moment.isoformat()} is out of range") from None
    if moment > now + SKEW:
        raise ValueError(f"{moment.isoformat()} lies in the future")
    if moment < EARLIEST:
        raise ValueError(f"{moment.isoformat()} lies before {EARLIEST.date().isoformat()}")
    return moment
