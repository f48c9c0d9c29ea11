"""Template tags for alerts."""

from __future__ import annotations

from django import template

from metrics.views.common import number_formats
from projects.models import Question, Rater
from quality.alerts.kinds import KINDS
from quality.models import Alert, AlertState, DriftState

register = template.Library()

MAX_ALERTS = 3  # alerts shown on the dashboard


@register.simple_tag
def list_alerts(question: Question, rater: Rater | None = None) -> list[tuple[Alert, str]]:
    """Return (alert, sentence) of unresolved alerts of a question or of one rater, newest first."""
    states = (AlertState.OPEN, AlertState.ACKNOWLEDGED)
    alerts = Alert.objects.filter(question=question, state__in=states)
    if rater is not None:
        alerts = alerts.filter(rater=rater) | alerts.filter(other_rater=rater)
    alerts = alerts.select_related("rater", "other_rater", "question").defer("chart")
    return [
        (alert, KINDS[alert.kind].sentence(alert))
        for alert in alerts.order_by_newest()[:MAX_ALERTS]
    ]


@register.filter
def drift_interval(row: DriftState) -> str:
    """Return the interval of a drift's size, as in "[-0.38, -0.12]"."""
    return number_formats.format_interval({"low": row.low, "high": row.high})
