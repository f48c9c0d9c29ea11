"""The course of what is read first, small: of the newest weeks of many questions, in a number of
queries that does not grow with them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Q
from django.utils import timezone

from metrics import periods
from metrics.agreement.headline import ICCS
from metrics.models import EVER, PeerTally, Reading, Span
from metrics.results.headline import headline_trend
from metrics.results.raters import rater_periods
from metrics.scale import QuestionScale
from projects.models import Question, Rater
from ratings.services.days import EPOCH, date_of

from .period_comparison import CLEAR

WEEKS = 12
COMPARED = datetime.timedelta(weeks=4)  # against as many before them
SEEN = 0.005  # a smaller change is written as none

Line = list[float | None]


@dataclass(frozen=True)
class Change:
    """How far the last four weeks are from the four before; ``sure``: more than chance does."""

    value: float
    sure: bool

    @property
    def unsure(self) -> bool:
        """Whether what is seen may be chance: of no change it is not said."""
        return not self.sure and abs(self.value) >= SEEN


@dataclass(frozen=True)
class Lately:
    """What is read first in those of the last WEEKS that rest on enough items (first day, READING),
    oldest first; ``newest``: the last day of all that has a rating. ``this_week``: its Monday."""

    weeks: list[tuple[datetime.date, Mapping[str, Any]]]
    newest: datetime.date
    this_week: datetime.date

    @property
    def line(self) -> Line:
        return [reading.get("value") for _start, reading in self.weeks]

    @property
    def n_items(self) -> int:
        known = [one for _start, one in self.weeks if one.get("value") is not None]
        return sum(one["n_items"] for one in known)

    @property
    def recent(self) -> bool:
        """Whether any of these weeks has a rating."""
        return self.newest >= _since(self.this_week)

    @property
    def change(self) -> Change | None:
        """None where the weeks before or since have no value. Of weeks the means, each by its
        items: no item is in two of them."""
        middle = self.this_week - COMPARED
        after = _mean([one for start, one in self.weeks if start > middle])
        before = _mean([one for start, one in self.weeks if middle - COMPARED < start <= middle])
        if after is None or before is None:
            return None
        value, error = after[0] - before[0], math.hypot(after[1], before[1])
        return Change(value, abs(value) > CLEAR * error)


def _mean(readings: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    """Mean and standard error; infinite where one of them has none."""
    known = [one for one in readings if one.get("value") is not None]
    n = sum(one["n_items"] for one in known)
    if not n:
        return None
    errors = [math.inf if one.get("se") is None else one["n_items"] * one["se"] for one in known]
    return sum(one["n_items"] * one["value"] for one in known) / n, math.hypot(*errors) / n


def lately(readings: Iterable[Reading]) -> dict[int, Lately]:
    """Question -> its course up to today, where it has a day at all. ``readings``: of the whole
    time, one a question."""
    of_two, of_patterns = {}, []
    for reading in readings:
        first = reading.headline
        value = first.get("value") or {}
        if first.get("name") and headline_trend.reads_two(first, value.get("reason")):
            of_two[reading.question_id] = first["name"]
        else:
            of_patterns.append(reading)
    today = timezone.localdate(timezone=datetime.UTC)
    week = today - datetime.timedelta(days=today.weekday())
    return _of_patterns(of_patterns, week) | _of_two(of_two, week)


def _lately(
    weeks: Iterable[tuple[datetime.date, Any]], newest: datetime.date, week: datetime.date
) -> Lately:
    """Without the weeks of few items, whose value would be noise."""
    firm = [one for one in weeks if (one[1].get("n_items") or 0) >= periods.FIRM]
    return Lately(firm, newest, week)


def _since(week: datetime.date) -> datetime.date:
    return week - datetime.timedelta(weeks=WEEKS - 1)


def _of_patterns(readings: list[Reading], week: datetime.date) -> dict[int, Lately]:
    whose = {reading.question_id: reading.headline.get("of") for reading in readings}
    by_name: dict[str, list[int]] = {}  # a query each, and there are few
    for reading in readings:
        if name := reading.headline.get("over_time"):
            by_name.setdefault(name, []).append(reading.question_id)
    found: dict[int, list[tuple[datetime.date, Any]]] = {}
    for name, questions in by_name.items():
        rows = Reading.objects.filter(question__in=questions, span=Span.WEEK)
        rows = rows.filter(start__gte=_since(week)).order_by("question_id", "start")
        columns = f"coefficients__{name}", f"headline__people__{name}"
        for question, start, of_all, people in rows.values_list("question_id", "start", *columns):
            told = of_all if people is None or whose[question] == "all" else people
            found.setdefault(question, []).append((start, told or {}))
    days = Reading.objects.filter(question__in=list(whose), span=Span.DAY).order_by()
    newest = days.values_list("question_id").annotate(Max("start"))
    return {question: _lately(found.get(question, []), day, week) for question, day in newest}


def _of_two(names: dict[int, str], week: datetime.date) -> dict[int, Lately]:
    """Cohen's kappa, or an intraclass correlation, as the trends of these questions show it: read
    off the first of the two."""
    raters: dict[int, Rater] = headline_trend.first_of_each_two(list(names)) if names else {}
    if not raters:
        return {}
    mine = Q()
    for question, rater in raters.items():
        mine |= Q(question_id=question, rater=rater)
    days = PeerTally.objects.filter(mine, day__gt=EVER, n_ratings__gt=0).order_by()
    recent = days.filter(day__gte=(_since(week) - EPOCH).days)
    asked = Question.objects.filter(pk__in=list(raters)).prefetch_related("categories")
    scales = {question.pk: QuestionScale.of(question) for question in asked}
    iccs = {pk: name for pk, name in names.items() if pk in raters and name in ICCS}
    kappas = {pk: name for pk, name in names.items() if pk in raters and name not in ICCS}
    found: dict[int, headline_trend.Course] = {}
    if kappas:
        against = {pk: headline_trend.against_peers(name) for pk, name in kappas.items()}
        of_these = recent.filter(question__in=list(kappas))
        found |= rater_periods.of_each(of_these, Span.WEEK, scales, against)
    if iccs:
        rows = recent.filter(question__in=list(iccs))
        found |= headline_trend.icc_of_each(rows, Span.WEEK, scales, iccs)
    newest = days.values_list("question_id").annotate(Max("day"))
    return {pk: _lately(found.get(pk, []), date_of(day), week) for pk, day in newest}
