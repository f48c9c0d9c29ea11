"""Alarms on the trends of a question and of its raters, and in tables of raters, with what gold
brought them."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlencode

from django.db.models import Count, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.views.common.number_formats import whole
from projects.models import Member, Question, Rater
from quality.models import Alarm, GoldAct, State

from .kinds import KINDS

MOST = 4  # of a chart, the newest: more would cover it


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


def of_raters(
    question: Question, raters: Collection[int], role: str
) -> dict[int, list[tuple[str, str]]]:
    """Rater -> a word for each open case, and for leads the warnings and pauses that are proposed;
    with the page that says more."""
    found: dict[int, list[tuple[str, str]]] = {}
    cases = Alarm.objects.filter(question=question, state__in=(State.OPEN, State.LOOKED_AT))
    cases = cases.filter(Q(rater__in=raters) | Q(other__in=raters)).order_by("pk")
    for pk, *named in cases.values_list("pk", "rater_id", "other_id"):
        url = reverse("alarm", args=[question.project_id, pk])
        for rater in named:
            if rater is not None:
                found.setdefault(rater, []).append((_("alarm"), url))
    if role == Member.Role.LEAD:
        acts = GoldAct.objects.filter(question=question, rater__in=raters)
        url = f"{reverse('gold', args=[question.project_id])}?question={question.key}"
        for act in acts.filter(state=GoldAct.State.PROPOSED):
            said = {"step": act.get_step_display(), "state": act.get_state_display()}
            words = _("%(step)s, %(state)s") % said
            found.setdefault(act.rater_id, []).append((words, url))
    return found


def first(question: Question) -> tuple[str, str] | None:
    """Raters with open cases are looked at before anything is decided by their answers: the words
    of a button, and the page that lists them; None where there are none."""
    cases = Alarm.objects.filter(question=question, state=State.OPEN, rater__paused=False)
    n = cases.aggregate(n=Count("rater", distinct=True))["n"]
    if not n:
        return None
    words = ngettext("Look at one rater first", "Look at %(n)s raters first", n) % {"n": whole(n)}
    query = urlencode({"question": question.key, "show": "alarm"})
    return words, f"{reverse('raters', args=[question.project_id])}?{query}"


# What is only counted moves no trend.
MOVED = [kind for kind, declared in KINDS.items() if declared.about]


def _day(case: Alarm) -> str:
    return (case.noticed if KINDS[case.kind].from_start else case.since).isoformat()


def _words(case: Alarm, *, alone: bool) -> str:
    if alone or case.rater is None:
        return _("alarm")
    return _("alarm: %(rater)s") % {"rater": case.rater}
