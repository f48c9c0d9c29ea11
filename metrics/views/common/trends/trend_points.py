"""Trends as the pages show them: points from stored readings (a rater's: from the counts), and the
period that suits their density."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from django.db.models import Q

from metrics import periods
from metrics.agreement.headline import ICCS
from metrics.models import Reading, Span
from metrics.results.headline import headline_trend
from metrics.results.raters import rater_periods
from metrics.scale import QuestionScale
from projects.models import Project, Question, Rater
from ratings.services.days import EPOCH, date_of

POINTS = 400  # the newest so many: more cannot be told apart on a screen
TABLE_PERIODS = 60  # of a trend as a table; its file has the POINTS
DENSE = 30  # the finest period whose middle point has so many items is the default,
SPARK = datetime.timedelta(weeks=26)
LATELY = 60  # so many newest days, weeks and months decide it
POINTS_WANTED = 3  # unless it leaves fewer points than this: then the coarsest that leaves as many


@dataclass(frozen=True)
class Mark:
    """A version of the guidelines and the day, in the project's zone, from which it is in force."""

    day: datetime.date
    number: int


@dataclass(frozen=True)
class Point:
    start: datetime.date
    end: datetime.date
    reading: dict[str, Any]
    cumulative: dict[str, Any] | None = None
    # the versions that came into force in this period, or in the gap before it
    guidelines: tuple[Mark, ...] = ()

    @property
    def firm(self) -> bool:
        return (self.reading.get("n_items") or 0) >= periods.FIRM

    @property
    def span(self) -> str:
        """ "day", "week" or "month"."""
        days = (self.end - self.start).days
        return {1: "day", 7: "week"}.get(days, "month")


def is_drawn(points: Sequence[Point]) -> bool:
    """Whether there is a line to draw, and enough under it: less than ten items in all would make a
    picture of chance."""
    n_items = sum(point.reading.get("n_items") or 0 for point in points)
    return len(points) > 1 and n_items >= periods.FIRM


def project_points(
    question: Question, span: str, coefficient: str, *, limit: int = POINTS
) -> list[Point]:
    """The newest points of a project's trend, oldest first: the people's where models are kept
    apart, unless the lead wants them pooled. Of two raters: of the first of them."""
    if headline_trend.is_of_two(coefficient):
        return _points_of_two(question, span, coefficient, limit=limit)
    of_all = f"coefficients__{coefficient}", f"cumulative__{coefficient}"
    of_people = f"headline__people__{coefficient}", f"people_cumulative__{coefficient}"
    rows = Reading.objects.filter(question=question, span=span).order_by("-start")
    found = rows.values_list("start", *of_all, *of_people)[:limit]
    points = []
    for start, *readings in reversed(found):
        own, total, people, people_total = readings
        if people is not None and not question.headline_pooled:
            own, total = people, people_total
        points.append(Point(start, periods.end_date(start, span), own or {}, total or {}))
    return marked(points, question.project)


def _points_of_two(question: Question, span: str, coefficient: str, *, limit: int) -> list[Point]:
    scale = QuestionScale.of(question)
    if coefficient in ICCS:
        course = headline_trend.icc_course(question, scale, span, coefficient, newest=limit)
        points = [
            Point(start, periods.end_date(start, span), reading, {}) for start, reading in course
        ]
        return marked(points, question.project)
    rater = headline_trend.first_of_two(question)
    if rater is None:
        return []
    name = headline_trend.against_peers(coefficient)
    (points,) = rater_lines(question, rater, span, name, scale=scale, limit=limit)
    return points


def group_values(question: Question, span: str, *, limit: int = POINTS) -> dict[str, list[Any]]:
    """The newest values of the coefficient read first, oldest first: of people, of models and
    between them, where they are apart."""
    rows = Reading.objects.filter(question=question, span=span).order_by("-start")
    lines: dict[str, list[Any]] = {"people": [], "models": [], "between": []}
    columns = "headline__value", "headline__models__value", "headline__between__value"
    for values in reversed(rows.values_list(*columns)[:limit]):
        for line, value in zip(lines.values(), values, strict=True):
            line.append(value)
    return lines


def rater_lines(
    question: Question,
    rater: Rater,
    span: str,
    *coefficients: str,
    scale: QuestionScale,
    limit: int = POINTS,
) -> list[list[Point]]:
    """The newest points of a rater's trends, oldest first: a list a coefficient, all read by one
    query."""
    rows = rater_periods.newest(question, rater, span, coefficients, scale=scale, number=limit)
    lines = [
        [Point(row[0], periods.end_date(row[0], span), row[place]) for row in rows]
        for place in range(1, 1 + len(coefficients))
    ]
    return [marked(points, question.project) for points in lines]


def newest(points: list[Point]) -> tuple[list[Point], int]:
    """The points that a table shows, of all, oldest first, and how many older ones there are."""
    return points[-TABLE_PERIODS:], max(len(points) - TABLE_PERIODS, 0)


def project_table(question: Question, span: str, coefficient: str) -> tuple[list[Point], int]:
    """Those of a project's trend, without reading the older ones."""
    points = project_points(question, span, coefficient, limit=TABLE_PERIODS + 1)
    if headline_trend.is_of_two(coefficient) and (rater := headline_trend.first_of_two(question)):
        return _table(points, partial(_periods_of, question, rater, span))
    return _table(points, Reading.objects.filter(question=question, span=span).count)


def rater_tables(
    question: Question, rater: Rater, span: str, *coefficients: str, scale: QuestionScale
) -> tuple[list[list[Point]], int]:
    """Those of a rater's trends; one number, for the periods are the same."""
    lines = rater_lines(question, rater, span, *coefficients, scale=scale, limit=TABLE_PERIODS + 1)
    _points, older = _table(lines[0], partial(_periods_of, question, rater, span))
    return [points[-TABLE_PERIODS:] for points in lines], older


def _table(points: list[Point], number: Callable[[], int]) -> tuple[list[Point], int]:
    """``points``: one more than a table shows, where there are so many. Only then their
    ``number`` is asked for."""
    older = min(number(), POINTS) - TABLE_PERIODS if len(points) > TABLE_PERIODS else 0
    return points[-TABLE_PERIODS:], older


def _periods_of(question: Question, rater: Rater, span: str) -> int:
    return rater_periods.number_of(question, rater, span, most=POINTS)


def marked(points: list[Point], project: Project) -> list[Point]:
    """The points with the versions of the guidelines; no query where none was ever written."""
    if not points or not project.guidelines_version:
        return points
    zone = ZoneInfo(project.time_zone)
    versions = project.guideline_versions.values_list("made_at", "number")
    marks = [Mark(made_at.astimezone(zone).date(), number) for made_at, number in versions]
    begins = [points[0].start, *(point.end for point in points)]
    return [
        replace(point, guidelines=tuple(mark for mark in marks if begin <= mark.day < point.end))
        for begin, point in zip(begins, points, strict=False)
    ]


def project_period(question: Question) -> str:
    """The finest period whose middle point rests on at least DENSE items; a finer one where that
    leaves no line."""
    rows = Reading.objects.filter(question=question)
    newest = rows.filter(span=Span.DAY).order_by("-start").values_list("start", flat=True).first()
    if newest is None:
        return finest([])
    recent = rows.filter(_lately(newest, *periods.SPANS)).order_by()
    return finest(list(recent.values_list("span", "coefficients__percent_agreement__n_items")))


def rater_period(question: Question, rater: Rater) -> str:
    """The same of a rater's own trend, by the items shared with others."""
    days = rater_periods.newest_days(question, rater, Span.MONTH, LATELY + 1)
    daily = np.array(list(days.values_list("day", "n_items")), np.int64).reshape(-1, 2)
    sizes = []
    for span in periods.SPANS if len(daily) else ():
        starts, place = np.unique(periods.starts(daily[:, 0], span), return_inverse=True)
        n_items = np.bincount(place, weights=daily[:, 1])[starts > _before(daily[0, 0], span)]
        sizes += [(span, number) for number in n_items.tolist()]
    return finest(sizes)


def _lately(newest: datetime.date, *spans: str) -> Q:
    """The last LATELY days, weeks and months up to the newest day: years of them cost more than
    they tell."""
    recent = Q()
    for span in spans:
        recent |= Q(span=span, start__gt=date_of(_before((newest - EPOCH).days, span)))
    return recent


def _before(newest: int, span: str) -> int:
    """The day after which the last LATELY periods begin."""
    return newest - LATELY * periods.LONGEST[span]


def finest(sizes: list[tuple[str, Any]]) -> str:
    by_span: dict[str, list[int]] = {}
    for span, n_items in sizes:
        by_span.setdefault(span, []).append(n_items or 0)
    dense = [span for span in periods.SPANS if median(by_span.get(span, [0])) >= DENSE]
    telling = [span for span in periods.SPANS if len(by_span.get(span, [])) >= POINTS_WANTED]
    if dense and (dense[0] in telling or not telling):
        return dense[0]
    return telling[-1] if telling else "week"


def sparklines(
    question: Question, raters: list[int], coefficient: str, *, scale: QuestionScale
) -> dict[int, list[float | None]]:
    """Rater -> the newest values by week, at most SPARK back from the newest of all; None for a
    week of fewer than periods.FIRM items, whose value would be noise."""
    found = rater_periods.newest_values(
        question, raters, Span.WEEK, coefficient, scale=scale, back=SPARK
    )
    return {
        rater: [value if n_items >= periods.FIRM else None for value, n_items in line]
        for rater, line in found.items()
    }
