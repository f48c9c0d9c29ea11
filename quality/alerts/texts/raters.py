"""Texts of alerts for raters with one repeated answer, too little time, or low agreement."""

from __future__ import annotations

from django.utils.translation import gettext as _

from metrics.views.common.number_formats import format_count, format_number, format_percent
from quality.models import Alert

from .common import build_text_params


def build_same_answer_brief_text(alert: Alert, _rater: int) -> str:
    return _("almost always answers “%(category)s”") % build_text_params(alert)


def list_same_answer_basis(alert: Alert) -> list[str]:
    texts = [
        _("“%(category)s” is %(share)s of this rater’s comparable answers."),
        _(
            "On %(n)s items up to %(noticed)s, most others did not answer “%(category)s”: this "
            "rater did on %(same)s of them."
        ),
        _("On such items, %(others)s of the others’ answers are different."),
    ]
    n_same = alert.n - round(alert.size * alert.n)
    params = {**build_text_params(alert), "same": format_count(n_same)}
    return [text % params for text in texts]


def list_same_answer_explanations(alert: Alert) -> list[str]:
    return [
        _("They understand the guidelines differently: ask first."),
        _("A form or program fills in the first answer."),
    ]


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
        _("Based on %(n)s timed shared items up to %(noticed)s."),
        _("%(slow)s of them took more than 1/%(times)s of the others’ time."),
    ]
    return [text % {**build_text_params(alert), **_build_pace_params(alert)} for text in texts]


def list_fast_explanations(alert: Alert) -> list[str]:
    return [
        _("They know these items well: check their agreement."),
        _("Another program measures times differently."),
    ]


def build_outlier_brief_text(_alert: Alert, _rater: int) -> str:
    return _("has agreed far less than the others from the start")


def list_outlier_basis(alert: Alert) -> list[str]:
    texts = [
        _("Based on %(n)s shared items up to %(noticed)s."),
        # With the others' levels removed it is no longer a coefficient and has no lower bound.
        _("Mean agreement score, adjusted for the others: %(at)s (median rater: %(middle)s)."),
        _("The score is %(low)s to %(high)s (95%% interval)."),
        _("Raters at or above %(bound)s aren't flagged."),
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
        _("They understand the guidelines differently: ask first."),
        _("Harder items than the others’: see below."),
    ]


def build_newcomer_brief_text(alert: Alert, _rater: int) -> str:
    text = _("is new and agrees less than the team on the first %(n)s items")
    return text % build_text_params(alert)


def list_newcomer_basis(alert: Alert) -> list[str]:
    texts = [
        _("Based on %(n)s shared items up to %(noticed)s."),
        _("Mean agreement score, adjusted for the others: %(at)s (median rater: %(middle)s)."),
        _("The score is %(low)s to %(high)s (95%% interval)."),
        _("Newcomers at or above %(bound)s aren't expected to be flagged."),
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
        _("New to the guidelines: discuss the items below."),
        _("Harder items than the others’: see below."),
    ]
