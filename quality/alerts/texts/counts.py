"""Texts of alerts that are counts: missing ratings and suspected gold answers."""

from __future__ import annotations

from django.utils.translation import gettext as _

from metrics.views.common.number_formats import format_count
from quality.models import Alert

from .common import build_text_params


def build_overlap_sentence(alert: Alert) -> str:
    text = _(
        "%(n)s items were begun more than two weeks ago and still have fewer ratings than the"
        " %(wanted)s that are wanted."
    )
    return text % {**build_text_params(alert), "wanted": format_count(alert.facts.get("wanted"))}


def list_overlap_basis(alert: Alert) -> list[str]:
    text = _("They are %(share)s of the items that were begun since %(since)s.")
    return [text % build_text_params(alert)]


def list_overlap_explanations(alert: Alert) -> list[str]:
    return [
        _("Too few raters at work for the ratings that are wanted per item."),
        _("Raters who may not see these items, or who skip them."),
    ]


def build_gold_sentence(alert: Alert) -> str:
    if alert.n == 1:
        return _("Raters put a gold answer in doubt.")
    return _("Raters put %(n)s gold answers in doubt.") % build_text_params(alert)


def list_gold_basis(alert: Alert) -> list[str]:
    text = _("%(people)s answers were given to them by people.")
    return [text % {"people": format_count(alert.facts.get("people"))}]


def list_gold_explanations(alert: Alert) -> list[str]:
    return [
        _("A guideline that all raters understand otherwise than whoever set the gold."),
        _("Items on which there is more than one right answer: gold may allow several."),
    ]
