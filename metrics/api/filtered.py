"""API of agreement with filters: the filters of the pages, in the format of unfiltered results.

A worker computes a requested result; until then the response is 202.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np
from django.core import exceptions
from rest_framework.request import Request

from core.api.errors import INVALID_PARAMETERS, BadRequest
from core.api.pagination import CursorKey
from core.api.parameters import (
    get_attribute_parameters,
    get_choice,
    parse_query_parameters,
)
from core.api.schema import build_attribute_parameter, build_parameter
from metrics.agreement.coefficients import cohen
from metrics.agreement.headline import COHEN
from metrics.agreement.weights import WEIGHTINGS
from metrics.filtered import filtered_jobs
from metrics.filtered.compact_values import TrendResults
from metrics.filtered.dashboard_results import DashboardResults
from metrics.filtered.rater_results import list_rater_agreements
from metrics.filters import (
    CURRENT_VERSION,
    EVERY_KIND,
    FILTER_NAMES,
    ITEM_PREFIX,
    SAMPLE_CHOICES,
    RatingFilter,
)
from metrics.jobs import question_updates
from metrics.models import CountState, FilteredResult
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results.findings import load_diagnosis
from metrics.results.headline.trends import get_headline_weighting
from metrics.results.question_agreement import QuestionAgreement, load_question_agreement
from projects.api.base import ApiView, ResultPending, get_question
from projects.models import Member, Project, Question, Rater
from projects.selectors import count_items
from ratings.models import Rating

# Population -> the kind of rater that its filter selects.
POPULATION_KINDS = {"people": Rater.Kind.HUMAN.value, "models": Rater.Kind.MODEL.value, "all": ""}
WEIGHTS_PARAMETER = build_parameter(
    "weights",
    "Those of the headline when left out; custom where the question has a matrix",
    enum=list(WEIGHTINGS),
)
POPULATION_PARAMETER = build_parameter(
    "population",
    "Whose ratings: people by default, where people rate; models; all of them together",
    enum=list(POPULATION_KINDS),
)
FILTER_PARAMETERS = [
    build_parameter("from", "Ratings of this day or later, like 2026-03-02"),
    build_parameter("to", "Ratings of this day or earlier"),
    POPULATION_PARAMETER,
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
        "random: only ratings that were not requested because an item was uncertain; all:"
        " the headline of all ratings, which is otherwise based on the former",
        enum=[*SAMPLE_CHOICES],
    ),
    build_attribute_parameter(
        "attributes[NAME]=VALUE: ratings of items with this value of an attribute; three at most"
    ),
]
Row = dict[str, object]


def parse_filtered_request(
    request: Request, allowed: Iterable[str]
) -> tuple[dict[str, str], RatingFilter]:
    """Return the parameters of a request by name, and its filter.

    ``allowed``: names of the permitted parameters besides those of the filter. Raises
    BadRequest for other names and for an invalid filter.
    """
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


def get_or_request_filtered_results(
    question: Question, rating_filter: RatingFilter, kind: str, *raters: Rater, scores: str = ""
) -> tuple[Mapping[str, Any], datetime.datetime | None]:
    """Return the results of a filter that a worker computed, and their time; request missing ones.

    ``kind``: FilteredResult.Kind; ``raters``, ``scores``: of which the kind needs them. Raises
    ResultPending while they are missing, and BadRequest for filter values that do not exist.
    """
    row = _get_or_request_row(question, rating_filter, kind, *raters, scores=scores)
    return row.body or {}, row.computed_at


def _get_or_request_row(
    question: Question, rating_filter: RatingFilter, kind: str, *raters: Rater, scores: str = ""
) -> FilteredResult:
    try:
        filtered_jobs.validate_filter(question, rating_filter)
    except exceptions.BadRequest as error:
        raise _build_filter_error(error) from None
    request = filtered_jobs.FilteredRequest(
        kind, rating_filter, tuple(rater.pk for rater in raters), scores
    )
    row = filtered_jobs.get_or_request_filtered_result(
        question, request, version=CountState.get_version(question.pk)
    )
    if row.body is None:
        raise ResultPending
    return row


def _build_filter_error(error: exceptions.BadRequest) -> BadRequest:
    return BadRequest("The filter is invalid.", fields={"filter": str(error)})


# --- the question


def get_or_request_dashboard(question: Question, rating_filter: RatingFilter) -> DashboardResults:
    """Return the stored dashboard of the filtered ratings, or request it.

    Raises as `get_or_request_filtered_results` does.
    """
    stored, _at = get_or_request_filtered_results(
        question, rating_filter, FilteredResult.Kind.DASHBOARD
    )
    return DashboardResults.from_json(stored)


@dataclasses.dataclass(frozen=True)
class SelectedAgreement:
    """The agreement of the selected ratings, and the project's or the selection's number of items.

    ``agreement``: None before anything was counted. ``computed_at``: when all ratings were
    counted, or the result of the filter was computed. ``is_stale``: whether a worker will
    compute the result of the filter again, because ratings, items or raters have changed since.
    """

    agreement: QuestionAgreement | None
    computed_at: datetime.datetime | None
    n_items: int
    is_stale: bool = False

    @classmethod
    def load(cls, question: Question, rating_filter: RatingFilter) -> Self:
        """Return the agreement of all ratings, or of those that a filter selects.

        Raises ResultPending while a worker computes the latter, and BadRequest for a filter by
        values that do not exist.
        """
        if not rating_filter:
            agreement = load_question_agreement(question)
            counted_at = agreement.counted_at if agreement else None
            return cls(agreement, counted_at, count_items(question.project))
        row = _get_or_request_row(question, rating_filter, FilteredResult.Kind.DASHBOARD)
        dashboard = DashboardResults.from_json(row.body or {})
        n_items = dashboard.n_items
        return cls(
            dashboard.agreement,
            row.computed_at,
            count_items(question.project) if n_items is None else n_items,
            is_stale=not row.is_based_on(
                CountState.get_version(question.pk), question.project.items_and_raters_version
            ),
        )


def count_pending_ratings(question: Question) -> int:
    """Return how many ratings are not in the question's results yet."""
    state = CountState.objects.filter(question=question).first()
    return question_updates.count_pending_ratings(question, state)


def require_first_results(question: Question) -> None:
    """Raise ResultPending if the question has ratings, but no results of them yet."""
    is_rated = Rating.objects.current().filter(question=question).exists()
    if is_rated and not load_diagnosis(question).disputes:
        raise ResultPending


def choose_weights(params: dict[str, str], question: Question, scale: QuestionScale) -> str:
    """Return the requested weights, or those of the headline.

    Raises BadRequest for weights that do not suit the scale.
    """
    default = get_headline_weighting(question, scale)
    return get_choice(params, "weights", scale.list_weightings(), default=default)


# --- pairs and raters


def list_pairs(body: DashboardResults, scale: QuestionScale, weights: str) -> list[Row]:
    """Return the values and table of each pair among the raters with the most ratings."""
    rows = body.pairs
    if not rows:
        return []
    tables = np.zeros((len(rows), scale.k, scale.k), np.int64)
    for index, row in enumerate(rows):
        for i, j, count in row["cells"]:
            tables[index, i, j] = count
    values = cohen.kappa(tables, scale.build_weight_matrices()[weights]).to_values()
    name = get_weighted_name(COHEN, weights)
    ids = {rater for row in rows for rater in (row["a"], row["b"])}
    keys = dict(Rater.objects.filter(pk__in=ids).values_list("pk", "key"))
    return [
        {
            **body.widen_interval(name, value),
            "rater_a": keys[row["a"]],
            "rater_b": keys[row["b"]],
            "weights": weights,
            "table": table,
        }
        for row, value, table in zip(rows, values, tables.tolist(), strict=True)
        if row["a"] in keys and row["b"] in keys
    ]


def list_raters(body: DashboardResults) -> list[Row]:
    """Return the values of each rater in a filtered dashboard, ordered by rater id."""
    agreements = list_rater_agreements(body.raters, body.clusters)
    return [
        {
            "rater": agreement.rater.key,
            "name": agreement.rater.name,
            "kind": agreement.rater.kind,
            "group": agreement.rater.group,
            "ratings": agreement.n_ratings,
            **agreement.coefficients,
        }
        for agreement in sorted(agreements, key=lambda agreement: agreement.rater.pk)
    ]


def build_list_reader(
    rows: list[Row],
) -> Callable[[CursorKey | None, int], list[tuple[CursorKey, Any]]]:
    """Return a function (after, size) that reads a page of ``rows`` for ``paginate``.

    A cursor key is the position of a row, from 1; None reads from the first row.
    """

    def read_page(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
        start = after[0] if after else 0
        page = rows[start : start + size]
        return [((position,), row) for position, row in enumerate(page, start=start + 1)]

    return read_page


# --- trend


def build_trend_reader(
    body: TrendResults, span: str, name: str
) -> Callable[[datetime.date, int], Iterable[tuple[Any, ...]]]:
    """Return a function (day, size) that lists (start, value, cumulative value) of later periods.

    The trend of a rater has no cumulative value. Fields that a trend does not store are None.
    """
    points = body.list_points(span, name)

    def read_periods(after: datetime.date, size: int) -> Iterable[tuple[Any, ...]]:
        rows = [
            (start, value) if cumulative is None else (start, value, cumulative)
            for start, value, cumulative in points
            if start > after
        ]
        return rows[:size]

    return read_periods


def parse_results_request(
    view: ApiView, request: Request, project_id: int, *allowed: str, pools_all: bool = False
) -> tuple[Project, Question, dict[str, str], RatingFilter]:
    """Return project, question, parameters and filter of a request for results.

    The project is fetched with the permission check (``get_project``). ``allowed``: names of
    further parameters; ``pools_all``: whether the population "all" pools people and models into one
    group; otherwise it selects all ratings, and the response shows each population. Raises
    BadRequest for invalid parameters.
    """
    project = view.get_project(request, project_id, role=Member.Role.VIEWER)
    params, rating_filter = parse_filtered_request(request, ("question", "population", *allowed))
    question = get_question(project, params.get("question"))
    question.project = project
    if "population" in params:
        rating_filter = _select_population(project, params, rating_filter, pools_all=pools_all)
    return project, question, params, rating_filter


def _select_population(
    project: Project, params: dict[str, str], rating_filter: RatingFilter, *, pools_all: bool
) -> RatingFilter:
    """Return the filter restricted to the requested population, by default people.

    Return it unchanged where all raters are people, unless models are requested. Raises BadRequest
    if the filter names a kind of raters, too.
    """
    population = get_choice(params, "population", list(POPULATION_KINDS), default="people")
    if rating_filter.kind:
        raise BadRequest(INVALID_PARAMETERS, fields={"kind": "not together with population"})
    has_models = Rater.objects.filter(project=project, kind=Rater.Kind.MODEL).exists()
    if population != "models" and not has_models:
        return rating_filter
    is_pooled = pools_all and population == "all"
    kind = EVERY_KIND if is_pooled else POPULATION_KINDS[population]
    return dataclasses.replace(rating_filter, kind=kind)
