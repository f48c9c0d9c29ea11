"""Template tags for alerts."""

from __future__ import annotations

from django import template

from metrics.views.common import number_formats
from projects.models import Question, Rater
from quality.alerts.kinds import KINDS
from quality.models import Alert, DriftState, AlertState

register = template.Library()

MAX_ALERTS = 3  # alerts shown on the dashboard


@register.simple_tag
def told_alarms(question: Question, rater: Rater | None = None) -> list[tuple[Alert, str]]:
    """Return (alert, sentence) of unresolved alerts of a question or of one rater, newest first."""
    states = (AlertState.OPEN, AlertState.ACKNOWLEDGED)
    alerts = Alert.objects.filter(question=question, state__in=states)
    if rater is not None:
        alerts = alerts.filter(rater=rater) | alerts.filter(other=rater)
    alerts = alerts.select_related("rater", "other", "question").defer("chart")
    return [
        (alert, KINDS[alert.kind].sentence(alert))
        for alert in alerts.order_by_newest()[:MAX_ALERTS]
    ]


@register.filter
def interval_of(row: DriftState) -> str:
    """Return the interval of a drift's size, as in "[-0.38, -0.12]"."""
    return number_formats.format_interval({"low": row.low, "high": row.high})
