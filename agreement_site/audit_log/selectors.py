"""Queries of the audit log: filtered entries, newest first, reading no more rows than needed.

Masks hide raters' identities in entries of a project. Entries from before the raters were hidden
still contain these. Superusers see them.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from agreement_site.models import AuditLogEntry
from core.text import describe_invalid_choice, has_nul
from core.web.tables import escape_formula
from projects.models import Project
from projects.services import pseudonyms

from .descriptions import ACTIONS
from .recorder import COLUMNS

# Prefixes of actions whose entries concern raters, and the fields that identify a person.
RATER_ACTION_PREFIXES = ("rater", "exam_", "gold_", "person_", "deletion_", "admin_")
PERSONAL_FIELDS = ("name", "user", "user_id", "username")

# (action, values of an entry) -> the values that may be shown
Mask = Callable[[str, Any], Any]


def return_unmasked(_what: str, values: Any) -> Any:
    return values


def build_mask(project: Project | None, user: Any) -> Mask:
    """Return a function (action, values) that hides raters' identities in entries from this user.

    It returns the values unchanged for superusers, for entries of the site (``project`` is None),
    and for projects that do not hide their raters.
    """
    if project is None or not project.hides_raters or user.is_superuser:
        return return_unmasked
    pseudonym_of_key = pseudonyms.get_pseudonyms(project)

    def hide_identities(action: str, values: Any) -> Any:
        return (
            _mask_value(values, pseudonym_of_key)
            if action.startswith(RATER_ACTION_PREFIXES)
            else values
        )

    return hide_identities


def _mask_value(data: Any, pseudonym_of_key: dict[str, str]) -> Any:
    if isinstance(data, dict):
        return {
            pseudonym_of_key.get(name, name): _mask_value(value, pseudonym_of_key)
            for name, value in data.items()
            if name not in PERSONAL_FIELDS
        }
    if isinstance(data, list):
        return [_mask_value(element, pseudonym_of_key) for element in data]
    return pseudonym_of_key.get(data, data) if isinstance(data, str) else data


FILTER_NAMES = ("actor", "action", "from", "to")  # query parameters
MAX_ACTOR_LENGTH = 150
CSV_BATCH_SIZE = 1_000
# Clocks of machines may differ by this much, so ids and times may be in a different order.
CLOCK_SKEW = datetime.timedelta(hours=1)
ACTION_COLUMN = COLUMNS.index("action")


class InvalidAuditLogFilter(ValueError):
    """A filter is invalid; ``fields`` maps the name of the parameter to its error message."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.fields = fields


@dataclass(frozen=True)
class AuditLogFilter:
    """Conditions on entries; empty ones match everything. Both days are inclusive."""

    actor: str = ""
    action: str = ""
    first_day: datetime.date | None = None
    last_day: datetime.date | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, Any]) -> AuditLogFilter:
        """Return the filter that query parameters describe.

        Raises InvalidAuditLogFilter if one of them is not valid.
        """
        errors: dict[str, str] = {}
        actor, action = query.get("actor") or "", query.get("action") or ""
        if len(actor) > MAX_ACTOR_LENGTH or has_nul(actor):
            errors["actor"] = _("Enter a username.")
        if action and action not in ACTIONS:
            errors["action"] = describe_invalid_choice(action, ACTIONS)
        days = {name: _parse_day(query.get(name) or "", name, errors) for name in ("from", "to")}
        if days["from"] and days["to"] and days["from"] > days["to"]:
            errors["from"] = _("“from” is later than “to”.")
        if errors:
            raise InvalidAuditLogFilter(errors)
        return cls(actor, action, days["from"], days["to"])


def _parse_day(text: str, name: str, errors: dict[str, str]) -> datetime.date | None:
    """Return a day that exists in every time zone; None for an empty or invalid text.

    An invalid text adds a message to ``errors``.
    """
    if not text:
        return None
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or not 1970 <= day.year < 9000:
        errors[name] = _("Enter a date such as 2026-11-23.")
        return None
    return day


def filter_entries(project: Project | None, filters: AuditLogFilter) -> QuerySet[AuditLogEntry]:
    """Return the entries of a project, or all entries if it is None, newest first.

    Days of the filters are in the project's time zone, or in UTC.
    """
    entries = AuditLogEntry.objects.order_by("-id")
    if project is not None:
        entries = entries.filter(project_id=project.pk)
    if filters.actor:
        entries = entries.filter(actor=filters.actor)
    if filters.action:
        entries = entries.filter(action=filters.action)
    zone = ZoneInfo(project.time_zone if project is not None else "UTC")
    if filters.first_day:
        entries = _filter_since(entries, _get_start_of_day(filters.first_day, zone))
    if filters.last_day:
        entries = _filter_until(
            entries, _get_start_of_day(filters.last_day + datetime.timedelta(days=1), zone)
        )
    return entries


def _get_start_of_day(day: datetime.date, zone: ZoneInfo) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time.min, tzinfo=zone)


# Entries are read in the order of their ids. The range of ids of the days is looked up first:
# otherwise a query for an old day would scan everything newer.
def _filter_since(
    entries: QuerySet[AuditLogEntry], moment: datetime.datetime
) -> QuerySet[AuditLogEntry]:
    at_least = AuditLogEntry.objects.filter(created_at__gte=moment - CLOCK_SKEW).order_by(
        "created_at"
    )
    first_id = at_least.values_list("pk", flat=True).first()
    return (
        entries.none()
        if first_id is None
        else entries.filter(pk__gte=first_id, created_at__gte=moment)
    )


def _filter_until(
    entries: QuerySet[AuditLogEntry], moment: datetime.datetime
) -> QuerySet[AuditLogEntry]:
    at_most = AuditLogEntry.objects.filter(created_at__lt=moment + CLOCK_SKEW).order_by(
        "-created_at"
    )
    last_id = at_most.values_list("pk", flat=True).first()
    return (
        entries.none()
        if last_id is None
        else entries.filter(pk__lte=last_id, created_at__lt=moment)
    )


def iter_csv(entries: QuerySet[AuditLogEntry], mask: Mask = return_unmasked) -> Iterator[bytes]:
    """Yield all entries as CSV, in batches; ``mask`` changes their values (see ``build_mask``)."""
    yield _format_rows([COLUMNS])
    last_id: int | None = None
    while True:
        older = entries if last_id is None else entries.filter(pk__lt=last_id)
        rows = list(older.values_list(*COLUMNS)[:CSV_BATCH_SIZE])
        if rows:
            yield _format_rows(
                [[_format_cell(mask(row[ACTION_COLUMN], value)) for value in row] for row in rows]
            )
        if len(rows) < CSV_BATCH_SIZE:
            return
        last_id = rows[-1][0]


def _format_rows(rows: Any) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue().encode()


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return escape_formula(str(value))
