"""The API of agreement over time, by days, weeks and months: stored readings, and of raters what
their counts say."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.pagination import Key, invalid_cursor, page
from core.api.parameters import choice
from core.api.schema import PAGING, QUESTION, page_of, parameter, reads
from metrics import periods
from metrics.agreement import Value
from metrics.agreement.headline import ICCS
from metrics.models import Reading, Slice
from metrics.results.headline import headline_trend
from metrics.results.headline.headline_computation import PEOPLE
from metrics.results.raters import rater_periods
from metrics.results.values import not_counted
from metrics.scale import QuestionScale, headlines
from projects.models import Question, Rater

from . import filtered
from .agreement import rater_of
from .serializers import PeriodOut, RaterPeriodOut

PERIOD = parameter("period", "Length of a period; week when left out", enum=periods.SPANS)
TREND_PAGE = 1_000  # almost three years of days

# Of the first so many periods after a date, ascending: (first day, what is shown of it ...).
ReadPeriods = Callable[[datetime.date, int], Iterable[tuple[Any, ...]]]


class Trend(filtered.ResultsView):
    @reads(
        "getTrend",
        "A coefficient by day, week or month, oldest first",
        page_of("Period", PeriodOut),
        [
            QUESTION,
            PERIOD,
            parameter("coefficient", "The headline when left out"),
            *filtered.FILTERS,
            *PAGING,
        ],
        later=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """The items whose latest rating lies in the period; periods without items are left out. Of
        the headline: the people's where models are kept apart; Cohen's kappa by the days of the
        first rater; and what stands for an intraclass correlation. With a filter: the newest 400
        periods, of coefficients that pages show over time."""
        _project, question, found, chosen = filtered.of_request(
            self, request, project_id, "period", "coefficient", *pagination.PAGING
        )
        span = choice(found, "period", periods.SPANS, default="week")
        scale = QuestionScale.of(question)
        if chosen:
            body, _at = filtered.project(question, chosen)
            over = body["headline"]["over_time"]
            name = choice(found, "coefficient", headlines(scale), default=over)
            read = filtered.points(body, span, name, cumulative=True)
        else:
            name, read = _course_of(question, scale, span, found)

        def shown(start: datetime.date, reading: Any, cumulative: Any = None) -> dict[str, Any]:
            row = _period(span, start, reading)
            return row | {"coefficient": name, "cumulative": cumulative or not_counted()}

        return Response(_periods_page(request, found, read, shown))


class RaterTrend(filtered.ResultsView):
    @reads(
        "getRaterTrend",
        "A rater's agreement with the others by day, week or month, oldest first",
        page_of("RaterPeriod", RaterPeriodOut),
        [
            QUESTION,
            PERIOD,
            parameter("coefficient", "vs_peers when left out"),
            *filtered.FILTERS,
            *PAGING,
        ],
        later=True,
    )
    def get(self, request: Request, project_id: int, rater_key: str) -> Response:
        """The ratings which the rater gave in the period, against all other ratings of the same
        items."""
        project, question, found, chosen = filtered.of_request(
            self, request, project_id, "period", "coefficient", *pagination.PAGING
        )
        span = choice(found, "period", periods.SPANS, default="week")
        scale = QuestionScale.of(question)
        name = choice(found, "coefficient", scale.peer_names(), default="vs_peers")
        rater = rater_of(project, rater_key)
        if chosen:
            body, _at = filtered.body_of(question, chosen, Slice.Kind.RATER, rater)
            read = filtered.points(body, span, name, cumulative=False)
        else:
            read = _of_rater(question, rater, scale, span=span, name=name)
        return Response(_periods_page(request, found, read, partial(_period, span)))


# --- what is read


def _period(span: str, start: datetime.date, reading: Value | None) -> dict[str, Any]:
    return {**(reading or not_counted()), "start": start, "end": periods.end_date(start, span)}


def _periods_page(
    request: Request, found: dict[str, str], read: ReadPeriods, shown: Callable[..., Any]
) -> dict[str, Any]:
    def rows(after: Key | None, size: int) -> list[tuple[Key, Any]]:
        chosen = read(_date(after[0]) if after else datetime.date.min, size)
        return [((start.toordinal(),), shown(start, *readings)) for start, *readings in chosen]

    return page(request, found, key=1, read=rows, default_size=TREND_PAGE)


def _stored(rows: QuerySet[Any], *columns: str) -> ReadPeriods:
    """Reads (start, columns ...) of stored readings."""

    def read(after: datetime.date, size: int) -> Iterable[tuple[Any, ...]]:
        return rows.filter(start__gt=after).order_by("start").values_list("start", *columns)[:size]

    return read


def _course_of(
    question: Question, scale: QuestionScale, span: str, found: dict[str, str]
) -> tuple[str, ReadPeriods]:
    """The coefficient that is asked for, and what reads it."""
    names = scale.pattern_names()
    of_people = False
    if found.get("coefficient") not in names:
        first = headline_trend.first_of(question, scale)
        names = list(dict.fromkeys([*names, first["shown"]]))
        of_people = bool(first["of"] == PEOPLE and first["n_models"])
        found.setdefault("coefficient", first["shown"])
    name = choice(found, "coefficient", names, default="")
    return name, _course(question, scale, span, name, of_people=of_people)


def _course(
    question: Question, scale: QuestionScale, span: str, name: str, *, of_people: bool
) -> ReadPeriods:
    """Reads (start, reading, cumulative) of a question, without the latter of two raters."""
    if name in ICCS:
        return lambda after, size: headline_trend.icc_course(
            question, scale, span, name, after=after, size=size
        )
    if headline_trend.is_of_two(name):
        rater = headline_trend.first_of_two(question)
        if rater is None:
            return lambda _after, _size: ()
        own = headline_trend.against_peers(name)
        return _of_rater(question, rater, scale, span=span, name=own)
    rows = Reading.objects.filter(question=question, span=span)
    if of_people:
        return _stored(rows, f"headline__people__{name}", f"people_cumulative__{name}")
    return _stored(rows, f"coefficients__{name}", f"cumulative__{name}")


def _of_rater(
    question: Question, rater: Rater, scale: QuestionScale, *, span: str, name: str
) -> ReadPeriods:
    """Reads (start, reading) of a rater against the others."""

    def read(after: datetime.date, size: int) -> Iterable[tuple[Any, ...]]:
        return rater_periods.following(
            question, rater, span, [name], scale=scale, after=after, number=size
        )

    return read


def _date(ordinal: int) -> datetime.date:
    try:
        return datetime.date.fromordinal(ordinal)
    except (ValueError, OverflowError):
        raise invalid_cursor() from None
