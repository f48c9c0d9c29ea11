"""Times of ratings: validation, and their day in the project's time zone."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

EPOCH = datetime.date(1970, 1, 1)
EARLIEST_TIME = datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC)
# Clocks of other systems may be slightly ahead.
MAX_CLOCK_SKEW = datetime.timedelta(minutes=5)

# Errors of a rating's time. Imports store the reason and the time, and format them for display.
TIME_ERRORS: dict[str, Promise] = {
    "shape": _("'%(time)s' isn't ISO 8601, such as 2026-03-01T09:30:00Z"),
    "zone": _("%(time)s has no time zone; add Z or an offset like +02:00"),
    "range": _("%(time)s is out of range"),
    "future": _("%(time)s is in the future"),
    "early": _("%(time)s is before 1970-01-02"),
}


class InvalidTime(ValueError):
    """The time is not valid for a rating; ``reason`` is a key of TIME_ERRORS."""

    def __init__(self, reason: str, time: str) -> None:
        super().__init__(str(TIME_ERRORS[reason]) % {"time": time})
        self.reason = reason
        self.time = time


def day_number(moment: datetime.datetime, zone: ZoneInfo) -> int:
    """Return the day of ``moment`` (aware) in ``zone``, in days since 1970-01-01."""
    return (moment.astimezone(zone).date() - EPOCH).days


def date_from_day(day: int) -> datetime.date:
    """Return the date of a day number."""
    return EPOCH + datetime.timedelta(days=day)


def ensure_aware(moment: datetime.datetime) -> datetime.datetime:
    """Return a database time as an aware datetime; SQLite returns UTC without a time zone."""
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def parse_rated_at(text: str, *, now: datetime.datetime) -> datetime.datetime:
    """Parse an ISO-8601 time with a time zone that is not in the future.

    Raises InvalidTime with the reason and the accepted format.
    """
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidTime("shape", text[:40]) from None
    return validate_rated_at(moment, now=now)


def validate_rated_at(moment: datetime.datetime, *, now: datetime.datetime) -> datetime.datetime:
    """Return ``moment`` in UTC if it is a valid time of a rating; raise InvalidTime otherwise."""
    if moment.tzinfo is None:
        raise InvalidTime("zone", moment.isoformat())
    try:
        moment = moment.astimezone(datetime.UTC)
    except OverflowError:
        raise InvalidTime("range", moment.isoformat()) from None
    if moment > now + MAX_CLOCK_SKEW:
        raise InvalidTime("future", moment.isoformat())
    if moment < EARLIEST_TIME:
        raise InvalidTime("early", moment.isoformat())
    return moment
