"""API of agreement over time, by days, weeks and months.

Values are read from stored results, those of raters computed from their counts.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django.db.models import Q, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.pagination import CursorKey, JsonPage, build_cursor_error, paginate
from core.api.parameters import get_choice
from core.api.schema import (
    PAGE_PARAMETERS,
    QUESTION_PARAMETER,
    build_page_serializer,
    build_parameter,
    describe_get,
)
from metrics import periods
from metrics.agreement import Value
from metrics.agreement.headline import ICCS
from metrics.filtered.rater_results import RaterResults
from metrics.models import FilteredResult, Result
from metrics.question_scale import QuestionScale, list_headline_coefficients
from metrics.results import rater_periods
from metrics.results.headline import trends
from metrics.results.headline.headline_computation import PEOPLE
from metrics.results.intervals import QuestionClusters
from metrics.results.stored_values import build_uncounted_value
from projects.api.base import ApiView
from projects.models import Question, Rater

from . import filtered
from .agreement import get_rater
from .serializers import PeriodOut, RaterPeriodOut

PERIOD_PARAMETER = build_parameter(
    "period", "Length of a period; week when left out", enum=periods.SPANS
)
TREND_PAGE_SIZE = 1_000  # almost three years of days

# Reads the first ``size`` periods after a date, ascending: (first day, values ...).
PeriodReader = Callable[[datetime.date, int], Iterable[tuple[Any, ...]]]


class TrendView(ApiView):
    @describe_get(
        "getTrend",
        "A coefficient by day, week or month, oldest first",
        build_page_serializer("Period", PeriodOut),
        [
            QUESTION_PARAMETER,
            PERIOD_PARAMETER,
            build_parameter("coefficient", "The headline when left out"),
            *filtered.FILTER_PARAMETERS,
            *PAGE_PARAMETERS,
        ],
        may_be_pending=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return the periods with comparable items, each with those whose second rating lies in it.

        The headline is that of people where models are separate. Of two raters it is Cohen's kappa,
        and an item belongs to the later of its two days; of more raters, alpha stands for an
        intraclass correlation. With a filter: the newest 400 periods, of the coefficients that
        pages show over time.
        """
        _project, question, params, rating_filter = filtered.parse_results_request(
            self, request, project_id, "period", "coefficient", *pagination.PAGE_PARAMETER_NAMES
        )
        span = get_choice(params, "period", periods.SPANS, default="week")
        scale = QuestionScale.for_question(question)
        if rating_filter:
            body = filtered.get_or_request_dashboard(question, rating_filter)
            trend_coefficient = body.parts.headline["trend_coefficient"]
            name = get_choice(
                params, "coefficient", list_headline_coefficients(scale), default=trend_coefficient
            )
            reader = filtered.build_trend_reader(body, span, name)
        else:
            name, reader = _choose_trend(question, scale, span, params)
            reader = _widen_intervals(reader, name, question)

        def build_row(
            start: datetime.date, value: Any, cumulative: Any = None
        ) -> dict[str, object]:
            row = _build_period(span, start, value)
            return row | {"coefficient": name, "cumulative": cumulative or build_uncounted_value()}

        return Response(_build_page(request, params, reader, build_row))


class RaterTrendView(ApiView):
    @describe_get(
        "getRaterTrend",
        "A rater's agreement with the others by day, week or month, oldest first",
        build_page_serializer("RaterPeriod", RaterPeriodOut),
        [
            QUESTION_PARAMETER,
            PERIOD_PARAMETER,
            build_parameter("coefficient", "vs_peers when left out"),
            *filtered.FILTER_PARAMETERS,
            *PAGE_PARAMETERS,
        ],
        may_be_pending=True,
    )
    def get(self, request: Request, project_id: int, rater_key: str) -> Response:
        """Return the periods, each with the ratings that could first be compared in it."""
        project, question, params, rating_filter = filtered.parse_results_request(
            self, request, project_id, "period", "coefficient", *pagination.PAGE_PARAMETER_NAMES
        )
        span = get_choice(params, "period", periods.SPANS, default="week")
        scale = QuestionScale.for_question(question)
        name = get_choice(params, "coefficient", scale.list_peer_coefficients(), default="vs_peers")
        rater = get_rater(project, rater_key)
        if rating_filter:
            stored, _at = filtered.get_or_request_filtered_results(
                question, rating_filter, FilteredResult.Kind.RATER, rater
            )
            reader = filtered.build_trend_reader(RaterResults.from_json(stored), span, name)
        else:
            reader = _build_rater_reader(question, rater, scale, span=span, name=name)
            reader = _widen_intervals(reader, name, question)
        return Response(_build_page(request, params, reader, partial(_build_period, span)))


# --- readers


def _build_period(span: str, start: datetime.date, value: Value | None) -> dict[str, object]:
    return {
        **(value or build_uncounted_value()),
        "start": start,
        "end": periods.get_end_date(start, span),
    }


def _build_page(
    request: Request, params: dict[str, str], reader: PeriodReader, build_row: Callable[..., Any]
) -> JsonPage:
    def read_rows(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
        periods_read = reader(_parse_ordinal(after[0]) if after else datetime.date.min, size)
        return [
            ((start.toordinal(),), build_row(start, *values)) for start, *values in periods_read
        ]

    return paginate(request, params, key_length=1, read=read_rows, default_size=TREND_PAGE_SIZE)


def _build_stored_reader(rows: QuerySet[Any], *columns: str) -> PeriodReader:
    """Return a reader of the start and these columns of stored results."""

    def read_periods(after: datetime.date, size: int) -> Iterable[tuple[Any, ...]]:
        return rows.filter(start__gt=after).order_by("start").values_list("start", *columns)[:size]

    return read_periods


def _choose_trend(
    question: Question, scale: QuestionScale, span: str, params: dict[str, str]
) -> tuple[str, PeriodReader]:
    """Return the name of the requested coefficient, and the reader of its periods.

    Where the headline is of people and models rate too, the reader returns the values of
    people, except for coefficients that are stored for all raters only.
    """
    stored_headline = trends.get_headline(question, scale)
    default_name = stored_headline["displayed_coefficient"]
    names = list(dict.fromkeys([*scale.list_pattern_coefficients(), default_name]))
    params.setdefault("coefficient", default_name)
    name = get_choice(params, "coefficient", names, default="")
    has_people = stored_headline["population"] == PEOPLE and stored_headline["n_models"]
    of_people = bool(has_people and name in {*list_headline_coefficients(scale), default_name})
    return name, _build_question_reader(question, scale, span, name, of_people=of_people)


def _build_question_reader(
    question: Question, scale: QuestionScale, span: str, name: str, *, of_people: bool
) -> PeriodReader:
    """Return a reader of (start, value, cumulative value) of a question.

    Trends of two raters have no cumulative value.
    """
    if name in ICCS:
        return lambda after, size: trends.get_icc_trend(
            question, scale, span, name, after=after, size=size
        )
    if trends.is_two_rater_coefficient(name):
        rater = trends.get_trend_rater(question)
        if rater is None:
            return lambda _after, _size: ()
        peer_coefficient = trends.get_peer_kappa_name(name)
        return _build_rater_reader(
            question,
            rater,
            scale,
            span=span,
            name=peer_coefficient,
            days=rater_periods.COMPARED_DAYS,
        )
    rows = Result.objects.filter(question=question, period_unit=span)
    columns = f"coefficients__{name}", f"cumulative__{name}"
    if of_people:
        columns = f"headline__people__{name}", f"people_cumulative__{name}"
    return _build_stored_reader(rows.filter(**{f"{columns[0]}__n_items__gt": 0}), *columns)


def _build_rater_reader(
    question: Question,
    rater: Rater,
    scale: QuestionScale,
    *,
    span: str,
    name: str,
    days: Q = rater_periods.COMPARED_DAYS | rater_periods.RATED_DAYS,
) -> PeriodReader:
    """Return a reader of (start, value) of a rater's agreement with the peers."""

    def read_periods(after: datetime.date, size: int) -> Iterable[tuple[Any, ...]]:
        return rater_periods.list_periods_after(
            question, rater, span, [name], scale=scale, after=after, number=size, days=days
        )

    return read_periods


def _widen_intervals(reader: PeriodReader, name: str, question: Question) -> PeriodReader:
    """Return a reader of the same values, with intervals widened for clusters of items."""
    clusters = QuestionClusters.load(question.pk, question.project)
    if clusters is None:
        return reader
    widen = partial(clusters.widen_interval, name)

    def read_periods(after: datetime.date, size: int) -> Iterable[tuple[Any, ...]]:
        return [(start, *map(widen, values)) for start, *values in reader(after, size)]

    return read_periods


def _parse_ordinal(ordinal: int) -> datetime.date:
    try:
        return datetime.date.fromordinal(ordinal)
    except (ValueError, OverflowError):
        raise build_cursor_error() from None
