"""Texts of alerts for a question, a pair or a category whose level changed."""

from __future__ import annotations

from django.utils.translation import gettext as _

from quality.models import Alert, AlertKind, AlertMeasure

from .common import build_text_params, list_guideline_changes, list_timing_sentences


def build_question_sentence(alert: Alert) -> str:
    text = _(
        "All agree less with each other than before on this question: by about %(size)s in kappa"
        " since %(since)s."
    )
    return text % build_text_params(alert)


def build_pair_sentence(alert: Alert) -> str:
    text = _(
        "%(rater)s and %(other)s agree less with each other than before: by about %(size)s in kappa"
        " since %(since)s. With the others neither of them moved."
    )
    return text % build_text_params(alert)


def build_pair_brief_text(alert: Alert, rater: int) -> str:
    other_rater = alert.other_rater if alert.rater_id == rater else alert.rater
    text = _("agrees less with %(name)s than before, by about %(size)s, since %(since)s")
    return text % {**build_text_params(alert), "name": other_rater}


def build_category_sentence(alert: Alert) -> str:
    if alert.measure == AlertMeasure.CATEGORY_SHARE:
        text = _(
            "“%(category)s” is hardly used any more: %(is)s of the answers since %(since)s, before"
            " %(was)s."
        )
    else:
        text = _(
            "“%(category)s” does not hold any more: where one rater says it, others say it in"
            " %(is)s of cases since %(since)s, before in %(was)s."
        )
    return text % build_text_params(alert)


def list_basis(alert: Alert) -> list[str]:
    text = _("It rests on %(n)s items or comparisons, up to %(noticed)s, and on %(before)s before.")
    exclusion = _("What raters with an alarm of drift said since it began is left out.")
    return [
        text % build_text_params(alert),
        *list_timing_sentences(alert),
        *_list_other_falling_raters(alert),
        exclusion,
    ]


def _list_other_falling_raters(alert: Alert) -> list[str]:
    """Return [a sentence on the raters who fell further than all others in the same days].

    Empty for alerts that are not of a question.
    """
    if alert.kind != AlertKind.QUESTION_FELL:
        return []
    drifts = Alert.objects.filter(
        question=alert.question_id,
        kind=AlertKind.RATER_DRIFT,
        measure=AlertMeasure.AGREEMENT,
        since__lte=alert.detected_on,
        detected_on__gte=alert.since,
    )
    names = sorted({str(drift.rater) for drift in drifts.select_related("rater").defer("chart")})
    if not names:
        return [_("No rater fell further than all others did.")]
    text = _("These raters fell further than all others did: %(names)s.")
    return [text % {"names": ", ".join(names)}]


def list_explanations(alert: Alert) -> list[str]:
    return [
        *list_guideline_changes(alert),
        _("Other kinds of items than before: look at those that are new."),
        _("One rater who drifts is no explanation: that would be an alarm of its own."),
    ]
