"""What an alarm says, in sentences: what moved, since when, by how much, on what it rests, and what
else could explain it. kinds.py says which belong to which kind."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from metrics.pages.figures import figure, percent, signed, whole
from projects.models import GuidelineVersion
from quality.models import Alarm, Measure
from ratings.recording.days import date_of, day_of

DAYS_OF_A_YEAR = 250
USUAL_LEVEL = 5_000


def day(date: datetime.date) -> str:
    return date_format(date, "DATE_FORMAT")


def told(alarm: Alarm) -> dict[str, Any]:
    """The names and figures that sentences use."""
    facts = alarm.facts
    found = {
        "rater": str(alarm.rater),
        "other": str(alarm.other),
        "since": day(alarm.since),
        "noticed": day(alarm.noticed),
        "earliest": day(alarm.since_earliest),
        "latest": day(alarm.since_latest),
        "size": figure(abs(alarm.size)),
        "low": signed(alarm.low),
        "high": signed(alarm.high),
        "n": whole(alarm.n),
        "before": whole(alarm.n_before),
        "category": facts.get("category", ""),
        "level": whole(round(level(alarm))),
    }
    shares = {
        name: percent(facts[name]) for name in ("share", "others", "was", "is") if name in facts
    }
    return found | shares


def level(alarm: Alarm) -> float:
    """The evidence at which it rang."""
    found: float = alarm.facts.get("level", USUAL_LEVEL)
    return found


# --- how often it is wrong


def promise_of_days(alarm: Alarm) -> str:
    """Of an alarm whose evidence counts days: so many to a false one at least."""
    return _in_years(
        alarm,
        one=_("A false alarm of this kind comes at most once in a year of one rater’s work."),
        many=_(
            "A false alarm of this kind comes at most once in %(years)s years of one rater’s work."
        ),
    )


def promise_ever(alarm: Alarm) -> str:
    said = _(
        "Of raters who are not like that, at most one in %(level)s is ever named, however often one"
        " looks."
    )
    return said % told(alarm)


def promise_of_question(alarm: Alarm) -> str:
    return _in_years(
        alarm,
        one=_("A false alarm of this kind comes at most once in a year of one question."),
        many=_("A false alarm of this kind comes at most once in %(years)s years of one question."),
    )


def _in_years(alarm: Alarm, *, one: str, many: str) -> str:
    years = level(alarm) / DAYS_OF_A_YEAR
    return one if years < 1.5 else many % {"years": whole(round(years))}


def promise_of_gold(alarm: Alarm) -> str:
    return _(
        "Each of them is wrong with a probability of one half or more, by what raters say who are"
        " right on other gold. Three raters at least answered it."
    )


def counted(alarm: Alarm) -> str:
    return _("This is a count: chance has no part in it.")


# --- a rater who drifts


def drift(alarm: Alarm) -> str:
    if alarm.other_id is not None:
        said = _(
            "%(rater)s and %(other)s moved apart, by about %(size)s on average since %(since)s."
            " Nothing tells which of the two moved."
        )
    elif alarm.measure == Measure.AGREEMENT:
        said = _(
            "%(rater)s agrees less with everybody than before: by about %(size)s in kappa on"
            " average since %(since)s."
        )
    elif alarm.size < 0:
        said = _(
            "%(rater)s rates lower than before: by about %(size)s categories on average since"
            " %(since)s."
        )
    else:
        said = _(
            "%(rater)s rates higher than before: by about %(size)s categories on average since"
            " %(since)s."
        )
    return said % told(alarm)


def drift_basis(alarm: Alarm) -> list[str]:
    said = _(
        "It rests on %(n)s items of this rater that others rated too, up to %(noticed)s, and on"
        " %(before)s before."
    )
    return [said % told(alarm), *_when(alarm), _others(alarm)]


def _when(alarm: Alarm) -> list[str]:
    said = [
        _(
            "On average until then, the change lies between %(low)s and %(high)s (95 %%). If it"
            " still grows, it has become larger."
        )
    ]
    if alarm.since_earliest != alarm.since_latest:
        said.append(_("It began between %(earliest)s and %(latest)s (95 %%)."))
    return [one % told(alarm) for one in said]


def _others(alarm: Alarm) -> str:
    """Whether somebody else moved in the same days."""
    also = Alarm.objects.filter(
        question=alarm.question_id,
        kind=alarm.kind,
        since__lte=alarm.noticed,
        noticed__gte=alarm.since,
    )
    names = [
        str(one.rater)
        for one in also.exclude(pk=alarm.pk).select_related("rater").defer("chart")
        if one.rater_id != alarm.rater_id
    ]
    if not names:
        return _("Nobody else moved in these days.")
    return _("Others moved in these days too: %(names)s.") % {"names": ", ".join(sorted(names))}


def drift_explanations(alarm: Alarm) -> list[str]:
    return [
        *_guidelines(alarm),
        _("Other kinds of items than before: look at those below."),
        _("One category that is used otherwise: see the shares."),
        _("Peers who came, went or differ are no explanation: their own levels are taken out."),
    ]


def _guidelines(alarm: Alarm) -> list[str]:
    project = alarm.question.project
    zone = ZoneInfo(project.time_zone)
    said = []
    for version in GuidelineVersion.objects.filter(project=project, number__gt=1):
        changed = date_of(day_of(version.made_at, zone))
        if alarm.since_earliest <= changed <= alarm.noticed:
            changes = {"number": version.number, "day": day(changed)}
            said.append(_("The guidelines became version %(number)s on %(day)s.") % changes)
    return said or [_("The guidelines did not change in these days.")]


# --- a rater who answers without looking, or is apart


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
    said = _(
        "%(rater)s agrees far less with everybody than the others do, from the start: %(at)s in"
        " kappa, the middle rater %(middle)s."
    )
    return said % {
        **told(alarm),
        "at": figure(alarm.size),
        "middle": figure(alarm.facts.get("middle")),
    }


def apart_basis(alarm: Alarm) -> list[str]:
    said = [
        _("It rests on %(n)s items of this rater that others rated too, up to %(noticed)s."),
        _("The level lies between %(low)s and %(high)s, with 95 %% probability."),
        _("Raters as different as these reach down to %(bound)s; nobody above that is named."),
    ]
    numbers = {**told(alarm), "bound": figure(alarm.facts.get("bound"))}
    return [one % numbers for one in said]


def apart_explanations(alarm: Alarm) -> list[str]:
    return [
        _("A guideline that was understood otherwise: ask before you judge."),
        _("Harder items than those of others: look at those below."),
        _("Peers who are apart themselves are no explanation: their own levels are taken out."),
    ]


# --- a question, a pair, a category


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


def moved_basis(alarm: Alarm) -> list[str]:
    said = _("It rests on %(n)s items or comparisons, up to %(noticed)s, and on %(before)s before.")
    left_out = _("What raters with an alarm of drift said since it began is left out.")
    return [said % told(alarm), *_when(alarm), left_out]


def moved_explanations(alarm: Alarm) -> list[str]:
    return [
        *_guidelines(alarm),
        _("Other kinds of items than before: look at those that are new."),
        _("One rater who drifts is no explanation: that would be an alarm of its own."),
    ]


# --- counts


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
