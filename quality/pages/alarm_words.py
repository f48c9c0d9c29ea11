"""What an alarm says, in sentences: what moved, since when, by how much, on what it rests, and what
else could explain it."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from metrics.pages.figures import figure, signed, whole
from projects.models import GuidelineVersion
from quality.models import Alarm, Measure
from quality.scorecard.cards import Card, Status
from ratings.recording.days import date_of, day_of

STATUS: dict[str, Promise] = {
    Status.FINE: gettext_lazy("fine"),
    Status.WATCH: gettext_lazy("watch"),
    Status.ACT: gettext_lazy("act"),
    Status.UNKNOWN: gettext_lazy("too little known"),
}
REASONS: dict[str, Promise] = {
    "drift_alarm": gettext_lazy("an alarm is open"),
    "gold_below_bar": gettext_lazy("misses gold answers more often than the bar allows"),
    "alarm_muted": gettext_lazy("an alarm is muted"),
    "drift_watched": gettext_lazy("may be moving; not enough for an alarm"),
    "apart_from_peers": gettext_lazy("agrees clearly less with the others than the middle rater"),
    "one_answer": gettext_lazy("always gives the same answer"),
    "too_fast": gettext_lazy("takes less than a third of the middle rater’s time"),
    "too_few_items": gettext_lazy("fewer than 30 items that others rated too"),
}
# Why nothing could be looked for.
NOT_LOOKED: dict[str, Promise] = {
    "too_many_comparisons": gettext_lazy(
        "This question has more ratings than can be looked through for drift."
    ),
    "single_category": gettext_lazy("Drift needs two categories or more."),
}


def day(date: datetime.date) -> str:
    return date_format(date, "DATE_FORMAT")


def sentence(alarm: Alarm) -> str:
    """What moved, since when, by how much."""
    told: dict[str, Any] = {
        "rater": str(alarm.rater),
        "other": str(alarm.other),
        "since": day(alarm.since),
        "size": figure(abs(alarm.size)),
    }
    if alarm.other_id is not None:
        return _(
            "%(rater)s and %(other)s moved apart, by about %(size)s since %(since)s. Nothing tells"
            " which of the two moved."
        ) % told  # fmt: skip
    if alarm.measure == Measure.AGREEMENT:
        return _(
            "%(rater)s agrees less with everybody than before: by about %(size)s in kappa since"
            " %(since)s."
        ) % told  # fmt: skip
    if alarm.size < 0:
        return _(
            "%(rater)s rates lower than before: by about %(size)s categories since %(since)s."
        ) % told  # fmt: skip
    return _(
        "%(rater)s rates higher than before: by about %(size)s categories since %(since)s."
    ) % told  # fmt: skip


def basis(alarm: Alarm) -> list[str]:
    """On what it rests, and how sure it is."""
    told = {
        "n": whole(alarm.n),
        "before": whole(alarm.n_before),
        "noticed": day(alarm.noticed),
        "low": signed(alarm.low),
        "high": signed(alarm.high),
        "earliest": day(alarm.since_earliest),
        "latest": day(alarm.since_latest),
    }
    said = [
        _(
            "It rests on %(n)s items of this rater that others rated too, up to %(noticed)s, and on"
            " %(before)s before."
        )
        % told,
        _("The change lies between %(low)s and %(high)s, with 95 %% probability.") % told,
    ]
    if alarm.since_earliest != alarm.since_latest:
        said.append(_("It began between %(earliest)s and %(latest)s.") % told)
    said.append(_("A false alarm of this kind comes at most once in 20 years of one rater’s work."))
    return said


def others(alarm: Alarm) -> str:
    """Whether somebody else moved in the same days."""
    also = Alarm.objects.filter(
        question=alarm.question_id, since__lte=alarm.noticed, noticed__gte=alarm.since
    )
    names = [
        str(one.rater)
        for one in also.exclude(pk=alarm.pk).select_related("rater").defer("chart")
        if one.rater_id != alarm.rater_id
    ]
    if not names:
        return _("Nobody else moved in these days.")
    return _("Others moved in these days too: %(names)s.") % {"names": ", ".join(sorted(names))}


def explanations(alarm: Alarm) -> list[str]:
    """What else could explain it."""
    project = alarm.question.project
    zone = ZoneInfo(project.time_zone)
    said = []
    for version in GuidelineVersion.objects.filter(project=project, number__gt=1):
        changed = date_of(day_of(version.made_at, zone))
        if alarm.since_earliest <= changed <= alarm.noticed:
            told = {"number": version.number, "day": day(changed)}
            said.append(_("The guidelines became version %(number)s on %(day)s.") % told)
    if not said:
        said.append(_("The guidelines did not change in these days."))
    said.append(_("Other kinds of items than before: look at those below."))
    said.append(_("One category that is used otherwise: see the shares."))
    said.append(
        _("Peers who came, went or differ are no explanation: their own levels are taken out.")
    )
    return said


def status(card: Card) -> str:
    return str(STATUS[card.status])


def reasons(card: Card) -> list[str]:
    return [str(REASONS[reason]) for reason in card.reasons]
