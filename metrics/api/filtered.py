"""Agreement of some ratings: the filters of the pages, in the shapes of the whole. A worker
computes what is asked for; until then the answer is 202."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from django.core import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest
from core.api.pagination import Key
from core.api.parameters import parameters
from core.api.schema import parameter
from metrics.agreement.coefficients import cohen
from metrics.filtered import filter_choices, filtered_jobs
from metrics.filtered.compact_values import SHORT
from metrics.filters import CURRENT, DRAWN, ITEM, Filter
from metrics.jobs import question_updates
from metrics.models import CountState, Reading, Slice
from metrics.scale import QuestionScale
from projects.api.base import ApiView, question_of
from projects.models import Member, Project, Question, Rater

NAMES = ("from", "to", "kind", "group", "content", "without", "drawn")
FILTERS = [
    parameter("from", "Ratings of this day or later, like 2026-03-02"),
    parameter("to", "Ratings of this day or earlier"),
    parameter("kind", "Ratings of these raters alone", enum=list(Rater.Kind.values)),
    parameter("group", "Ratings of the raters of this group alone"),
    parameter(
        "content", f"Ratings of this version of their item's content: a number, or {CURRENT}"
    ),
    parameter("without", "Ratings of all but these raters: their keys, with commas between them"),
    parameter(
        "drawn",
        "random: the ratings alone that nobody was asked for because of what others had said; all:"
        " the headline of all ratings, where it else rests on the former",
        enum=[*DRAWN],
    ),
    parameter("item.NAME", "Ratings of items whose attribute NAME has this value; three at most"),
]
# Of a trend: slice_numbers.point, and SHORT for what is cumulative.
POINT = (*SHORT, "n_items", "n_ratings", "se")
EMPTY = dict.fromkeys(
    ("value", "low", "high", "se", "observed", "expected", "n_items", "n_ratings", "reason")
)
Body = dict[str, Any]


class Waiting(Exception):
    """A worker is still at it."""


def asked(request: Request, allowed: Iterable[str]) -> tuple[dict[str, str], Filter]:
    """The parameters of a request, and its filter. Raises BadRequest."""
    of_items = [name for name in request.query_params if name.startswith(ITEM)]
    found = parameters(request, [*allowed, *NAMES, *of_items])
    try:
        chosen = Filter.of(request.query_params)
    except exceptions.BadRequest as error:
        raise _refused(error) from None
    return found, chosen


def body_of(
    question: Question, chosen: Filter, kind: str, *raters: Rater
) -> tuple[Body, datetime.datetime | None]:
    """What a worker computed of the chosen ratings, and when. Raises Waiting, and BadRequest for a
    filter by what there is not."""
    try:
        filter_choices.check(question, chosen)
    except exceptions.BadRequest as error:
        raise _refused(error) from None
    wanted = filtered_jobs.Wanted(kind, chosen, tuple(rater.pk for rater in raters))
    row = filtered_jobs.ask(question, wanted, version=CountState.version_of(question.pk))
    body = row.body
    if body is None:
        raise Waiting
    return body, row.computed_at


def _refused(error: exceptions.BadRequest) -> BadRequest:
    return BadRequest("This filter cannot be.", fields={"filter": str(error)})


def waiting() -> Response:
    return Response({"computed_at": None}, status=202, headers={"Retry-After": "1"})


class ResultsView(ApiView):
    """A view whose answer may be still with a worker."""

    def handle_exception(self, exc: Exception) -> Response:
        return waiting() if isinstance(exc, Waiting) else super().handle_exception(exc)


# --- the whole question


def project(question: Question, chosen: Filter) -> tuple[Body, datetime.datetime | None]:
    return body_of(question, chosen, Slice.Kind.DASHBOARD)


def reading(question: Question, body: Body) -> Reading:
    """The numbers of the chosen ratings like those of all, the headline with its interval."""
    first = body["headline"]
    value, name = first["value"], first["name"]
    told = first.get("coefficients") if first["of"] == "people" else None
    if value.get("low") is None and "drawn" not in first:
        value = (told or body["coefficients"]).get(name, value)
    return Reading(
        question=question,
        coefficients=body["coefficients"],
        headline=first | {"value": value},
        details=body["details"],
    )


def uncounted(question: Question) -> int:
    state = CountState.objects.filter(question=question).first()
    return question_updates.waiting_ratings(question, state)


# --- pairs and raters


def pairs(question: Question, body: Body, scale: QuestionScale, weights: str) -> list[Body]:
    """Of the raters with the most of these ratings: their readings and tables."""
    rows = body["pairs"]
    if not rows:
        return []
    tables = np.zeros((len(rows), scale.k, scale.k), np.int64)
    for place, row in enumerate(rows):
        for i, j, n in row["cells"]:
            tables[place, i, j] = n
    values = cohen.kappa(tables, scale.weightings()[weights]).readings()
    ids = {row[side] for row in rows for side in "ab"}
    keys = dict(Rater.objects.filter(pk__in=ids).values_list("pk", "key"))
    return [
        {**value, "rater_a": keys[row["a"]], "rater_b": keys[row["b"]], "table": table}
        for row, value, table in zip(rows, values, tables.tolist(), strict=True)
        if row["a"] in keys and row["b"] in keys
    ]


def raters(body: Body) -> list[Body]:
    known = Rater.objects.in_bulk([row["id"] for row in body["raters"]])
    found = []
    for row in sorted(body["raters"], key=lambda row: row["id"]):
        if (rater := known.get(row["id"])) is not None:
            who = {"rater": rater.key, "name": rater.name, "kind": rater.kind}
            found.append({**who, "group": rater.group, "ratings": row["n"], **row["coefficients"]})
    return found


def listed(rows: list[Body]) -> Callable[[Key | None, int], list[tuple[Key, Any]]]:
    """Reads a list that stands already page by page."""

    def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
        start = after[0] if after else 0
        part = rows[start : start + size]
        return [((place,), row) for place, row in enumerate(part, start=start + 1)]

    return read


# --- over time


def points(
    body: Body, span: str, name: str, *, cumulative: bool
) -> Callable[[datetime.date, int], Iterable[tuple[Any, ...]]]:
    """Reads (start, reading[, cumulative]) of the newest periods; what a trend does not keep of a
    reading is null."""
    trend = body["trend"].get(span, {})

    def read(after: datetime.date, size: int) -> Iterable[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for text, parts in zip(trend.get("starts", []), trend.get(name, []), strict=False):
            start = datetime.date.fromisoformat(text)
            if start <= after:
                continue
            own = EMPTY | dict(zip(POINT, parts[0], strict=True))
            total = [EMPTY | dict(zip(SHORT, parts[1], strict=True))] if cumulative else []
            found.append((start, own, *total))
        return found[:size]

    return read


def of_request(
    view: ApiView, request: Request, project_id: int, *allowed: str
) -> tuple[Project, Question, dict[str, str], Filter]:
    """The project by the one door, the question, the parameters and the filter of a request for
    results."""
    project = view.project(request, project_id, role=Member.Role.VIEWER)
    found, chosen = asked(request, ("question", *allowed))
    question = question_of(project, found.get("question"))
    question.project = project
    return project, question, found, chosen
