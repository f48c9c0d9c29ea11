"""Texts of alerts for raters with one repeated answer, too little time, or low agreement."""

from __future__ import annotations

from django.utils.translation import gettext as _

from metrics.views.common.number_formats import format_count, format_number, format_percent
from quality.models import Alert

from .common import build_text_params


def build_same_answer_sentence(alert: Alert) -> str:
    text = _(
        "%(rater)s answers “%(category)s” nearly always: of %(n)s items of which most others say"
        " something else, all but %(left)s."
    )
    n_exceptions = round(alert.size * alert.n)
    if n_exceptions == 0:
        text = _(
            "%(rater)s answers “%(category)s” nearly always: even on all %(n)s items of which most"
            " others say something else."
        )
    return text % {**build_text_params(alert), "left": format_count(n_exceptions)}


def build_same_answer_brief_text(alert: Alert, _rater: int) -> str:
    return _("answers “%(category)s” nearly always") % build_text_params(alert)


def list_same_answer_basis(alert: Alert) -> list[str]:
    texts = [
        _("“%(category)s” is %(share)s of all answers of this rater that can be compared."),
        _("On such items the others say something else in %(others)s of cases."),
        _("It rings for less than a quarter of that. At first it was enough on %(noticed)s."),
    ]
    return [text % build_text_params(alert) for text in texts]


def list_same_answer_explanations(alert: Alert) -> list[str]:
    return [
        _("A guideline that was understood otherwise: ask before you judge."),
        _("A form or a program that fills in the first answer."),
        _("Items that are mostly alike are no explanation: only those with other answers count."),
    ]


def build_fast_sentence(alert: Alert) -> str:
    text = _(
        "%(rater)s is far faster than the others on the same items: %(seconds)s seconds where they"
        " take %(usual)s."
    )
    return text % {**build_text_params(alert), **_build_pace_params(alert)}


def build_fast_brief_text(alert: Alert, _rater: int) -> str:
    text = _("takes %(seconds)s seconds where others take %(usual)s")
    return text % _build_pace_params(alert)


def _build_pace_params(alert: Alert) -> dict[str, str]:
    """Return the formatted seconds per item and their comparison with other raters."""
    facts = alert.facts
    return {
        "seconds": format_number(facts.get("seconds"), 1),
        "usual": format_number(facts.get("usual"), 1),
        "times": format_number(facts.get("times"), 1),
        "slow": format_percent(alert.size),
    }


def list_fast_basis(alert: Alert) -> list[str]:
    texts = [
        _("It rests on %(n)s items with times of this rater and of others, up to %(noticed)s."),
        _("Only %(slow)s of them took more than 1/%(times)s of the time that others took."),
        _("It rings when far less than half of them did."),
    ]
    return [text % {**build_text_params(alert), **_build_pace_params(alert)} for text in texts]


def list_fast_explanations(alert: Alert) -> list[str]:
    return [
        _("Somebody who knows these items well: look whether the answers agree with the others’."),
        _("Times that another program measures in its own way."),
        _("Shorter items are no explanation: the time is compared item by item."),
    ]


def build_outlier_sentence(alert: Alert) -> str:
    text = _("%(rater)s agrees far less with everybody than the others do, from the start.")
    return text % build_text_params(alert)


def build_outlier_brief_text(_alert: Alert, _rater: int) -> str:
    return _("agrees far less than the others do, from the start")


def list_outlier_basis(alert: Alert) -> list[str]:
    texts = [
        _("It rests on %(n)s items of this rater that others rated too, up to %(noticed)s."),
        # With the others' levels removed it is no longer a coefficient and has no lower bound.
        _(
            "The mean agreement score, with the others’ own levels taken out, is %(at)s, that of"
            " the middle rater %(middle)s: 1 is full agreement, 0 is chance, and it can lie below"
            " -1."
        ),
        _("The score lies between %(low)s and %(high)s, with 95 %% probability."),
        _("Raters as different as these reach down to %(bound)s; nobody above that is named."),
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
        _("A guideline that was understood otherwise: ask before you judge."),
        _("Harder items than those of others: look at those below."),
        _("Peers who are apart themselves are no explanation: their own levels are taken out."),
    ]


def build_newcomer_sentence(alert: Alert) -> str:
    text = _(
        "%(rater)s is new and agrees less with the others than the team does, on the first %(n)s"
        " items."
    )
    return text % build_text_params(alert)


def build_newcomer_brief_text(_alert: Alert, _rater: int) -> str:
    return _("is new and agrees less than the team does")


def list_newcomer_basis(alert: Alert) -> list[str]:
    texts = [
        _(
            "The alert is based on the first %(n)s items of this rater that others rated, too, up"
            " to %(noticed)s. The first 30 to 300 items are tested."
        ),
        _(
            "The mean agreement score, without the others’ own levels and without what the same"
            " days meant for everybody, is %(at)s, that of the middle rater %(middle)s."
        ),
        _("The score lies between %(low)s and %(high)s, with 95 %% probability."),
        _("Newcomers at %(bound)s or above are not expected to be named."),
    ]
    params = {
        **build_text_params(alert),
        "at": format_number(alert.size),
        "middle": format_number(alert.facts.get("middle")),
        "bound": format_number(alert.facts.get("bound")),
    }
    return [text % params for text in texts]


def list_newcomer_explanations(_alert: Alert) -> list[str]:
    return [
        _("The guidelines are new to this rater: discuss the items below, and look again later."),
        _("Harder items than those of others: look at those below."),
        _("A hard time for everybody is no explanation: the same days of the others are removed."),
    ]
