"""Points of trends of a question or a rater, and the choice of their period.

Points of questions are read from stored results, those of raters computed from their counts.
"""

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
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from metrics import periods
from metrics.agreement.headline import ICCS
from metrics.models import PeriodUnit, Result
from metrics.question_scale import QuestionScale
from metrics.results import rater_periods
from metrics.results.headline import trends
from metrics.results.intervals import QuestionClusters
from metrics.results.stored_values import Value
from projects.models import Project, Question, Rater
from ratings.services.rating_timestamps import EPOCH, date_from_day

MAX_POINTS = 400  # newest points of a chart: more cannot be distinguished on a screen
TABLE_PERIODS = 60  # newest rows of the table of a trend; its CSV file has the points of the chart
# The default period is the finest whose median point has so many items, ...
MIN_MEDIAN_ITEMS = 30
SPARKLINE_SPAN = datetime.timedelta(weeks=26)
RECENT_PERIODS = 60  # newest days, weeks and months from which the default period is chosen
MIN_POINTS = 3  # ... unless it leaves fewer points: then the coarsest period with so many


@dataclass(frozen=True)
class GuidelineMark:
    """A version of the guidelines, and the day in the project's time zone from which it applies."""

    day: datetime.date
    number: int


@dataclass(frozen=True)
class TrendPoint:
    """The estimate for one period; ``cumulative``: that for all items up to the period's end."""

    start: datetime.date
    end: datetime.date
    estimate: Value
    cumulative: Value | None = None
    # versions that started to apply in this period, or in the gap before it
    guidelines: tuple[GuidelineMark, ...] = ()

    @property
    def has_enough_items(self) -> bool:
        return periods.has_enough_items(self.estimate)

    @property
    def span(self) -> str:
        """Return the length of the period: "day", "week" or "month"."""
        days = (self.end - self.start).days
        return {1: "day", 7: "week"}.get(days, "month")

    @property
    def label(self) -> str:
        """Return the period in words."""
        return format_period(self.span, self.start)


def format_period(span: str, start: datetime.date) -> str:
    """Return a day, week or month in words, such as "the week of 2026-03-09"."""
    if span == PeriodUnit.MONTH:
        return date_format(start, "YEAR_MONTH_FORMAT")
    day = date_format(start)
    return day if span == PeriodUnit.DAY else _("the week of %(date)s") % {"date": day}


def is_drawable(points: Sequence[TrendPoint]) -> bool:
    """Return whether there are enough points and items for a line.

    Two points and ten items in all are enough; a line of fewer would show only chance.
    """
    n_items = sum(point.estimate.get("n_items") or 0 for point in points)
    return len(points) > 1 and n_items >= periods.MIN_ITEMS


def list_question_points(
    question: Question, span: str, coefficient: str, *, limit: int = MAX_POINTS
) -> list[TrendPoint]:
    """Return the newest points of a question's trend, oldest first.

    Values are those of people where models are separate, unless the lead pools them. For a
    coefficient of two raters, they come from the peer counts of one of the two.
    """
    if trends.is_two_rater_coefficient(coefficient):
        return _list_two_rater_points(question, span, coefficient, limit=limit)
    all_columns = f"coefficients__{coefficient}", f"cumulative__{coefficient}"
    people_columns = f"headline__people__{coefficient}", f"people_cumulative__{coefficient}"
    rows = Result.objects.filter(question=question, period_unit=span).order_by("-start")
    values = rows.values_list("start", *all_columns, *people_columns)[:limit]
    points = []
    clusters = QuestionClusters.load(question.pk, question.project)
    for start, *estimates in reversed(values):
        estimate, cumulative, people, people_cumulative = estimates
        if people is not None and not question.headline_pooled:
            estimate, cumulative = people, people_cumulative
        if estimate and estimate["n_items"]:  # other raters have comparisons in other periods
            end = periods.get_end_date(start, span)
            if clusters:
                estimate, cumulative = (
                    clusters.widen_interval(coefficient, value) for value in (estimate, cumulative)
                )
            points.append(TrendPoint(start, end, estimate, cumulative or None))
    return add_guideline_marks(points, question.project)


def _list_two_rater_points(
    question: Question, span: str, coefficient: str, *, limit: int
) -> list[TrendPoint]:
    scale = QuestionScale.for_question(question)
    if coefficient in ICCS:
        estimates = trends.get_icc_trend(question, scale, span, coefficient, newest=limit)
        clusters = QuestionClusters.load(question.pk, question.project)
        points = [
            TrendPoint(
                start,
                periods.get_end_date(start, span),
                clusters.widen_interval(coefficient, estimate) if clusters else estimate,
            )
            for start, estimate in estimates
        ]
        return add_guideline_marks(points, question.project)
    rater = trends.get_trend_rater(question)
    if rater is None:
        return []
    name = trends.get_peer_kappa_name(coefficient)
    compared = rater_periods.COMPARED_DAYS
    (points,) = list_rater_points(
        question, rater, span, name, scale=scale, limit=limit, days=compared
    )
    return points


def get_population_trends(
    question: Question, span: str, *, limit: int = MAX_POINTS
) -> dict[str, list[Any]]:
    """Return {group: headline estimates of the newest periods, oldest first}.

    Groups: "people", "models" and "between". An estimate is None where a period has none.
    """
    rows = Result.objects.filter(question=question, period_unit=span).order_by("-start")
    lines: dict[str, list[Any]] = {"people": [], "models": [], "between": []}
    columns = "headline__value", "headline__models__value", "headline__between__value"
    for values in reversed(rows.values_list(*columns)[:limit]):
        for line, value in zip(lines.values(), values, strict=True):
            line.append(value)
    return lines


def list_rater_points(
    question: Question,
    rater: Rater,
    span: str,
    *coefficients: str,
    scale: QuestionScale,
    limit: int = MAX_POINTS,
    days: Q = rater_periods.COMPARED_DAYS | rater_periods.RATED_DAYS,
) -> list[list[TrendPoint]]:
    """Return, for each coefficient, the newest points of the rater's trend; one query.

    The oldest point comes first.
    """
    rows = rater_periods.list_newest_periods(
        question, rater, span, coefficients, scale=scale, number=limit, days=days
    )
    clusters = QuestionClusters.load(question.pk, question.project)
    if clusters:
        rows = [(row[0], *map(clusters.widen_interval, coefficients, row[1:])) for row in rows]
    lines = [
        [TrendPoint(row[0], periods.get_end_date(row[0], span), row[index]) for row in rows]
        for index in range(1, 1 + len(coefficients))
    ]
    return [add_guideline_marks(points, question.project) for points in lines]


def limit_to_table(points: list[TrendPoint]) -> tuple[list[TrendPoint], int]:
    """Return the points that a table shows, and the number of older ones.

    ``points``: oldest first.
    """
    return points[-TABLE_PERIODS:], max(len(points) - TABLE_PERIODS, 0)


def get_project_table_points(
    question: Question, span: str, coefficient: str
) -> tuple[list[TrendPoint], int]:
    """Return the points that the table of a project's trend shows, and the number of older ones.

    Older points are counted, but not read.
    """
    points = list_question_points(question, span, coefficient, limit=TABLE_PERIODS + 1)
    if trends.is_two_rater_coefficient(coefficient) and (rater := trends.get_trend_rater(question)):
        compared = rater_periods.COMPARED_DAYS
        return _limit_and_count(points, partial(_count_periods, question, rater, span, compared))
    return _limit_and_count(
        points, Result.objects.filter(question=question, period_unit=span).count
    )


def get_rater_table_points(
    question: Question, rater: Rater, span: str, *coefficients: str, scale: QuestionScale
) -> tuple[list[list[TrendPoint]], int]:
    """Return, for each coefficient, the points that a table of the rater's trend shows.

    The second part is the number of older periods, which is the same for all coefficients.
    """
    lines = list_rater_points(
        question, rater, span, *coefficients, scale=scale, limit=TABLE_PERIODS + 1
    )
    _points, older = _limit_and_count(lines[0], partial(_count_periods, question, rater, span))
    return [points[-TABLE_PERIODS:] for points in lines], older


def _limit_and_count(
    points: list[TrendPoint], count_periods: Callable[[], int]
) -> tuple[list[TrendPoint], int]:
    """Return the newest TABLE_PERIODS points, and the number of older periods.

    ``points``: at most TABLE_PERIODS + 1; ``count_periods`` is called only if there are that many.
    """
    older = min(count_periods(), MAX_POINTS) - TABLE_PERIODS if len(points) > TABLE_PERIODS else 0
    return points[-TABLE_PERIODS:], older


def _count_periods(
    question: Question,
    rater: Rater,
    span: str,
    days: Q = rater_periods.COMPARED_DAYS | rater_periods.RATED_DAYS,
) -> int:
    return rater_periods.count_periods(question, rater, span, most=MAX_POINTS, days=days)


def add_guideline_marks(points: list[TrendPoint], project: Project) -> list[TrendPoint]:
    """Return the points, each with the guideline versions that started to apply in its period.

    There is no query for a project without guidelines.
    """
    if not points or not project.guidelines_version:
        return points
    zone = ZoneInfo(project.time_zone)
    versions = project.guideline_versions.values_list("created_at", "number")
    guideline_marks = [
        GuidelineMark(created_at.astimezone(zone).date(), number) for created_at, number in versions
    ]
    begin_dates = [points[0].start, *(point.end for point in points)]
    return [
        replace(
            point,
            guidelines=tuple(mark for mark in guideline_marks if begin <= mark.day < point.end),
        )
        for begin, point in zip(begin_dates, points, strict=False)
    ]


def choose_project_period(question: Question) -> str:
    """Return the default period of a question's trend, by the items of its newest periods.

    It is "day", "week" or "month", as `choose_period` chooses it.
    """
    rows = Result.objects.filter(question=question)
    newest = (
        rows.filter(period_unit=PeriodUnit.DAY)
        .order_by("-start")
        .values_list("start", flat=True)
        .first()
    )
    if newest is None:
        return choose_period([])
    recent = rows.filter(_build_recent_filter(newest, *periods.SPANS)).order_by()
    return choose_period(
        list(recent.values_list("period_unit", "coefficients__percent_agreement__n_items"))
    )


def choose_rater_period(question: Question, rater: Rater) -> str:
    """Return the default period of a rater's trend, by the items shared with others.

    It is "day", "week" or "month", as `choose_period` chooses it.
    """
    days = rater_periods.filter_newest_days(question, rater, PeriodUnit.MONTH, RECENT_PERIODS + 1)
    daily = np.array(list(days.values_list("day", "n_items")), np.int64).reshape(-1, 2)
    sizes = []
    for span in periods.SPANS if len(daily) else ():
        starts, period_index = np.unique(
            periods.compute_start_days(daily[:, 0], span), return_inverse=True
        )
        n_items = np.bincount(period_index, weights=daily[:, 1])[
            starts > _get_cutoff_day(daily[0, 0], span)
        ]
        sizes += [(span, number) for number in n_items.tolist()]
    return choose_period(sizes)


def _build_recent_filter(newest: datetime.date, *spans: str) -> Q:
    """Return the filter for the newest RECENT_PERIODS periods of each span.

    The numbers of items of older ones would hardly change the choice of the period.
    """
    recent = Q()
    for span in spans:
        recent |= Q(
            period_unit=span, start__gt=date_from_day(_get_cutoff_day((newest - EPOCH).days, span))
        )
    return recent


def _get_cutoff_day(newest: int, span: str) -> int:
    """Return the day after which the newest RECENT_PERIODS periods begin."""
    return newest - RECENT_PERIODS * periods.MAX_DAYS[span]


def choose_period(sizes: list[tuple[str, Any]]) -> str:
    """Return the finest period with MIN_MEDIAN_ITEMS items at its median point.

    If that leaves fewer than MIN_POINTS points, or no period has so many items, return the coarsest
    period with MIN_POINTS points, else with two points, else "week". ``sizes``: (period, items) of
    each point.
    """
    by_span: dict[str, list[int]] = {}
    for span, n_items in sizes:
        by_span.setdefault(span, []).append(n_items or 0)
    dense = [span for span in periods.SPANS if median(by_span.get(span, [0])) >= MIN_MEDIAN_ITEMS]
    with_enough_points = [
        span for span in periods.SPANS if len(by_span.get(span, [])) >= MIN_POINTS
    ]
    if with_enough_points:
        return dense[0] if dense and dense[0] in with_enough_points else with_enough_points[-1]
    # A single point is no trend, whatever its size.
    n_compared = {span: sum(n > 0 for n in numbers) for span, numbers in by_span.items()}
    with_two_points = [span for span in periods.SPANS if n_compared.get(span, 0) == 2]
    default = dense[0] if dense else "week"
    return default if default in with_two_points or not with_two_points else with_two_points[-1]


def get_sparklines(
    question: Question, raters: list[int], coefficient: str, *, scale: QuestionScale
) -> dict[int, list[float | None]]:
    """Return {rater id: weekly values}, None for a week with fewer than periods.MIN_ITEMS items.

    They cover the SPARKLINE_SPAN up to the newest week of all these raters.
    """
    weekly_values = rater_periods.get_recent_values(
        question, raters, PeriodUnit.WEEK, coefficient, scale=scale, back=SPARKLINE_SPAN
    )
    return {
        rater: [value if n_items >= periods.MIN_ITEMS else None for value, n_items in week_values]
        for rater, week_values in weekly_values.items()
    }
