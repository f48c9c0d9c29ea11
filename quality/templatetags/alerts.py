"""What pages of every room show of alarms."""

from __future__ import annotations

from django import template

from metrics.views.common import number_formats
from projects.models import Question, Rater
from quality.alerts.kinds import KINDS
from quality.models import Alarm, DriftStanding, State

register = template.Library()

TOLD = 3  # cases on the dashboard


@register.simple_tag
def told_alarms(question: Question, rater: Rater | None = None) -> list[tuple[Alarm, str]]:
    """The cases of a question, or of one rater in it, that are open or looked at, newest first,
    each with its sentence."""
    states = (State.OPEN, State.LOOKED_AT)
    cases = Alarm.objects.filter(question=question, state__in=states)
    if rater is not None:
        cases = cases.filter(rater=rater) | cases.filter(other=rater)
    cases = cases.select_related("rater", "other", "question").defer("chart")
    return [(case, KINDS[case.kind].sentence(case)) for case in cases.newest()[:TOLD]]


@register.filter
def interval_of(row: DriftStanding) -> str:
    """[-0.38, -0.12] of the size of a drift."""
    return number_formats.interval({"low": row.low, "high": row.high})
