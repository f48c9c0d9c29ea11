"""Days of a project's time zone as integers (days since 1970-01-01), and the time stamps that are
accepted."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

EPOCH = datetime.date(1970, 1, 1)
EARLIEST = datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC)
# Clocks of other systems may run a little ahead.
SKEW = datetime.timedelta(minutes=5)

# What is wrong with the time of a rating; imports store the kind and the time, and word them when
# shown.
WRONG_TIMES: dict[str, Promise] = {
    "shape": _("'%(time)s' is not an ISO-8601 time, like 2026-03-01T09:30:00Z"),
    "zone": _("%(time)s has no time zone; add Z or an offset like +02:00"),
    "range": _("%(time)s is out of range"),
    "future": _("%(time)s lies in the future"),
    "early": _("%(time)s lies before 1970-01-02"),
}


class WrongTime(ValueError):
    """No time that a rating may have: ``why`` is one of WRONG_TIMES."""

    def __init__(self, why: str, time: str) -> None:
        super().__init__(str(WRONG_TIMES[why]) % {"time": time})
        self.why = why
        self.time = time


def day_of(moment: datetime.datetime, zone: ZoneInfo) -> int:
    """The day in ``zone`` on which ``moment`` (aware) falls."""
    return (moment.astimezone(zone).date() - EPOCH).days


def date_of(day: int) -> datetime.date:
    return EPOCH + datetime.timedelta(days=day)


def aware(moment: datetime.datetime) -> datetime.datetime:
    """A time as the database gives it; SQLite keeps UTC without saying so."""
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def parse_rated_at(text: str, *, now: datetime.datetime) -> datetime.datetime:
    """An ISO-8601 time stamp with its zone, not in the future; WrongTime says what is wrong and
    what is allowed."""
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise WrongTime("shape", text[:40]) from None
    return check_rated_at(moment, now=now)


def check_rated_at(moment: datetime.datetime, *, now: datetime.datetime) -> datetime.datetime:
    """``moment`` itself when it is an acceptable time of a rating; WrongTime otherwise."""
    if moment.tzinfo is None:
        raise WrongTime("zone", moment.isoformat())
    try:
        moment = moment.astimezone(datetime.UTC)
    except OverflowError:
        raise WrongTime("range", moment.isoformat()) from None
    if moment > now + SKEW:
        raise WrongTime("future", moment.isoformat())
    if moment < EARLIEST:
        raise WrongTime("early", moment.isoformat())
    return moment
