"""What is said of a question, a pair or a category that moved."""

from __future__ import annotations

from django.utils.translation import gettext as _

from quality.models import Alarm, Measure

from .common import guidelines, told, when


def question(alarm: Alarm) -> str:
    said = _(
        "All agree less with each other than before on this question: by about %(size)s in kappa"
        " since %(since)s."
    )
    return said % told(alarm)


def pair(alarm: Alarm) -> str:
    said = _(
        "%(rater)s and %(other)s agree less with each other than before: by about %(size)s in kappa"
        " since %(since)s. With the others neither of them moved."
    )
    return said % told(alarm)


def pair_brief(alarm: Alarm, rater: int) -> str:
    other = alarm.other if alarm.rater_id == rater else alarm.rater
    said = _("agrees less with %(name)s than before, by about %(size)s, since %(since)s")
    return said % {**told(alarm), "name": other}


def category(alarm: Alarm) -> str:
    if alarm.measure == Measure.USE:
        said = _(
            "“%(category)s” is hardly used any more: %(is)s of the answers since %(since)s, before"
            " %(was)s."
        )
    else:
        said = _(
            "“%(category)s” does not hold any more: where one rater says it, others say it in"
            " %(is)s of cases since %(since)s, before in %(was)s."
        )
    return said % told(alarm)


def basis(alarm: Alarm) -> list[str]:
    said = _("It rests on %(n)s items or comparisons, up to %(noticed)s, and on %(before)s before.")
    left_out = _("What raters with an alarm of drift said since it began is left out.")
    return [said % told(alarm), *when(alarm), left_out]


def explanations(alarm: Alarm) -> list[str]:
    return [
        *guidelines(alarm),
        _("Other kinds of items than before: look at those that are new."),
        _("One rater who drifts is no explanation: that would be an alarm of its own."),
    ]
