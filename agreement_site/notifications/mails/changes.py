"""Events of a project as lines: alerts, gates, and raters who were paused or resumed."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _

from core.web.site_address import build_absolute_url
from events.models import Event
from projects.models import Rater
from quality.alerts.kinds import KINDS
from quality.gates import texts
from quality.models import Alert, AlertState, GateDecision

from .content import Line

INBOX_PATH = reverse_lazy("inbox")
ALERT_KINDS = ("alert.opened", "alert.resolved", "rater.drifted", "question.fell")
GATE_VERDICTS = {
    "gate.passed": GateDecision.PASS,
    "gate.failed": GateDecision.FAIL,
    "gate.not_enough": GateDecision.NOT_ENOUGH,
}
RATER_KINDS = ("rater.paused", "rater.resumed")
CHANGE_KINDS = (*ALERT_KINDS, *GATE_VERDICTS, *RATER_KINDS)


def describe_changes(events: Sequence[Event], *, only_open: bool = False) -> list[Line]:
    """Return a line for each thing that changed, by its last event; the oldest first.

    ``only_open``: alerts that somebody has answered meanwhile are left out.
    """
    last: dict[str, Event] = {event.subject: event for event in events}
    alerts = (
        Alert.objects.defer("chart")
        .select_related("question__project", "rater", "other_rater")
        .in_bulk([event.data["alert"] for event in last.values() if event.kind in ALERT_KINDS])
    )
    lines = []
    for event in last.values():
        if event.kind in ALERT_KINDS:
            alert = alerts.get(event.data["alert"])
            if alert is not None and not (only_open and alert.state != AlertState.OPEN):
                lines.append(_describe_alert(alert, marks_new=not only_open))
        elif event.kind in GATE_VERDICTS:
            lines.append(_describe_gate(event))
        elif (line := _describe_rater(event)) is not None:
            lines.append(line)
    return lines


def _describe_alert(alert: Alert, *, marks_new: bool) -> Line:
    sentence = str(KINDS[alert.kind].sentence(alert))
    if alert.state == AlertState.RESOLVED:
        sentence = _("Resolved: %(alert)s") % {"alert": sentence}
    elif marks_new:
        sentence = _("New: %(alert)s") % {"alert": sentence}
    url = reverse("alert", args=[alert.question.project_id, alert.pk])
    return Line(sentence, build_absolute_url(url), str(alert.question))


def _describe_gate(event: Event) -> Line:
    document = {**event.data, "verdict": GATE_VERDICTS[event.kind].value}
    url = build_absolute_url(reverse("gates", args=[event.project_id]))
    return Line(texts.describe_verdict(document), url)


def _describe_rater(event: Event) -> Line | None:
    raters = Rater.objects.filter(project=event.project_id, key=event.data["rater"])
    rater = raters.first()
    if rater is None:  # renamed or deleted since
        return None
    template = _("%(rater)s is paused") if rater.paused else _("%(rater)s is active again")
    url = reverse("rater", args=[event.project_id, rater.key])
    return Line(template % {"rater": rater}, build_absolute_url(url))
