"""What the sentences of several kinds have in common."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from metrics.views.common.number_formats import figure, percent, signed, whole
from projects.models import GuidelineVersion
from quality.models import Alarm
from ratings.services.days import date_of, day_of

USUAL_LEVEL = 5_000


def day(date: datetime.date) -> str:
    return date_format(date, "DATE_FORMAT")


def told(alarm: Alarm) -> dict[str, Any]:
    """The names and figures that sentences use."""
    facts = alarm.facts
    found = {
        "rater": str(alarm.rater),
        "other": str(alarm.other),
        "since": day(alarm.since),
        "noticed": day(alarm.noticed),
        "earliest": day(alarm.since_earliest),
        "latest": day(alarm.since_latest),
        "size": figure(abs(alarm.size)),
        "low": signed(alarm.low),
        "high": signed(alarm.high),
        "n": whole(alarm.n),
        "before": whole(alarm.n_before),
        "category": facts.get("category", ""),
        "level": whole(round(level(alarm))),
    }
    shares = {
        name: percent(facts[name]) for name in ("share", "others", "was", "is") if name in facts
    }
    return found | shares


def level(alarm: Alarm) -> float:
    """The evidence at which it rang."""
    found: float = alarm.facts.get("level", USUAL_LEVEL)
    return found


def when(alarm: Alarm) -> list[str]:
    said = [
        _(
            "On average until then, the change lies between %(low)s and %(high)s (95 %%). If it"
            " still grows, it has become larger."
        )
    ]
    if alarm.since_earliest != alarm.since_latest:
        said.append(_("It began between %(earliest)s and %(latest)s (95 %%)."))
    return [one % told(alarm) for one in said]


def guidelines(alarm: Alarm) -> list[str]:
    project = alarm.question.project
    zone = ZoneInfo(project.time_zone)
    said = []
    for version in GuidelineVersion.objects.filter(project=project, number__gt=1):
        changed = date_of(day_of(version.made_at, zone))
        if alarm.since_earliest <= changed <= alarm.noticed:
            changes = {"number": version.number, "day": day(changed)}
            said.append(_("The guidelines became version %(number)s on %(day)s.") % changes)
    return said or [_("The guidelines did not change in these days.")]
