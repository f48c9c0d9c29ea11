"""Moments as a staging keeps them: microseconds since 1970."""

from __future__ import annotations

import datetime

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)


def microseconds_of(moment: datetime.datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def moment_of(microseconds: int | None) -> datetime.datetime | None:
    return None if microseconds is None else EPOCH + microseconds * MICROSECOND


def moment_text(microseconds: int | None) -> str:
    moment = moment_of(microseconds)
    return "" if moment is None else moment.isoformat().replace("+00:00", "Z")
