"""How often an alarm is wrong, as it promises."""

from __future__ import annotations

from django.utils.translation import gettext as _

from metrics.views.common.number_formats import whole
from quality.models import Alarm

from .common import level, told

DAYS_OF_A_YEAR = 250


def of_days(alarm: Alarm) -> str:
    """Of an alarm whose evidence counts days: so many to a false one at least."""
    return _in_years(
        alarm,
        one=_("A false alarm of this kind comes at most once in a year of one rater’s work."),
        many=_(
            "A false alarm of this kind comes at most once in %(years)s years of one rater’s work."
        ),
    )


def ever(alarm: Alarm) -> str:
    said = _(
        "Of raters who are not like that, at most one in %(level)s is ever named, however often one"
        " looks."
    )
    return said % told(alarm)


def of_question(alarm: Alarm) -> str:
    return _in_years(
        alarm,
        one=_("A false alarm of this kind comes at most once in a year of one question."),
        many=_("A false alarm of this kind comes at most once in %(years)s years of one question."),
    )


def _in_years(alarm: Alarm, *, one: str, many: str) -> str:
    years = level(alarm) / DAYS_OF_A_YEAR
    return one if years < 1.5 else many % {"years": whole(round(years))}


def of_gold(alarm: Alarm) -> str:
    return _(
        "Each of them is wrong with a probability of one half or more, by what raters say who are"
        " right on other gold. Three raters at least answered it."
    )


def counted(alarm: Alarm) -> str:
    return _("This is a count: chance has no part in it.")
