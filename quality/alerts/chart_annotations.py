"""Annotations for charts and rater tables: alerts and proposed gold interventions.

Charts have the confirmed alerts as well, because their finding stays true; the tables link to what
a lead still has to do.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from projects.models import Question, Rater
from projects.models.roles import Capability, may
from quality.models import Alert, AlertCause, AlertState, GoldIntervention

from .kinds import KINDS

MAX_ANNOTATIONS = 4  # per chart, the newest: more would cover it


def list_chart_annotations(question: Question, rater: Rater | None) -> list[tuple[str, str]]:
    """Return (day, text) of the newest alerts of the question that are unresolved or confirmed.

    ``rater``: only alerts about this rater. The day is that of the onset, or of the detection for
    kinds without an onset (``from_start``).
    """
    is_shown = Q(state__in=(AlertState.OPEN, AlertState.ACKNOWLEDGED)) | Q(
        state=AlertState.RESOLVED, cause=AlertCause.REAL, supported=True
    )
    alerts = Alert.objects.filter(is_shown, question=question, kind__in=CHART_KINDS)
    if rater is not None:
        alerts = alerts.filter(Q(rater=rater) | Q(other_rater=rater))
    newest = alerts.select_related("rater").defer("chart").order_by("-pk")[:MAX_ANNOTATIONS]
    return [
        (_get_annotation_day(alert), _format_annotation(alert, for_one_rater=rater is not None))
        for alert in newest
    ]


def get_rater_annotations(
    question: Question, raters: Collection[int], role: str
) -> dict[int, list[tuple[str, str]]]:
    """Return {rater id: [(text, URL), ...]} of unresolved alerts and, for leads, proposed actions.

    Proposed actions are warnings and pauses because of gold answers.
    """
    annotations: dict[int, list[tuple[str, str]]] = {}
    alerts = Alert.objects.filter(
        question=question, state__in=(AlertState.OPEN, AlertState.ACKNOWLEDGED)
    )
    alerts = alerts.filter(Q(rater__in=raters) | Q(other_rater__in=raters)).order_by("pk")
    for alert_id, *rater_ids in alerts.values_list("pk", "rater_id", "other_rater_id"):
        url = reverse("alert", args=[question.project_id, alert_id])
        for rater_id in rater_ids:
            if rater_id is not None:
                annotations.setdefault(rater_id, []).append((_("Alert"), url))
    if may(role, Capability.MANAGE):
        interventions = GoldIntervention.objects.filter(question=question, rater__in=raters)
        url = f"{reverse('gold', args=[question.project_id])}?question={question.key}"
        for intervention in interventions.filter(state=GoldIntervention.State.PROPOSED):
            text = pgettext("phrases", ", ").join(
                (intervention.get_step_display(), intervention.get_state_display())
            )
            annotations.setdefault(intervention.rater_id, []).append((text, url))
    return annotations


# Kinds that are only counts have no place in a trend.
CHART_KINDS = [kind for kind, declared in KINDS.items() if declared.about]


def _get_annotation_day(alert: Alert) -> str:
    return (alert.detected_on if KINDS[alert.kind].from_start else alert.since).isoformat()


def _format_annotation(alert: Alert, *, for_one_rater: bool) -> str:
    """Return the text of an annotation; it names the rater, except in the chart of that rater."""
    if for_one_rater or alert.rater is None:
        return _("Alert")
    return _("Alert: %(rater)s") % {"rater": alert.rater}
