"""The course of what is read first, small: of the newest days of many questions, in a fixed number
of queries."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Max, Q
from django.utils import timezone

from metrics.agreement.headline import ICCS
from metrics.models import EVER, PeerTally, Reading, Span
from metrics.readings import over_time, rater_periods
from metrics.scale import QuestionScale
from projects.models import Question, Rater
from ratings.recording.days import EPOCH, date_of

DAYS = 30

Line = list[float | None]


@dataclass(frozen=True)
class Lately:
    """What is read first on the days among the last DAYS that have a rating; ``newest``: the last
    day of all that has one."""

    line: Line
    newest: datetime.date


def lately(readings: Iterable[Reading]) -> dict[int, Lately]:
    """Question -> its course up to today, where it has a day at all. ``readings``: of the whole
    time, one a question."""
    of_two, of_patterns = {}, []
    for reading in readings:
        first = reading.headline
        value = first.get("value") or {}
        if first.get("name") and over_time.reads_two(first, value.get("reason")):
            of_two[reading.question_id] = first["name"]
        else:
            of_patterns.append(reading.question_id)
    since = timezone.localdate(timezone=datetime.UTC) - datetime.timedelta(days=DAYS)
    return _of_patterns(of_patterns, since) | _of_two(of_two, since)


def _of_patterns(questions: list[int], since: datetime.date) -> dict[int, Lately]:
    rows = Reading.objects.filter(question__in=questions, span=Span.DAY).order_by()
    found: dict[int, Line] = {}
    values = rows.filter(start__gt=since).order_by("question_id", "start")
    for question, value in values.values_list("question_id", "headline__value"):
        found.setdefault(question, []).append(value)
    newest = rows.values_list("question_id").annotate(Max("start"))
    return {question: Lately(found.get(question, []), day) for question, day in newest}


def _of_two(names: dict[int, str], since: datetime.date) -> dict[int, Lately]:
    """Cohen's kappa, or an intraclass correlation, as the trends of these questions show it: read
    off the first of the two."""
    raters: dict[int, Rater] = over_time.first_of_each_two(list(names)) if names else {}
    if not raters:
        return {}
    mine = Q()
    for question, rater in raters.items():
        mine |= Q(question_id=question, rater=rater)
    days = PeerTally.objects.filter(mine, day__gt=EVER, n_ratings__gt=0).order_by()
    recent = days.filter(day__gt=(since - EPOCH).days)
    asked = Question.objects.filter(pk__in=list(raters)).prefetch_related("categories")
    scales = {question.pk: QuestionScale.of(question) for question in asked}
    iccs = {pk: name for pk, name in names.items() if pk in raters and name in ICCS}
    kappas = {pk: name for pk, name in names.items() if pk in raters and name not in ICCS}
    found: dict[int, over_time.Course] = {}
    if kappas:
        against = {pk: over_time.against_peers(name) for pk, name in kappas.items()}
        of_these = recent.filter(question__in=list(kappas))
        found |= rater_periods.days_of_each(of_these, scales, against)
    if iccs:
        rows = recent.filter(question__in=list(iccs))
        found |= over_time.icc_days_each(rows, scales, iccs)
    newest = days.values_list("question_id").annotate(Max("day"))
    return {
        pk: Lately([reading["value"] for _day, reading in found.get(pk, [])], date_of(day))
        for pk, day in newest
    }
