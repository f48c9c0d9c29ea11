"""Alarms on the trends of a question and of its raters."""

from __future__ import annotations

from django.db.models import Q
from django.utils.translation import gettext as _

from projects.models import Question, Rater
from quality.models import Alarm, Kind, State

MOST = 4  # of a chart, the newest: more would cover it
FROM_THE_START = (Kind.RATER_SAME, Kind.RATER_FAST, Kind.RATER_APART)


def of(question: Question, rater: Rater | None) -> list[tuple[str, str]]:
    """A day and words for each case that is open or looked at: of the question, or of the rater in
    it. The day is that since when, or where that is the first of all, when it was noticed."""
    cases = Alarm.objects.filter(
        question=question, state__in=(State.OPEN, State.LOOKED_AT), kind__in=MOVED
    )
    if rater is not None:
        cases = cases.filter(Q(rater=rater) | Q(other=rater))
    newest = cases.select_related("rater").defer("chart").order_by("-pk")[:MOST]
    return [(_day(case), _words(case, alone=rater is not None)) for case in newest]


# What is only counted moves no trend.
MOVED = [kind for kind in Kind.values if kind not in (Kind.OVERLAP_BEHIND, Kind.GOLD_SUSPECTED)]


def _day(case: Alarm) -> str:
    return (case.noticed if case.kind in FROM_THE_START else case.since).isoformat()


def _words(case: Alarm, *, alone: bool) -> str:
    if alone or case.rater is None:
        return _("alarm")
    return _("alarm: %(rater)s") % {"rater": case.rater}
