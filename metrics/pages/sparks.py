"""The course of what is read first, small: of the newest days of many questions, in a fixed number
of queries."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

from django.db.models import Max, Q, QuerySet

from metrics.agreement.headline import ICCS
from metrics.models import EVER, PeerTally, Reading, Span
from metrics.readings import over_time
from metrics.readings import raters as rater_readings
from metrics.scale import QuestionScale
from projects.models import Question, Rater

DAYS = 30

Line = list[float | None]


def sparks(readings: Iterable[Reading]) -> dict[int, Line]:
    """Question -> what is read first on the days among the DAYS up to its newest. ``readings``: of
    the whole time, one a question."""
    of_two, of_patterns = {}, []
    for reading in readings:
        first = reading.headline
        value = first.get("value") or {}
        if first.get("name") and over_time.reads_two(first, value.get("reason")):
            of_two[reading.question_id] = first["name"]
        else:
            of_patterns.append(reading.question_id)
    return _of_patterns(of_patterns) | _of_two(of_two)


def _of_patterns(questions: list[int]) -> dict[int, Line]:
    rows = Reading.objects.filter(question__in=questions, span=Span.DAY).order_by()
    recent = _recent(rows, "start", datetime.timedelta(days=DAYS))
    found: dict[int, Line] = {}
    values = rows.filter(recent).order_by("question_id", "start")
    for question, value in values.values_list("question_id", "headline__value"):
        found.setdefault(question, []).append(value)
    return found


def _of_two(names: dict[int, str]) -> dict[int, Line]:
    """Cohen's kappa, or an intraclass correlation, as the trends of these questions show it: read
    off the first of the two."""
    raters: dict[int, Rater] = over_time.first_of_each_two(list(names)) if names else {}
    if not raters:
        return {}
    mine = Q()
    for question, rater in raters.items():
        mine |= Q(question_id=question, rater=rater)
    days = PeerTally.objects.filter(mine, day__gt=EVER, n_ratings__gt=0).order_by()
    recent = days.filter(_recent(days, "day", DAYS))
    asked = Question.objects.filter(pk__in=list(raters)).prefetch_related("categories")
    scales = {question.pk: QuestionScale.of(question) for question in asked}
    iccs = {pk: name for pk, name in names.items() if pk in raters and name in ICCS}
    kappas = {pk: name for pk, name in names.items() if pk in raters and name not in ICCS}
    found: dict[int, over_time.Course] = {}
    if kappas:
        against = {pk: over_time.against_peers(name) for pk, name in kappas.items()}
        of_these = recent.filter(question__in=list(kappas))
        found |= rater_readings.of_days_each(of_these, scales, against)
    if iccs:
        rows = recent.filter(question__in=list(iccs))
        found |= over_time.icc_days_each(rows, scales, iccs)
    return {pk: [reading["value"] for _day, reading in line] for pk, line in found.items()}


def _recent(rows: QuerySet[Any], column: str, days: Any) -> Q:
    """The rows of the last days up to the newest of each question."""
    recent = Q(pk__in=[])
    for question, newest in rows.values_list("question_id").annotate(Max(column)):
        recent |= Q(question_id=question) & Q(**{f"{column}__gt": newest - days})
    return recent
