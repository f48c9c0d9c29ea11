"""Times as tables have them: ISO 8601, and the formats of spreadsheets, often without a zone."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from zoneinfo import ZoneInfo

DAY_FIRST, MONTH_FIRST = "dmy", "mdy"
DATE_ORDERS = (DAY_FIRST, MONTH_FIRST)
_TIME = (
    r"(?:[,T\s]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?)?\s*(?P<zone>Z|(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d{2})?)?|[A-Z]{3,4})?"
    r"(?:\s*\([^()]*\))?"  # the zone's name, as browsers write it
)
_DATE = re.compile(
    r"(?P<first>\d{1,2})(?P<sign>[/.-])(?P<second_part>\d{1,2})[/.-](?P<year>\d{4}|\d{2})" + _TIME
)
_YEAR_FIRST = re.compile(r"(?P<year>\d{4})[/.-](?P<month>\d{1,2})[/.-](?P<day>\d{1,2})" + _TIME)
_OFFSET = re.compile(r"(?:UTC|GMT)([+-])(\d{1,2})(?::?(\d{2}))?")
_EPOCH_SECONDS = re.compile(r"\d{10}(\.\d+)?|\d{13}")
# Days since 1899-12-30, as spreadsheets store dates: 1982 to 2064.
_SPREADSHEET_DAYS = re.compile(r"[345]\d{4}(\.\d+)?")
_SPREADSHEET_DAY_ZERO = datetime.datetime(1899, 12, 30, tzinfo=datetime.UTC)
# Hours that the abbreviations of time zones are ahead of UTC.
_ZONE_HOURS = {"WEST": 1, "CET": 1, "MEZ": 1, "CEST": 2, "MESZ": 2, "EET": 2, "EEST": 3, "EST": -5,
               "EDT": -4, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}  # fmt: skip
# Beginnings of the names of months in English, German, French and Spanish.
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan ene",
            "feb fév fev",
            "mar mär mrz",
            "apr avr abr",
            "may mai",
            "jun juin",
            "jul juil",
            "aug aoû aou ago",
            "sep",
            "oct okt",
            "nov",
            "dec déc dez dic",
        ),
        1,
    )
    for name in names.split()
}
# With the name of the month, as browsers, form tools and spreadsheets write times.
_NAMED_MONTH = re.compile(
    r"(?:[A-Za-z]{3,9},? )?(?:(?P<month>[^\W\d_]{3,10})\.? (?P<day>\d{1,2})|"
    r"(?P<first_day>\d{1,2})\.?[ /-](?P<second_month>[^\W\d_]{3,10})\.?),?[ /-]"
    r"(?P<year>\d{4}|\d{2})(?: at)?" + _TIME
)


def guess_date_order(texts: Iterable[str]) -> str:
    """Return DAY_FIRST or MONTH_FIRST if these dates allow only that order, else ""."""
    orders = set()
    for text in texts:
        if match := _DATE.fullmatch(text):
            if match["sign"] == "." or int(match["first"]) > 12:
                orders.add(DAY_FIRST)
            elif int(match["second_part"]) > 12:
                orders.add(MONTH_FIRST)
    return orders.pop() if len(orders) == 1 else ""


def is_numeric_time(text: str) -> bool:
    """Return whether a number may be a time.

    It may be seconds or milliseconds since 1970, or a spreadsheet's day number.
    """
    return bool(_EPOCH_SECONDS.fullmatch(text) or _SPREADSHEET_DAYS.fullmatch(text))


def is_zoned_or_not_a_time(text: str) -> bool:
    """Return whether a text needs no time zone: it names one, or it is no time."""
    moment = _parse_time(text, DAY_FIRST) or _parse_time(text, MONTH_FIRST)
    return moment is None or moment.tzinfo is not None


def parse_table_time(text: str, *, zone: ZoneInfo, date_order: str) -> datetime.datetime | str:
    """Return the time as an aware datetime, or the unchanged text if it cannot be parsed.

    ``zone`` applies if the text names none. With an empty ``date_order``, a text in which day and
    month may be confused is not parsed.
    """
    moment = _parse_time(text, date_order)
    if moment is None:
        return text
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def has_ambiguous_date_order(text: str) -> bool:
    """Return whether a text is a date that needs a date order to be parsed."""
    return _parse_time(text, "") is None and _parse_time(text, DAY_FIRST) is not None


def _parse_time(text: str, date_order: str) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return _parse_non_iso_time(text, date_order)


def _parse_non_iso_time(text: str, date_order: str) -> datetime.datetime | None:
    """Return a time in another form than ISO 8601, or None."""
    try:
        if _EPOCH_SECONDS.fullmatch(text):
            seconds = float(text) / (1000 if len(text) == 13 else 1)
            return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        if _SPREADSHEET_DAYS.fullmatch(text):
            seconds = round(float(text) * 86_400)
            moment = _SPREADSHEET_DAY_ZERO + datetime.timedelta(seconds=seconds)
            return moment.replace(tzinfo=None)
        if match := _YEAR_FIRST.fullmatch(text):
            return _build_datetime(
                match, int(match["year"]), int(match["month"]), int(match["day"])
            )
        if match := _NAMED_MONTH.fullmatch(text):
            name = (match["month"] or match["second_month"]).casefold()
            month = _MONTHS.get(name[:4]) or _MONTHS[name[:3]]
            day = int(match["day"] or match["first_day"])
            return _build_datetime(match, _complete_year(match["year"]), month, day)
        return _parse_short_date(text, date_order)
    except (ValueError, LookupError, OverflowError, OSError):
        return None


def _parse_short_date(text: str, date_order: str) -> datetime.datetime | None:
    """Return the time of a text such as 25/11/2025 or 11/25/2025.

    None for any other text, or if the order of day and month is not known.
    """
    match = _DATE.fullmatch(text)
    order = guess_date_order([text]) or date_order
    if match is None or not order:
        return None
    parts = int(match["first"]), int(match["second_part"])
    day, month = parts if order == DAY_FIRST else parts[::-1]
    return _build_datetime(match, _complete_year(match["year"]), month, day)


def _complete_year(text: str) -> int:
    """Return the year; one of two digits is in this century."""
    return int(text) + (2000 if len(text) == 2 else 0)


def _build_datetime(match: re.Match[str], year: int, month: int, day: int) -> datetime.datetime:
    hour = int(match["hour"] or 0)
    if half := (match["half"] or "").casefold():
        if not 1 <= hour <= 12:
            raise ValueError("hour")
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    zone: datetime.tzinfo | None = None
    if match["zone"]:
        offset = _OFFSET.fullmatch(match["zone"])
        if offset:
            minutes = int(offset[1] + offset[2]) * 60 + int(offset[1] + (offset[3] or "0"))
        else:
            minutes = 60 * (
                0 if match["zone"] in ("Z", "UTC", "GMT") else _ZONE_HOURS[match["zone"]]
            )
        zone = datetime.timezone(datetime.timedelta(minutes=minutes))
    return datetime.datetime(
        year, month, day, hour, int(match["minute"] or 0), int(match["second"] or 0), tzinfo=zone
    )
