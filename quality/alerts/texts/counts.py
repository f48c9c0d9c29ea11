"""What is said of items that wait for ratings, and of gold in doubt: counts, without chance."""

from __future__ import annotations

from django.utils.translation import gettext as _

from metrics.views.common.number_formats import whole
from quality.models import Alarm

from .common import told


def overlap(alarm: Alarm) -> str:
    said = _(
        "%(n)s items were begun more than two weeks ago and still have fewer ratings than the"
        " %(wanted)s that are wanted."
    )
    return said % {**told(alarm), "wanted": whole(alarm.facts.get("wanted"))}


def overlap_basis(alarm: Alarm) -> list[str]:
    said = _("They are %(share)s of the items that were begun since %(since)s.")
    return [said % told(alarm)]


def overlap_explanations(alarm: Alarm) -> list[str]:
    return [
        _("Too few raters at work for the ratings that are wanted per item."),
        _("Raters who may not see these items, or who skip them."),
    ]


def gold(alarm: Alarm) -> str:
    if alarm.n == 1:
        return _("Raters put a gold answer in doubt.")
    return _("Raters put %(n)s gold answers in doubt.") % told(alarm)


def gold_basis(alarm: Alarm) -> list[str]:
    said = _("%(people)s answers were given to them by people.")
    return [said % {"people": whole(alarm.facts.get("people"))}]


def gold_explanations(alarm: Alarm) -> list[str]:
    return [
        _("A guideline that all raters understand otherwise than whoever set the gold."),
        _("Items on which there is more than one right answer: gold may allow several."),
    ]
