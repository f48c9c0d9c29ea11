"""API of ratings.

Requests are validated by ``rating_rows``, because they have up to ten thousand rows.
"""

from __future__ import annotations

import datetime
import functools
import operator
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpResponseBase
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import INVALID_PARAMETERS, BadRequest
from core.api.pagination import RowOrder
from core.api.parameters import get_choice, parse_query_parameters, parse_rows
from core.api.schema import (
    DRY_RUN_PARAMETER,
    PAGE_PARAMETERS,
    FileView,
    build_flag_parameter,
    build_one_or_many_schema,
    build_ordering_parameter,
    build_page_serializer,
    build_parameter,
    build_since_parameter,
    describe_file,
    describe_get,
    describe_write,
)
from projects.api.base import ApiView, get_question, store_unless_dry_run
from projects.models import Member, Project, Question, Rater
from ratings.exports import rating_files
from ratings.exports.views import stream_ratings
from ratings.files import parquet_file
from ratings.models import NO_CODE, Assignment, CheckAnswer, Rating
from ratings.services import permissions
from ratings.services.judgement import DETAIL_FIELDS, FIELDS, RatingField, UnknownCode

from . import rating_rows, write_batching
from .query_times import parse_since


class RatingIn(serializers.Serializer):
    def get_fields(self) -> dict[str, Any]:
        return {field.name: _build_input_field(field) for field in FIELDS if field.max_length}


class RatingOut(serializers.Serializer):
    def get_fields(self) -> dict[str, Any]:
        rater = {
            "model": serializers.CharField(
                allow_blank=True, help_text="Of a rater who is a model: its name"
            ),
            "prompt_version": serializers.CharField(
                allow_blank=True, help_text="Of a rater who is a model: the version of its prompt"
            ),
        }
        return {field.name: _build_output_field(field) for field in FIELDS} | rater


class RatingCounts(serializers.Serializer):
    created = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    withdrawn = serializers.IntegerField()


def _build_input_field(field: RatingField) -> Any:
    """Return the serializer field by which the schema describes a field of the request."""
    options: dict[str, Any] = {
        "required": field.required,
        "allow_null": field.nullable,
        "help_text": field.help_text or None,
    }
    if field.kind == "time":
        return serializers.DateTimeField(**options)
    return serializers.CharField(
        max_length=field.max_length, allow_blank=field.is_stored_text, **options
    )


def _build_output_field(field: RatingField) -> Any:
    """Return the serializer field by which the schema describes a field of the response."""
    options: dict[str, Any] = {"help_text": field.output_help_text or None}
    if field.kind == "time":
        return serializers.DateTimeField(**options)
    if field.kind == "number":
        return serializers.IntegerField(allow_null=True, **options)
    can_be_null = field.nullable and not field.is_stored_text
    return serializers.CharField(
        allow_null=can_be_null, allow_blank=field.is_stored_text, **options
    )


_RATINGS_KEPT = _("Your ratings are kept.")
ERROR_MESSAGES = {
    permissions.ProjectArchived: _("Archived projects accept no ratings."),
    permissions.RaterPaused: format_lazy("{} {}", _("Your lead paused you."), _RATINGS_KEPT),
    permissions.RaterPausedForGold: format_lazy(
        "{} {}", _("Too many known answers were wrong."), _RATINGS_KEPT
    ),
    permissions.ExamRequired: "Pass the exam first, on the rating page or at GET .../next/.",
    permissions.ExamAnswersFinal: _("Exam answers are final."),
    permissions.CorrectionsClosed: _("Ratings here are final. Your earlier answer is kept."),
}
FILTERS = ("item", "rater", "question", "label", "since", "withdrawn")
ORDERINGS = {"rated_at": "rated_at", "changed_at": "changed_at"}
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class RatingsView(ApiView):
    @describe_write(
        "putRatings",
        "Give, change or withdraw ratings",
        body=build_one_or_many_schema("RatingOrRatings", RatingIn),
        response=RatingCounts,
        parameters=[DRY_RUN_PARAMETER],
        examples={"Ratings": [{"item": "doc-1", "rater": "ann", "label": "major"}]},
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Submit one rating or a list of up to 10,000, all or nothing.

        Leads submit ratings of any rater. Annotators submit their own, under the rules of the
        annotation page: assigned items only, not while they are paused, no change where corrections
        are closed, and without `rated_at`.
        """
        project = self.get_project(request, project_id, role=Member.Role.ANNOTATOR)
        try:
            with store_unless_dry_run(request):
                rows = parse_rows(request.data)
                rating_request = rating_rows.parse_rows(project, request.user, rows)
                return Response(vars(write_batching.store_request(rating_request)))
        except permissions.RatingNotAllowed as not_allowed:
            raise PermissionDenied(ERROR_MESSAGES[type(not_allowed)]) from None
        except UnknownCode as error:
            raise BadRequest(
                f"A category was removed at this moment: {error}. Nothing was stored."
            ) from None

    @describe_get(
        "listRatings",
        "Current ratings; annotators see their own",
        build_page_serializer("Rating", RatingOut),
        [
            build_parameter("item", "Key of an item"),
            build_parameter("rater", "Key of a rater"),
            build_parameter("question", "Key of a question; all questions when left out"),
            build_parameter("label", "Only ratings with this label"),
            build_since_parameter("Changed at or after this time"),
            build_flag_parameter("withdrawn", "true: withdrawn ratings too, with label null"),
            build_ordering_parameter(ORDERINGS, "By question, item and rater when left out"),
            *PAGE_PARAMETERS,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id)
        query = parse_query_parameters(
            request, (*FILTERS, "ordering", *pagination.PAGE_PARAMETER_NAMES)
        )
        order = RowOrder.parse(query, ORDERINGS)
        querysets = _get_visible_rows(project, request.user)
        querysets = [_filter_rows(rows, project, query) for rows in querysets]
        questions = list(project.questions.prefetch_related("categories").order_by("pk"))
        if "question" in query:
            questions = [get_question(project, query["question"])]
        if "label" in query:
            label_filter = _build_label_filter(questions, query["label"])
            querysets = [rows.filter(label_filter) for rows in querysets]

        if "ordering" in query:
            reader = functools.partial(_read_page_by_time, querysets, questions, order=order)
            return Response(pagination.paginate(request, query, key_length=4, read=reader))
        reader = functools.partial(_read_page, querysets, questions)
        return Response(pagination.paginate(request, query, key_length=3, read=reader))


def _get_visible_rows(project: Project, user: Any) -> list[Any]:
    """Return the querysets of answers that this caller may see.

    Annotators, who must not recognize checks, see their check answers as ratings.
    """
    rows = Rating.objects.filter(question__project=project)
    if project.can_see_results:
        return [rows]
    own_raters = Rater.objects.filter(project=project, user=user)
    check_items = Assignment.objects.checks().filter(rater__in=own_raters).values("item")
    check_answers = CheckAnswer.objects.filter(question__project=project, is_current=True)
    return [
        rows.filter(rater__in=own_raters).exclude(item__in=check_items),
        check_answers.filter(rater__in=own_raters, item__in=check_items),
    ]


def _filter_rows(rows: Any, project: Project, query: dict[str, str]) -> Any:
    """Return the rows that match the query; raise BadRequest for an invalid value of a filter.

    An unknown key of an item or a rater matches nothing.
    """
    if "item" in query:
        rows = rows.filter(item__project=project, item__key=query["item"])
    if "rater" in query:
        rows = rows.filter(rater__project=project, rater__key=query["rater"])
    if "since" in query:
        rows = rows.filter(changed_at__gte=parse_since(query["since"]))
    withdrawn = query.get("withdrawn", "false")
    if withdrawn not in ("true", "false"):
        raise BadRequest(INVALID_PARAMETERS, fields={"withdrawn": "true or false"})
    return rows if withdrawn == "true" else rows.filter(code__gt=NO_CODE)


def _build_label_filter(questions: Sequence[Question], label: str) -> Q:
    """Return the filter of ratings with this label; raise BadRequest if no question has it."""
    categories = [category for question in questions for category in question.categories.all()]
    matching = [category for category in categories if category.label == label]
    if not matching:
        labels = dict.fromkeys(category.label for category in categories)
        raise BadRequest(
            INVALID_PARAMETERS,
            fields={"label": f"unknown label '{label[:60]}'; one of {', '.join(labels)}"},
        )
    alternatives = (Q(question=category.question_id, code=category.code) for category in matching)
    return functools.reduce(operator.or_, alternatives)


def _read_page(
    querysets: Sequence[Any],
    questions: list[Question],
    after: pagination.CursorKey | None,
    size: int,
) -> list[tuple[pagination.CursorKey, Any]]:
    """Return up to ``size`` (key, rating) in the order (question, item, rater).

    They come after the key ``after``, or from the start (None).
    """
    results: list[tuple[pagination.CursorKey, Any]] = []
    for question in questions:
        if after is not None and question.pk < after[0]:
            continue
        n_left = size - len(results)
        found_rows: list[tuple[Any, ...]] = []
        for rows in querysets:
            question_rows = rows.filter(question=question)
            if after is not None and question.pk == after[0]:
                item, rater = after[1:]
                question_rows = question_rows.filter(item__gte=item).exclude(
                    item=item, rater__lte=rater
                )
            found_rows += question_rows.order_by("item_id", "rater_id").values_list(*_COLUMNS)[
                :n_left
            ]
        labels = {category.code: category.label for category in question.categories.all()}
        for row in sorted(found_rows, key=itemgetter(0, 1))[:n_left]:
            results.append(_format_rating(question, labels, row))
        if len(results) == size:
            break
    return results


def _read_page_by_time(
    querysets: Sequence[Any],
    questions: list[Question],
    after: pagination.CursorKey | None,
    size: int,
    *,
    order: RowOrder,
) -> list[tuple[pagination.CursorKey, Any]]:
    """Return up to ``size`` (key, rating) in the order of a column of times.

    They come after the key ``after``, or from the start (None). The keys have the time in
    microseconds since 1970. Ratings of the same time are in the order (question, item, rater).
    """
    names = (order.columns[0], "question_id", "item_id", "rater_id")
    order = RowOrder(names, order.is_descending)
    page_rows: list[tuple[Any, ...]] = []
    position = Q()
    if after is not None:
        position = order.build_following_filter([_parse_microseconds(after[0]), *after[1:]])
    for queryset in querysets:
        rows = order.sort(queryset.filter(position, question__in=questions))
        page_rows += rows.values_list(names[0], "question_id", *_COLUMNS)[:size]
    page_rows.sort(key=itemgetter(0, 1, 2, 3), reverse=order.is_descending)
    question_by_id = {question.pk: question for question in questions}
    labels = {
        question.pk: {category.code: category.label for category in question.categories.all()}
        for question in questions
    }
    results: list[tuple[pagination.CursorKey, Any]] = []
    for time, question_id, *row in page_rows[:size]:
        key, data = _format_rating(question_by_id[question_id], labels[question_id], tuple(row))
        microseconds = (time - EPOCH) // datetime.timedelta(microseconds=1)
        results.append(((microseconds, *key), data))
    return results


def _parse_microseconds(number: int) -> datetime.datetime:
    """Return the time so many microseconds after 1970; raise BadRequest if it is out of range."""
    try:
        return EPOCH + datetime.timedelta(microseconds=number)
    except OverflowError:
        raise pagination.build_cursor_error() from None


_DETAIL_NAMES = [field.name for field in DETAIL_FIELDS]
_MODEL_FIELDS = ("model", "prompt_version")  # of a rater that is a model
_COLUMNS = (
    *("item_id", "rater_id", "item__key", "rater__key", "code"),
    *_DETAIL_NAMES,
    *(f"rater__{name}" for name in _MODEL_FIELDS),
)


def _format_rating(
    question: Question, labels: dict[int, str], row: tuple[Any, ...]
) -> tuple[pagination.CursorKey, Any]:
    """Return the cursor key (question, item, rater) and the response of a row of _COLUMNS.

    ``labels``: label by code, of the question's categories.
    """
    item_id, rater_id, item, rater, code, *details = row
    data = {
        "item": item,
        "rater": rater,
        "question": question.key,
        "label": labels.get(code),
        **dict(zip((*_DETAIL_NAMES, *_MODEL_FIELDS), details, strict=True)),
    }
    return (question.pk, item_id, rater_id), data


class ExportView(FileView, ApiView):
    @describe_file(
        "exportRatings",
        "The current ratings as a file, of all questions or of one",
        {kind: content_type for kind, (_format, content_type) in rating_files.FORMATS.items()},
        [build_parameter("question", "Key of a question; all questions when left out")],
    )
    def get(self, request: Request, project_id: int) -> HttpResponseBase:
        project = self.get_project(request, project_id, role=Member.Role.VIEWER)
        params = parse_query_parameters(request, ("format", "question"))
        kind = get_choice(params, "format", list(rating_files.FORMATS), default="csv")
        parquet_file.require_parquet_support(kind)
        questions = (
            [get_question(project, params["question"])]
            if "question" in params
            else list(project.questions.all())
        )
        return stream_ratings(project, questions, kind)
