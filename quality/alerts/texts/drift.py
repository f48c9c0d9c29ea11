"""Texts of alerts for a rater who drifts."""

from __future__ import annotations

from django.utils.translation import gettext as _

from metrics.views.common.number_formats import get_list_separator
from quality.models import Alert, AlertKind, AlertMeasure

from .common import build_text_params, list_guideline_changes, list_timing_sentences


def build_brief_text(alert: Alert, rater: int) -> str:
    """Return the short text for a table row of ``rater`` (an id)."""
    if alert.other_rater_id is not None:
        other_rater = alert.other_rater if alert.rater_id == rater else alert.rater
        text = _("has diverged from %(name)s by about %(size)s since %(since)s")
        return text % {**build_text_params(alert), "name": other_rater}
    if alert.measure == AlertMeasure.AGREEMENT:
        text = _("has agreed about %(size)s less since %(since)s (kappa)")
    elif alert.size < 0:
        text = _("has rated lower since %(since)s, by about %(size)s categories")
    else:
        text = _("has rated higher since %(since)s, by about %(size)s categories")
    return text % build_text_params(alert)


def list_basis(alert: Alert) -> list[str]:
    text = _("Based on %(n)s shared items up to %(noticed)s and %(before)s before the change.")
    return [
        text % build_text_params(alert),
        *list_timing_sentences(alert),
        _describe_other_drifts(alert),
        *_list_common_changes(alert),
    ]


def _list_common_changes(alert: Alert) -> list[str]:
    """Return [a sentence on whom else it may concern], empty for a rater's bias."""
    if alert.other_rater_id is not None:
        return [_("The data don’t show which of the two caused it.")]
    if alert.measure != AlertMeasure.AGREEMENT:
        return []
    falls = Alert.objects.filter(
        question=alert.question_id,
        kind=AlertKind.QUESTION_FELL,
        since__lte=alert.detected_on,
        detected_on__gte=alert.since,
    )
    if falls.exists():
        return [_("The others’ agreement fell then too, but less.")]
    return [_("The others on the same days and items don’t explain it.")]


def _describe_other_drifts(alert: Alert) -> str:
    """Return a sentence that says whether other raters drifted in the same days."""
    overlapping = Alert.objects.filter(
        question=alert.question_id,
        kind=alert.kind,
        since__lte=alert.detected_on,
        detected_on__gte=alert.since,
    )
    names = [
        str(drift.rater)
        for drift in overlapping.exclude(pk=alert.pk).select_related("rater").defer("chart")
        if drift.rater_id != alert.rater_id
    ]
    if not names:
        return _("No similar alerts at that time.")
    return _("Similar alerts at that time: %(names)s.") % {
        "names": get_list_separator().join(sorted(names))
    }


def list_explanations(alert: Alert) -> list[str]:
    return [
        *list_guideline_changes(alert),
        _("Different or harder items: see below."),
        _("One category used differently: see the shares."),
    ]
