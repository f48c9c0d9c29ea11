"""The API of ratings."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.parameters import parameters, rows_of
from core.api.schema import PAGING, one_or_many, page_of, parameter, reads, writes
from projects.api.base import ApiView, question_of
from projects.models import Member, Project, Question, Rater
from ratings.models import NOTHING, Apart, Assignment, Rating
from ratings.services import permissions
from ratings.services.judgement import DETAILS, UnknownCode

from . import rating_rows, write_batching
from .query_times import moment_of
from .serializers import RatingCounts, RatingIn, RatingOut

REFUSALS = {
    permissions.Archived: _("This project is archived: nobody rates in it."),
    permissions.Paused: _("The lead has paused your rating. What you rated is kept."),
    permissions.PausedForGold: _(
        "Your rating is paused: on items whose right answer is known, your answers were wrong more"
        " often than this project allows. Your lead decides how you go on."
    ),
    permissions.NotExamined: _("Pass the exam first: the desk and GET .../next/ give its items."),
    permissions.CorrectionsClosed: _(
        "Ratings cannot be changed in this project any more. What you said before stands."
    ),
}
FILTERS = ("item", "rater", "question", "since", "withdrawn")


class Ratings(ApiView):
    @writes(
        "putRatings",
        "Give, change or withdraw ratings",
        body=one_or_many("RatingOrRatings", RatingIn),
        answer=RatingCounts,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """One rating or a list of up to 10,000, all or nothing. Leads rate for anybody, annotators
        for themselves, by the rules of their desk: items that were given to them, not while they
        are paused, no change where corrections are closed, and without `rated_at`."""
        project = self.project(request, project_id, role=Member.Role.ANNOTATOR)
        parameters(request)
        sent = rating_rows.read(project, request.user, rows_of(request.data))
        try:
            return Response(vars(write_batching.store(sent)))
        except permissions.Refused as refusal:
            raise PermissionDenied(REFUSALS[type(refusal)]) from None
        except UnknownCode as error:
            raise BadRequest(
                f"A category was removed at this moment: {error}. Nothing was stored."
            ) from None

    @reads(
        "listRatings",
        "Current ratings; annotators see their own",
        page_of("Rating", RatingOut),
        [
            parameter("item", "Key of an item"),
            parameter("rater", "Key of a rater"),
            parameter("question", "Key of a question; all questions when left out"),
            parameter("since", "Changed at or after this ISO-8601 time"),
            parameter(
                "withdrawn", "true: withdrawn ratings too, with label null", enum=["true", "false"]
            ),
            *PAGING,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id)
        found = parameters(request, (*FILTERS, *pagination.PAGING))
        kinds = _seen(project, request.user)
        kinds = [_filtered(rows, project, found) for rows in kinds]
        questions = list(project.questions.prefetch_related("categories").order_by("pk"))
        if "question" in found:
            questions = [question_of(project, found["question"])]

        def read(after: pagination.Key | None, size: int) -> list[tuple[pagination.Key, Any]]:
            return _read(kinds, questions, after, size)

        return Response(pagination.page(request, found, key=3, read=read))


def _seen(project: Project, user: Any) -> list[Any]:
    """The ratings that this caller may see. To annotators, who must not tell what tests them, what
    stands apart is a rating like others."""
    rows = Rating.objects.filter(question__project=project)
    if project.role != Member.Role.ANNOTATOR:  # type: ignore[attr-defined]  # set by the door
        return [rows]
    own = Rater.objects.filter(project=project, user=user)
    tests = Assignment.objects.apart().filter(rater__in=own).values("item")
    apart = Apart.objects.filter(question__project=project, stands=True)
    return [
        rows.filter(rater__in=own).exclude(item__in=tests),
        apart.filter(rater__in=own, item__in=tests),
    ]


def _filtered(rows: Any, project: Project, found: dict[str, str]) -> Any:
    """Narrowed by the query. What does not exist matches nothing."""
    if "item" in found:
        rows = rows.filter(item__project=project, item__key=found["item"])
    if "rater" in found:
        rows = rows.filter(rater__project=project, rater__key=found["rater"])
    if "since" in found:
        rows = rows.filter(changed_at__gte=moment_of(found["since"]))
    withdrawn = found.get("withdrawn", "false")
    if withdrawn not in ("true", "false"):
        raise BadRequest("The query has invalid parameters.", fields={"withdrawn": "true or false"})
    return rows if withdrawn == "true" else rows.filter(code__gt=NOTHING)


def _read(
    kinds: Sequence[Any], questions: list[Question], after: pagination.Key | None, size: int
) -> list[tuple[pagination.Key, Any]]:
    """In the order (question, item, rater): the order of the index that serves it."""
    results: list[tuple[pagination.Key, Any]] = []
    for question in questions:
        if after is not None and question.pk < after[0]:
            continue
        left = size - len(results)
        chosen: list[tuple[Any, ...]] = []
        for rows in kinds:
            mine = rows.filter(question=question)
            if after is not None and question.pk == after[0]:
                item, rater = after[1:]
                mine = mine.filter(item__gte=item).exclude(item=item, rater__lte=rater)
            chosen += mine.order_by("item_id", "rater_id").values_list(*_COLUMNS)[:left]
        labels = {category.code: category.label for category in question.categories.all()}
        for row in sorted(chosen, key=itemgetter(0, 1))[:left]:
            results.append(_shown(question, labels, row))
        if len(results) == size:
            break
    return results


_DETAILS = [field.name for field in DETAILS]
_MODEL = ("model", "prompt_version")  # of the rater, where it is one
_COLUMNS = (
    *("item_id", "rater_id", "item__key", "rater__key", "code"),
    *(f"rater__{name}" for name in _MODEL),
    *_DETAILS,
)


def _shown(
    question: Question, labels: dict[int, str], row: tuple[Any, ...]
) -> tuple[pagination.Key, Any]:
    item_id, rater_id, item, rater, code, *details = row
    shown = {
        "item": item,
        "rater": rater,
        "question": question.key,
        "label": labels.get(code),
        **dict(zip((*_MODEL, *_DETAILS), details, strict=True)),
    }
    return (question.pk, item_id, rater_id), shown
