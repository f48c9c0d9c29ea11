"""Texts of alerts for a question: levels that changed, missing ratings, suspected gold answers.

A level is that of the question, of a pair or of a category.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.views.common.number_formats import format_count, get_list_separator
from quality.models import Alert, AlertKind, AlertMeasure

from .common import build_text_params, list_guideline_changes, list_timing_sentences


def build_question_sentence(alert: Alert) -> str:
    text = _("Agreement has been about %(size)s lower since %(since)s (kappa).")
    return text % build_text_params(alert)


def build_pair_brief_text(alert: Alert, rater: int) -> str:
    other_rater = alert.other_rater if alert.rater_id == rater else alert.rater
    text = _("has agreed about %(size)s less with %(name)s since %(since)s (kappa)")
    return text % {**build_text_params(alert), "name": other_rater}


def build_category_sentence(alert: Alert) -> str:
    if alert.measure == AlertMeasure.CATEGORY_SHARE:
        text = _(
            "“%(category)s” is hardly used: %(is)s of answers since %(since)s, %(was)s before."
        )
    else:
        text = _(
            "“%(category)s” is used inconsistently: others agree in %(is)s of cases since "
            "%(since)s, %(was)s before."
        )
    return text % build_text_params(alert)


def list_basis(alert: Alert) -> list[str]:
    text = _("Based on %(n)s shared items up to %(noticed)s, %(before)s before the change.")
    exclusion = _("Drifting raters count until their drift.")
    return [
        text % build_text_params(alert),
        *list_timing_sentences(alert),
        *_list_other_falling_raters(alert),
        exclusion,
    ]


def _list_other_falling_raters(alert: Alert) -> list[str]:
    """Return a list with a sentence on other pairs or raters; empty for alerts of a category.

    It names the raters whose agreement fell further than the question's.
    """
    if alert.kind == AlertKind.PAIR_DIVERGED:
        return [_("Other pairs fell less.")]
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
        return [_("No alert about a single rater then.")]
    text = _("It fell further for %(names)s.")
    return [text % {"names": get_list_separator().join(names)}]


def list_explanations(alert: Alert) -> list[str]:
    return [
        *list_guideline_changes(alert),
        _("The items are harder or of other kinds: see below."),
    ]


def build_overlap_sentence(alert: Alert) -> str:
    text = _("%(n)s items started over two weeks ago have fewer than %(wanted)s ratings.")
    return text % {**build_text_params(alert), "wanted": format_count(alert.facts.get("wanted"))}


def list_overlap_basis(alert: Alert) -> list[str]:
    text = _("%(share)s of the items started since %(since)s.")
    return [text % build_text_params(alert)]


def list_overlap_explanations(alert: Alert) -> list[str]:
    return [
        _("Too few active raters for these ratings per item."),
        _("Raters can’t see these items, or skip them."),
    ]


def build_gold_sentence(alert: Alert) -> str:
    text = ngettext("%(n)s gold answer may be wrong.", "%(n)s gold answers may be wrong.", alert.n)
    return text % build_text_params(alert)


def list_gold_basis(alert: Alert) -> list[str]:
    text = _("People answered these items %(people)s times.")
    return [text % {"people": format_count(alert.facts.get("people"))}]


def list_gold_explanations(alert: Alert) -> list[str]:
    return [
        _("Raters understand the guidelines differently from the gold author."),
        _("Some items have several right answers, which gold can allow."),
    ]
