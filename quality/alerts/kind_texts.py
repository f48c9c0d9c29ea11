"""Texts of each kind of alert: what changed, the data behind it, and possible explanations."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.text import get_list_separator
from metrics.views.common.number_formats import (
    format_count,
    format_number,
    format_percent,
)
from quality.models import Alert, AlertKind, AlertMeasure
from quality.rater_status.comparison import get_comparison

from .text_parts import build_text_params, list_guideline_changes, list_timing_sentences


def build_same_answer_brief_text(alert: Alert, _rater: int) -> str:
    return _("almost always answers “%(category)s”") % build_text_params(alert)


def list_same_answer_basis(alert: Alert) -> list[str]:
    texts = [
        _("“%(category)s” is %(share)s of this rater’s comparable answers."),
        _(
            "By %(noticed)s, this rater answered “%(category)s” on %(same)s of %(n)s items "
            "where most others did not."
        ),
        _("On those items, %(others)s of the other answers differ."),
    ]
    n_same = alert.n - round(alert.size * alert.n)
    params = {**build_text_params(alert), "same": format_count(n_same)}
    return [text % params for text in texts]


def list_same_answer_explanations(alert: Alert) -> list[str]:
    return [
        _("They may read the guidelines differently: ask first."),
        _("A form or program fills in the first answer."),
    ]


def build_fast_brief_text(alert: Alert, _rater: int) -> str:
    text = _("takes %(seconds)s seconds where others take %(usual)s")
    return text % _build_pace_params(alert)


def _build_pace_params(alert: Alert) -> dict[str, str]:
    """Return the formatted numbers of an alert about a rater's pace, by name.

    ``seconds`` and ``usual``: per item, of the rater and of others.
    """
    facts = alert.facts
    return {
        "seconds": format_number(facts.get("seconds"), 1),
        "usual": format_number(facts.get("usual"), 1),
        "times": format_number(facts.get("times"), 1),
        "slow": format_percent(alert.size),
    }


def list_fast_basis(alert: Alert) -> list[str]:
    texts = [
        _("Based on %(n)s timed shared items up to %(noticed)s."),
        _("%(slow)s of them took over 1/%(times)s of the others’ time."),
    ]
    return [text % {**build_text_params(alert), **_build_pace_params(alert)} for text in texts]


def list_fast_explanations(alert: Alert) -> list[str]:
    return [
        _("They know these items well: check their agreement."),
        _("Another program measures times differently."),
    ]


def build_outlier_brief_text(_alert: Alert, _rater: int) -> str:
    return _("agrees far less than the others")


def list_outlier_basis(alert: Alert) -> list[str]:
    texts = [
        _("Based on %(n)s shared items up to %(noticed)s."),
        # With the others' levels removed it is no longer a coefficient and has no lower bound.
        _(
            "Mean agreement score (on its own scale), adjusted for the others: %(at)s "
            "(95%% interval %(low)s to %(high)s; median %(middle)s)."
        ),
        _("Not flagged: %(bound)s or above."),
    ]
    params = {
        **build_text_params(alert),
        "at": format_number(alert.size),
        "middle": format_number(alert.facts.get("middle")),
        "bound": format_number(alert.facts.get("bound")),
    }
    return [text % params for text in texts]


def list_outlier_explanations(alert: Alert) -> list[str]:
    return [
        *([_("Opposite answers: ask how they read the scale.")] if is_reversed(alert) else []),
        _("They may read the guidelines differently: ask first."),
        _("The items are harder or different: see below."),
    ]


def build_newcomer_brief_text(alert: Alert, _rater: int) -> str:
    text = _("is new and agrees less than the team on the first %(n)s items")
    return text % build_text_params(alert)


def list_newcomer_basis(alert: Alert) -> list[str]:
    texts = [
        _("Based on %(n)s shared items up to %(noticed)s."),
        _(
            "Mean agreement score (on its own scale), adjusted for the others: %(at)s "
            "(95%% interval %(low)s to %(high)s; median %(middle)s)."
        ),
        _("Rarely flagged: newcomers at %(bound)s or above."),
    ]
    params = {
        **build_text_params(alert),
        "at": format_number(alert.size),
        "middle": format_number(alert.facts.get("middle")),
        "bound": format_number(alert.facts.get("bound")),
    }
    return [text % params for text in texts]


def list_newcomer_explanations(alert: Alert) -> list[str]:
    return [
        *([_("Opposite answers: ask how they read the scale.")] if is_reversed(alert) else []),
        _("New to the guidelines: discuss the items below."),
        _("The items are harder or different: see below."),
    ]


def is_reversed(alert: Alert) -> bool:
    """Return whether the alert's rater now answers the scale upside down."""
    result = get_comparison(alert.question).raters.get(alert.rater_id or 0)
    return result is not None and result.is_reversed


def build_copies_brief_text(alert: Alert, rater: int) -> str:
    other_rater = alert.other_rater if alert.rater_id == rater else alert.rater
    text = _("agrees more with %(name)s than expected: kappa %(together)s, expected %(expected)s")
    return text % {**_build_kappa_params(alert), "name": other_rater}


def list_copies_basis(alert: Alert) -> list[str]:
    texts = [
        _("Based on %(n)s shared items up to %(noticed)s."),
        _("Difference from the expected kappa: %(low)s to %(high)s (95%% interval)."),
        _("The data don’t show which of them caused it."),
    ]
    return [text % _build_kappa_params(alert) for text in texts]


def list_copies_explanations(_alert: Alert) -> list[str]:
    return [
        _("They discuss items, or share an account or program."),
        _("Only they share training, or know the answers."),
    ]


def _build_kappa_params(alert: Alert) -> dict[str, str]:
    return {
        **build_text_params(alert),
        "together": format_number(alert.facts.get("together")),
        "expected": format_number(alert.facts.get("expected")),
    }


def build_drift_brief_text(alert: Alert, rater: int) -> str:
    """Return the text of a drift alert for the table row of one of its raters (``rater``: id)."""
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
    # The bias on the rater's page has another size: it depends on whom the rater is compared with.
    return _("%(text)s, adjusted for the others") % {"text": text % build_text_params(alert)}


def list_drift_basis(alert: Alert) -> list[str]:
    text = _(
        "Based on %(n)s shared items since the change (up to %(noticed)s) and %(before)s before it."
    )
    return [
        text % build_text_params(alert),
        *list_timing_sentences(alert),
        _describe_other_drifts(alert),
        *_list_common_changes(alert),
    ]


def _list_common_changes(alert: Alert) -> list[str]:
    """Return a list with a sentence on whether other raters caused the change; empty for a bias."""
    if alert.other_rater_id is not None:
        return [_("The data don’t show which of them caused it.")]
    if alert.measure != AlertMeasure.AGREEMENT:
        return []
    falls = Alert.objects.filter(
        question=alert.question_id,
        kind=AlertKind.QUESTION_FELL,
        since__lte=alert.detected_on,
        detected_on__gte=alert.since,
    )
    if falls.exists():
        return [_("The others’ agreement fell too, but less.")]
    return [_("The others’ ratings then don’t explain it.")]


def _describe_other_drifts(alert: Alert) -> str:
    """Return a sentence that names the raters with similar alerts then, or says there are none."""
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
        return _("No similar alerts then.")
    return _("Similar alerts then: %(names)s.") % {
        "names": get_list_separator().join(sorted(names))
    }


def list_drift_explanations(alert: Alert) -> list[str]:
    return [
        *list_guideline_changes(alert),
        _("The items are harder or different: see below."),
        _("One category used differently: see the shares."),
    ]


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


def list_level_basis(alert: Alert) -> list[str]:
    text = _(
        "Based on %(n)s shared items since the change (up to %(noticed)s) and %(before)s before it."
    )
    exclusion = _("Raters count only until they drift.")
    return [
        text % build_text_params(alert),
        *list_timing_sentences(alert),
        *_list_other_falling_raters(alert),
        exclusion,
    ]


def _list_other_falling_raters(alert: Alert) -> list[str]:
    """Return a list with a sentence on other pairs, or on raters who fell more than the question.

    Empty for alerts of a category.
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


def list_level_explanations(alert: Alert) -> list[str]:
    return [
        *list_guideline_changes(alert),
        _("The items are harder or different: see below."),
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
        _("Some items have several right answers; gold can allow them."),
    ]
