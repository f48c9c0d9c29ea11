"""API of agreement with filters: the filters of the pages, in the format of unfiltered results.

A worker computes a requested result; until then the response is 202.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from django.core import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest
from core.api.pagination import CursorKey
from core.api.parameters import (
    get_attribute_parameters,
    get_choice,
    parse_query_parameters,
)
from core.api.schema import build_attribute_parameter, build_parameter
from metrics.agreement.coefficients import cohen
from metrics.agreement.headline import COHEN
from metrics.filtered import filter_choices, filtered_jobs
from metrics.filtered.compact_values import SHORT_FIELDS
from metrics.filters import (
    CURRENT_VERSION,
    FILTER_NAMES,
    ITEM_PREFIX,
    SAMPLE_CHOICES,
    RatingFilter,
)
from metrics.jobs import question_updates
from metrics.models import CountState, FilteredResult, Result
from metrics.results.clusters import QuestionClusters
from metrics.scale import QuestionScale, get_weighted_name
from projects.api.base import ApiView, get_question
from projects.models import Member, Project, Question, Rater

# Population -> the kind of rater that its filter selects.
POPULATION_KINDS = {"people": Rater.Kind.HUMAN.value, "models": Rater.Kind.MODEL.value, "all": ""}
FILTER_PARAMETERS = [
    build_parameter("from", "Ratings of this day or later, like 2026-03-02"),
    build_parameter("to", "Ratings of this day or earlier"),
    build_parameter(
        "population",
        "Whose ratings: people by default, where people rate; models; all of them together",
        enum=list(POPULATION_KINDS),
    ),
    build_parameter("kind", "Ratings of these raters alone", enum=list(Rater.Kind.values)),
    build_parameter("group", "Ratings of the raters of this group alone"),
    build_parameter(
        "content_version",
        f"Ratings of this version of their item's content: a number, or {CURRENT_VERSION}",
    ),
    build_parameter(
        "exclude", "Ratings of all but these raters: their keys, with commas between them"
    ),
    build_parameter(
        "sample",
        "random: the ratings alone that nobody was asked for because of what others had said; all:"
        " the headline of all ratings, where it else rests on the former",
        enum=[*SAMPLE_CHOICES],
    ),
    build_attribute_parameter(
        "attributes[NAME]=VALUE: ratings of items with this value of an attribute; three at most"
    ),
]
# A value of a trend (compact_values.to_trend_point); SHORT_FIELDS for a cumulative one.
POINT_FIELDS = (*SHORT_FIELDS, "n_items", "n_ratings", "se")
EMPTY_VALUE = dict.fromkeys(
    ("value", "low", "high", "se", "observed", "expected", "n_items", "n_ratings", "reason")
)
Body = dict[str, Any]


class ResultPending(Exception):
    """A worker has not computed the result yet."""


def parse_filtered_request(
    request: Request, allowed: Iterable[str]
) -> tuple[dict[str, str], RatingFilter]:
    """Return the parameters of a request, and its filter. Raises BadRequest."""
    attributes = get_attribute_parameters(request, ITEM_PREFIX)
    params = parse_query_parameters(request, [*allowed, *FILTER_NAMES, *attributes.values()])
    query = request.query_params.copy()
    for name, parameter in attributes.items():
        query[f"{ITEM_PREFIX}{name}"] = params[parameter]
    try:
        rating_filter = RatingFilter.from_query(query)
    except exceptions.BadRequest as error:
        raise _build_filter_error(error) from None
    return params, rating_filter


def get_filtered_body(
    question: Question, rating_filter: RatingFilter, kind: str, *raters: Rater
) -> tuple[Body, datetime.datetime | None]:
    """Return the body that a worker computed for the filter, and its time.

    Raises ResultPending, and BadRequest for a filter by values that do not exist.
    """
    try:
        filter_choices.validate_filter(question, rating_filter)
    except exceptions.BadRequest as error:
        raise _build_filter_error(error) from None
    request = filtered_jobs.FilteredRequest(
        kind, rating_filter, tuple(rater.pk for rater in raters)
    )
    row = filtered_jobs.get_or_request_filtered_result(
        question, request, version=CountState.get_version(question.pk)
    )
    body = row.body
    if body is None:
        raise ResultPending
    return body, row.computed_at


def _build_filter_error(error: exceptions.BadRequest) -> BadRequest:
    return BadRequest("This filter cannot be.", fields={"filter": str(error)})


def build_pending_response() -> Response:
    """Return the 202 response for a result that is not computed yet."""
    return Response({"computed_at": None}, status=202, headers={"Retry-After": "1"})


class ResultsView(ApiView):
    """A view whose result may still be computed by a worker."""

    def handle_exception(self, exc: Exception) -> Response:
        return (
            build_pending_response()
            if isinstance(exc, ResultPending)
            else super().handle_exception(exc)
        )


# --- the question


def get_dashboard_body(
    question: Question, rating_filter: RatingFilter
) -> tuple[Body, datetime.datetime | None]:
    """Return the body of the filtered dashboard, and its time."""
    return get_filtered_body(question, rating_filter, FilteredResult.Kind.DASHBOARD)


def build_result(question: Question, body: Body) -> Result:
    """Return the filtered numbers as a result, the headline with its interval."""
    stored_headline = body["headline"]
    value, name = stored_headline["value"], stored_headline["name"]
    people_coefficients = (
        stored_headline.get("coefficients") if stored_headline["population"] == "people" else None
    )
    if value.get("low") is None and "sample" not in stored_headline:
        value = (people_coefficients or body["coefficients"]).get(name, value)
    return Result(
        question=question,
        coefficients=body["coefficients"],
        headline=stored_headline | {"value": value},
        details=body["details"],
    )


def count_pending_ratings(question: Question) -> int:
    """Return how many ratings are not in the question's results yet."""
    state = CountState.objects.filter(question=question).first()
    return question_updates.count_pending_ratings(question, state)


# --- pairs and raters


def list_pairs(question: Question, body: Body, scale: QuestionScale, weights: str) -> list[Body]:
    """Return values and tables of pairs among the raters with the most ratings."""
    rows = body["pairs"]
    if not rows:
        return []
    tables = np.zeros((len(rows), scale.k, scale.k), np.int64)
    for index, row in enumerate(rows):
        for i, j, count in row["cells"]:
            tables[index, i, j] = count
    values = cohen.kappa(tables, scale.build_weight_matrices()[weights]).to_values()
    if body.get("clusters"):
        clusters = QuestionClusters(**body["clusters"])
        values = [clusters.widen(get_weighted_name(COHEN, weights), value) for value in values]
    ids = {row[side] for row in rows for side in "ab"}
    keys = dict(Rater.objects.filter(pk__in=ids).values_list("pk", "key"))
    return [
        {**value, "rater_a": keys[row["a"]], "rater_b": keys[row["b"]], "table": table}
        for row, value, table in zip(rows, values, tables.tolist(), strict=True)
        if row["a"] in keys and row["b"] in keys
    ]


def list_raters(body: Body) -> list[Body]:
    """Return the values of each rater in the body of a filtered dashboard, by id."""
    raters_by_id = Rater.objects.in_bulk([row["id"] for row in body["raters"]])
    entries = []
    for row in sorted(body["raters"], key=lambda row: row["id"]):
        if (rater := raters_by_id.get(row["id"])) is not None:
            identity = {"rater": rater.key, "name": rater.name, "kind": rater.kind}
            entries.append(
                {**identity, "group": rater.group, "ratings": row["n"], **row["coefficients"]}
            )
    return entries


def build_list_reader(
    rows: list[Body],
) -> Callable[[CursorKey | None, int], list[tuple[CursorKey, Any]]]:
    """Return a function that reads one page of an existing list after a cursor key."""

    def read_page(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
        start = after[0] if after else 0
        page = rows[start : start + size]
        return [((position,), row) for position, row in enumerate(page, start=start + 1)]

    return read_page


# --- trend


def build_trend_reader(
    body: Body, span: str, name: str, *, cumulative: bool
) -> Callable[[datetime.date, int], Iterable[tuple[Any, ...]]]:
    """Return a function that reads (start, value) of the periods after a date.

    Fields that a trend does not store are null.
    """
    trend = body["trend"].get(span, {})

    def read_periods(after: datetime.date, size: int) -> Iterable[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for text, values in zip(trend.get("starts", []), trend.get(name, []), strict=False):
            start = datetime.date.fromisoformat(text)
            if start <= after:
                continue
            period_value = EMPTY_VALUE | dict(zip(POINT_FIELDS, values[0], strict=True))
            cumulative_value = (
                [EMPTY_VALUE | dict(zip(SHORT_FIELDS, values[1], strict=True))]
                if cumulative
                else []
            )
            rows.append((start, period_value, *cumulative_value))
        return rows[:size]

    return read_periods


def parse_results_request(
    view: ApiView, request: Request, project_id: int, *allowed: str
) -> tuple[Project, Question, dict[str, str], RatingFilter]:
    """Return project, question, parameters and filter of a request for results.

    The project is fetched with the permission check.
    """
    project = view.get_project(request, project_id, role=Member.Role.VIEWER)
    params, rating_filter = parse_filtered_request(request, ("question", "population", *allowed))
    question = get_question(project, params.get("question"))
    question.project = project
    if "population" in params:
        rating_filter = _select_population(project, params, rating_filter)
    return project, question, params, rating_filter


def _select_population(
    project: Project, params: dict[str, str], rating_filter: RatingFilter
) -> RatingFilter:
    """Return the filter restricted to a population; unchanged where all raters are people."""
    population = get_choice(params, "population", list(POPULATION_KINDS), default="people")
    if rating_filter.kind:
        raise BadRequest(
            "The query has invalid parameters.", fields={"kind": "not together with population"}
        )
    has_models = Rater.objects.filter(project=project, kind=Rater.Kind.MODEL).exists()
    if population == "people" and not has_models:
        return rating_filter
    return dataclasses.replace(rating_filter, kind=POPULATION_KINDS[population])
