"""Texts of alerts for a rater who drifts."""

from __future__ import annotations

from django.utils.translation import gettext as _

from quality.models import Alert, AlertKind, AlertMeasure

from .common import build_text_params, list_guideline_changes, list_timing_sentences


def build_sentence(alert: Alert) -> str:
    if alert.other_rater_id is not None:
        text = _(
            "%(rater)s and %(other)s moved apart, by about %(size)s on average since %(since)s."
            " Nothing tells which of the two moved."
        )
    elif alert.measure == AlertMeasure.AGREEMENT:
        text = _(
            "%(rater)s agrees less with everybody than before: by about %(size)s in kappa on"
            " average since %(since)s."
        )
    elif alert.size < 0:
        text = _(
            "%(rater)s rates lower than before: by about %(size)s categories on average since"
            " %(since)s."
        )
    else:
        text = _(
            "%(rater)s rates higher than before: by about %(size)s categories on average since"
            " %(since)s."
        )
    return text % build_text_params(alert)


def build_brief_text(alert: Alert, rater: int) -> str:
    """Return the short text for a table row of ``rater`` (an id)."""
    if alert.other_rater_id is not None:
        other_rater = alert.other_rater if alert.rater_id == rater else alert.rater
        text = _("apart from %(name)s by about %(size)s since %(since)s")
        return text % {**build_text_params(alert), "name": other_rater}
    if alert.measure == AlertMeasure.AGREEMENT:
        text = _("agrees less than before, by about %(size)s, since %(since)s")
    elif alert.size < 0:
        text = _("rates lower than before, by about %(size)s, since %(since)s")
    else:
        text = _("rates higher than before, by about %(size)s, since %(since)s")
    return text % build_text_params(alert)


def list_basis(alert: Alert) -> list[str]:
    text = _(
        "It rests on %(n)s items of this rater that others rated too, up to %(noticed)s, and on"
        " %(before)s before."
    )
    return [
        text % build_text_params(alert),
        *list_timing_sentences(alert),
        _describe_other_drifts(alert),
        *_list_common_changes(alert),
    ]


def _list_common_changes(alert: Alert) -> list[str]:
    """Return [a sentence on whether all raters of the items fell], empty for other measures."""
    if alert.measure != AlertMeasure.AGREEMENT or alert.other_rater_id is not None:
        return []
    falls = Alert.objects.filter(
        question=alert.question_id,
        kind=AlertKind.QUESTION_FELL,
        since__lte=alert.detected_on,
        detected_on__gte=alert.since,
    )
    if falls.exists():
        return [
            _(
                "The agreement of all others fell in these days, too; this rater fell further than"
                " that explains."
            )
        ]
    return [_("The agreement of the others on the same days and items does not explain it.")]


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
        return _("Nobody else moved in these days.")
    return _("Others moved in these days too: %(names)s.") % {"names": ", ".join(sorted(names))}


def list_explanations(alert: Alert) -> list[str]:
    return [
        *list_guideline_changes(alert),
        _("Other kinds of items than before: look at those below."),
        _("One category that is used otherwise: see the shares."),
        _("Peers who came, went or differ are no explanation: their own levels are taken out."),
    ]
