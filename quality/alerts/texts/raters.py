"""What is said of a rater who answers without looking, or is apart from the others."""

from __future__ import annotations

from django.utils.translation import gettext as _

from metrics.views.common.number_formats import figure, percent, whole
from quality.models import Alarm

from .common import told


def same(alarm: Alarm) -> str:
    said = _(
        "%(rater)s answers “%(category)s” nearly always: of %(n)s items of which most others say"
        " something else, all but %(left)s."
    )
    left = round(alarm.size * alarm.n)
    if left == 0:
        said = _(
            "%(rater)s answers “%(category)s” nearly always: even on all %(n)s items of which most"
            " others say something else."
        )
    return said % {**told(alarm), "left": whole(left)}


def same_brief(alarm: Alarm, _rater: int) -> str:
    return _("answers “%(category)s” nearly always") % told(alarm)


def same_basis(alarm: Alarm) -> list[str]:
    said = [
        _("“%(category)s” is %(share)s of all answers of this rater that can be compared."),
        _("On such items the others say something else in %(others)s of cases."),
        _("It rings for less than a quarter of that. At first it was enough on %(noticed)s."),
    ]
    return [one % told(alarm) for one in said]


def same_explanations(alarm: Alarm) -> list[str]:
    return [
        _("A guideline that was understood otherwise: ask before you judge."),
        _("A form or a program that fills in the first answer."),
        _("Items that are mostly alike are no explanation: only those with other answers count."),
    ]


def fast(alarm: Alarm) -> str:
    said = _(
        "%(rater)s is far faster than the others on the same items: %(seconds)s seconds where they"
        " take %(usual)s."
    )
    return said % {**told(alarm), **_paces(alarm)}


def fast_brief(alarm: Alarm, _rater: int) -> str:
    said = _("takes %(seconds)s seconds where others take %(usual)s")
    return said % _paces(alarm)


def _paces(alarm: Alarm) -> dict[str, str]:
    facts = alarm.facts
    return {
        "seconds": figure(facts.get("seconds"), 1),
        "usual": figure(facts.get("usual"), 1),
        "times": figure(facts.get("times"), 1),
        "slow": percent(alarm.size),
    }


def fast_basis(alarm: Alarm) -> list[str]:
    said = [
        _("It rests on %(n)s items with times of this rater and of others, up to %(noticed)s."),
        _("Only %(slow)s of them took more than 1/%(times)s of the time that others took."),
        _("It rings when far less than half of them did."),
    ]
    return [one % {**told(alarm), **_paces(alarm)} for one in said]


def fast_explanations(alarm: Alarm) -> list[str]:
    return [
        _("Somebody who knows these items well: look whether the answers agree with the others’."),
        _("Times that another program measures in its own way."),
        _("Shorter items are no explanation: the time is compared item by item."),
    ]


def apart(alarm: Alarm) -> str:
    said = _("%(rater)s agrees far less with everybody than the others do, from the start.")
    return said % told(alarm)


def apart_brief(_alarm: Alarm, _rater: int) -> str:
    return _("agrees far less than the others do, from the start")


def apart_basis(alarm: Alarm) -> list[str]:
    said = [
        _("It rests on %(n)s items of this rater that others rated too, up to %(noticed)s."),
        # Without the others' own levels it is no coefficient any more, and has no lower bound.
        _(
            "The mean agreement score, with the others’ own levels taken out, is %(at)s, that of"
            " the middle rater %(middle)s: 1 is full agreement, 0 is chance, and it can lie below"
            " -1."
        ),
        _("The score lies between %(low)s and %(high)s, with 95 %% probability."),
        _("Raters as different as these reach down to %(bound)s; nobody above that is named."),
    ]
    numbers = {
        **told(alarm),
        "at": figure(alarm.size),
        "middle": figure(alarm.facts.get("middle")),
        "bound": figure(alarm.facts.get("bound")),
    }
    return [one % numbers for one in said]


def apart_explanations(alarm: Alarm) -> list[str]:
    return [
        _("A guideline that was understood otherwise: ask before you judge."),
        _("Harder items than those of others: look at those below."),
        _("Peers who are apart themselves are no explanation: their own levels are taken out."),
    ]
