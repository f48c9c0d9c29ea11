"""Which lines of the trail somebody asks for, newest first, in queries that read no more than they
show."""

from __future__ import annotations

import csv
import datetime
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from agreement_site.models import TrailLine
from core.text import has_nul
from projects.models import Project
from ratings.files.formula_escaping import guard

from .actions import ACTS
from .masking import Mask, unmasked

NAMES = ("actor", "act", "from", "to")  # what may be asked for
LONGEST_ACTOR = 150
READ_AT_ONCE = 1_000
# Clocks of machines may differ by as much, and lines are numbered when they are written.
SLACK = datetime.timedelta(hours=1)
COLUMNS = (
    "id", "at", "what", "actor_id", "actor", "project_id", "address", "request_id",
    "before", "after", "details",
)  # fmt: skip
WHAT = COLUMNS.index("what")


class Refused(ValueError):
    """``fields``: name -> what is wrong with it."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.fields = fields


@dataclass(frozen=True)
class Wanted:
    """``first`` and ``last``: days, both within. What is empty chooses everything."""

    actor: str = ""
    act: str = ""
    first: datetime.date | None = None
    last: datetime.date | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Wanted:
        """Raises Refused for what cannot be chosen by."""
        wrong: dict[str, str] = {}
        actor, act = given.get("actor") or "", given.get("act") or ""
        if len(actor) > LONGEST_ACTOR or has_nul(actor):
            wrong["actor"] = _("The name of an account is needed.")
        if act and act not in ACTS:
            wrong["act"] = _("'%(found)s' is not known; one of %(allowed)s.") % {
                "found": act[:40],
                "allowed": ", ".join(ACTS),
            }
        days = {name: _day(given.get(name) or "", name, wrong) for name in ("from", "to")}
        if days["from"] and days["to"] and days["from"] > days["to"]:
            wrong["from"] = _("“from” must not be later than “to”.")
        if wrong:
            raise Refused(wrong)
        return cls(actor, act, days["from"], days["to"])


def _day(text: str, name: str, wrong: dict[str, str]) -> datetime.date | None:
    """A day of which every zone has the moments; none for an empty text, and for a wrong one."""
    if not text:
        return None
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or not 1970 <= day.year < 9000:
        wrong[name] = _("A day is needed, as 2026-11-23.")
        return None
    return day


def lines_of(project: Project | None, wanted: Wanted) -> QuerySet[TrailLine]:
    """The lines of a project, or of the whole site, newest first. Days are those of the project's
    time zone, or of UTC."""
    found = TrailLine.objects.order_by("-id")
    if project is not None:
        found = found.filter(project_id=project.pk)
    if wanted.actor:
        found = found.filter(actor=wanted.actor)
    if wanted.act:
        found = found.filter(what=wanted.act)
    zone = ZoneInfo(project.time_zone if project is not None else "UTC")
    if wanted.first:
        found = _since(found, _begin(wanted.first, zone))
    if wanted.last:
        found = _until(found, _begin(wanted.last + datetime.timedelta(days=1), zone))
    return found


def _begin(day: datetime.date, zone: ZoneInfo) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time.min, tzinfo=zone)


# Lines are read in the order of their ids. Which ids a day has is looked up first: otherwise a day
# long past would be looked for through all that came after it.
def _since(found: QuerySet[TrailLine], moment: datetime.datetime) -> QuerySet[TrailLine]:
    at_least = TrailLine.objects.filter(at__gte=moment - SLACK).order_by("at")
    first = at_least.values_list("pk", flat=True).first()
    return found.none() if first is None else found.filter(pk__gte=first, at__gte=moment)


def _until(found: QuerySet[TrailLine], moment: datetime.datetime) -> QuerySet[TrailLine]:
    at_most = TrailLine.objects.filter(at__lt=moment + SLACK).order_by("-at")
    last = at_most.values_list("pk", flat=True).first()
    return found.none() if last is None else found.filter(pk__lte=last, at__lt=moment)


def as_csv(found: QuerySet[TrailLine], mask: Mask = unmasked) -> Iterator[bytes]:
    """All of them as lines of CSV, some at a time."""
    yield _csv([COLUMNS])
    before: int | None = None
    while True:
        rest = found if before is None else found.filter(pk__lt=before)
        rows = list(rest.values_list(*COLUMNS)[:READ_AT_ONCE])
        if rows:
            yield _csv([[_cell(mask(row[WHAT], value)) for value in row] for row in rows])
        if len(rows) < READ_AT_ONCE:
            return
        before = rows[-1][0]


def _csv(rows: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return guard(str(value))
