"""A rater's agreement with the peers by day, week and month of the rater's own ratings: read off
the counts of the days when somebody asks.

They are many and seldom looked at: stored, those of a crowd that shares little were most of what a
rating takes. The same formulas on the same counts as what is stored of all days together, so the
same numbers. A period is as new as the counts: between counting and refreshing (a moment; up to a
minute while a backlog is counted) it holds ratings that the whole does not hold yet and that the
page still tells as not in the numbers. A rater of whom nothing was read yet has no page to show a
period on.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from django.db.models import Max, QuerySet

from metrics import periods
from metrics.models import EVER, PeerTally
from metrics.scale import QuestionScale
from projects.models import Question, Rater
from ratings.services.days import EPOCH, date_of

from .peer_sums import COLUMNS, WITHOUT_MOMENTS, PeerSums

# --- the days that periods need


def days_of(question: Question, rater: Rater) -> QuerySet[PeerTally]:
    """The counts of the rater's single days on which a rating of theirs stands."""
    return _days(question, [rater.pk])


def _days(question: Question, raters: Collection[int]) -> QuerySet[PeerTally]:
    return PeerTally.objects.filter(
        question=question, rater__in=raters, day__gt=EVER, n_ratings__gt=0
    )


def newest_days(question: Question, rater: Rater, span: str, number: int) -> QuerySet[PeerTally]:
    """The days of the newest so many periods, and perhaps some of older ones."""
    return days_of(question, rater).order_by("-day")[: number * periods.LONGEST[span]]


def days_after(
    question: Question, rater: Rater, span: str, *, start: datetime.date, number: int
) -> QuerySet[PeerTally]:
    """The days of the first so many periods that begin after ``start``, some of later ones, and
    what is left of the one in which it lies."""
    later = days_of(question, rater).filter(day__gt=(start - EPOCH).days)
    return later.order_by("day")[: (number + 1) * periods.LONGEST[span]]


def number_of(question: Question, rater: Rater, span: str, *, most: int) -> int:
    """How many periods the rater has, of the newest so many."""
    days = list(newest_days(question, rater, span, most).values_list("day", flat=True))
    return min(len(np.unique(periods.starts(np.array(days, np.int64), span))), most)


# --- what is shown of them


def newest(
    question: Question,
    rater: Rater,
    span: str,
    names: Sequence[str],
    *,
    scale: QuestionScale,
    number: int,
) -> list[tuple[Any, ...]]:
    """(first day, READING of each name) of the newest so many periods, oldest first; one query."""
    days = newest_days(question, rater, span, number)
    return _course(days.values_list(*COLUMNS), scale, span, names)[-number:]


def following(
    question: Question,
    rater: Rater,
    span: str,
    names: Sequence[str],
    *,
    scale: QuestionScale,
    after: datetime.date,
    number: int,
) -> list[tuple[Any, ...]]:
    """The same of the first so many that begin after this day."""
    days = days_after(question, rater, span, start=after, number=number)
    rows = _course(days.values_list(*COLUMNS), scale, span, names)
    return [row for row in rows if row[0] > after][:number]


def newest_of_each(
    question: Question,
    raters: Collection[int],
    span: str,
    name: str,
    *,
    scale: QuestionScale,
    number: int,
) -> list[tuple[Any, ...]]:
    """(rater, first day, READING) of the newest so many periods of all these raters together,
    oldest first; one query."""
    # The periods at the end may be of all of them: none of it is cut off in its middle.
    days = _days(question, raters).order_by("-day")
    most = (number + len(raters)) * periods.LONGEST[span]
    rows = _each(days.values_list(*COLUMNS)[:most], scale, span, [name])
    return sorted(rows, key=itemgetter(1, 0))[-number:]


def newest_values(
    question: Question,
    raters: Collection[int],
    span: str,
    name: str,
    *,
    scale: QuestionScale,
    back: datetime.timedelta,
) -> dict[int, list[tuple[Any, int]]]:
    """Rater -> value and number of items of the periods that begin so short a time before the
    newest of all of them, oldest first; two queries."""
    days = _days(question, raters)
    last = days.aggregate(last=Max("day"))["last"]
    if last is None:
        return {}
    newest = int(periods.starts(np.array([last]), span)[0])
    recent = days.filter(day__gt=newest - back.days).values_list(*WITHOUT_MOMENTS)
    found: dict[int, list[tuple[Any, int]]] = {}
    for rater, start, reading in _each(recent, scale, span, [name], intervals=False):
        if start > date_of(newest) - back:
            found.setdefault(rater, []).append((reading["value"], reading["n_items"]))
    return found


def of_each(
    days: QuerySet[PeerTally],
    span: str,
    scales: Mapping[int, QuestionScale],
    names: Mapping[int, str],
) -> dict[int, list[tuple[datetime.date, Any]]]:
    """(first day, READING) of the periods of these days, of several questions by their ids, a rater
    and a name each; one query."""
    rows = sorted(days.values_list("question_id", *COLUMNS), key=itemgetter(0))
    return {
        question: _course([row for _, *row in found], scales[question], span, [names[question]])
        for question, found in groupby(rows, key=itemgetter(0))
    }


def _course(
    rows: Iterable[Any], scale: QuestionScale, span: str, names: Sequence[str]
) -> list[tuple[Any, ...]]:
    return [row[1:] for row in _each(rows, scale, span, names)]


def _each(
    rows: Iterable[Any],
    scale: QuestionScale,
    span: str,
    names: Sequence[str],
    *,
    intervals: bool = True,
) -> list[tuple[Any, ...]]:
    """(rater, first day, READING of each name) of rows of COLUMNS, in the order of the first
    two."""
    sums = PeerSums.of(rows, scale, intervals=intervals)
    if not len(sums.keys):
        return []
    sums = sums.by(span)
    estimates = sums.estimates(scale, names)
    raters, starts = sums.keys.T.tolist()
    readings = (estimates[name].readings() for name in names)
    return list(zip(raters, map(date_of, starts), *readings, strict=True))
