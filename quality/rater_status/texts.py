"""Texts of rater statuses and of the reasons why a question could not be scanned.

The texts of alerts are in quality.alerts.kinds.
"""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from quality.rater_status.status import ALERT_REASONS, RaterStatus, RaterSummary

STATUS_LABELS: dict[str, Promise] = {
    RaterStatus.OK: gettext_lazy("nothing found"),
    RaterStatus.CHECK: gettext_lazy("watch"),
    RaterStatus.ACT: gettext_lazy("ask them"),
    RaterStatus.UNKNOWN: gettext_lazy("too little known"),
}
REASON_TEXTS: dict[str, Promise] = {
    "drift_alarm": gettext_lazy("an alarm is open"),
    "gold_below_bar": gettext_lazy("misses gold answers more often than the bar allows"),
    "alarm_muted": gettext_lazy("an alarm is muted"),
    "drift_watched": gettext_lazy("may be moving; not enough for an alarm"),
    "apart_from_peers": gettext_lazy("agrees clearly less with everybody than the others do"),
    "one_answer": gettext_lazy("nearly always the same answer"),
    "too_fast": gettext_lazy("far faster than the others"),
    "too_few_items": gettext_lazy("fewer than 30 items that others rated too"),
}
# Reason -> why a question could not be scanned.
NOT_SCANNED_TEXTS: dict[str, Promise] = {
    "too_many_comparisons": gettext_lazy(
        "This question has more ratings than can be looked through for drift."
    ),
    "single_category": gettext_lazy("Drift needs two categories or more."),
}


def get_status_label(summary: RaterSummary) -> str:
    return str(STATUS_LABELS[summary.status])


def list_reason_texts(summary: RaterSummary) -> list[str]:
    return [str(REASON_TEXTS[reason]) for reason in summary.reasons]


def list_other_reason_texts(summary: RaterSummary) -> list[str]:
    """Return the texts of the reasons that the summary's alerts do not state themselves."""
    alert_reasons = {"drift_alarm", *ALERT_REASONS.values()}
    return [str(REASON_TEXTS[reason]) for reason in summary.reasons if reason not in alert_reasons]
