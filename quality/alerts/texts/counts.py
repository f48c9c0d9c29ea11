"""Texts of alerts that are counts: missing ratings and suspected gold answers."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.views.common.number_formats import format_count
from quality.models import Alert

from .common import build_text_params


def build_overlap_sentence(alert: Alert) -> str:
    text = _("%(n)s items were started over two weeks ago and have fewer than %(wanted)s ratings.")
    return text % {**build_text_params(alert), "wanted": format_count(alert.facts.get("wanted"))}


def list_overlap_basis(alert: Alert) -> list[str]:
    text = _("They are %(share)s of the items started since %(since)s.")
    return [text % build_text_params(alert)]


def list_overlap_explanations(alert: Alert) -> list[str]:
    return [
        _("Too few active raters for so many ratings per item."),
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
        _("They understand the guidelines differently: ask first."),
        _("Some items have several right answers, which gold can allow."),
    ]
