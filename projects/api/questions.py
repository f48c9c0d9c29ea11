"""API of a project's questions: list, add and change them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.http import Http404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import INVALID_FIELDS, BadRequest
from core.api.pagination import PAGE_PARAMETER_NAMES, CursorKey, paginate
from core.api.parameters import parse_query_parameters
from core.api.schema import PAGE_PARAMETERS, build_page_serializer, describe_get, describe_write
from projects.models import Category, Member, Project, Question
from projects.services import questions, scales
from projects.services.project_validation import InvalidProjectChange
from projects.services.question_validation import InvalidQuestions, NewCategory

from .base import ApiView
from .serializers import QuestionIn, QuestionOut, QuestionPatch, build_question

LEAD = Member.Role.LEAD


class QuestionListView(ApiView):
    @describe_get(
        "listQuestions",
        "The questions of a project",
        build_page_serializer("Question", QuestionOut),
        PAGE_PARAMETERS,
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id)
        params = parse_query_parameters(request, PAGE_PARAMETER_NAMES)

        def read(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
            rows = project.questions.order_by("position").prefetch_related("categories")
            remaining = rows.filter(position__gt=after[0]) if after else rows
            return [((row.position,), QuestionOut(row).data) for row in remaining[:size]]

        return Response(paginate(request, params, key_length=1, read=read))

    @describe_write(
        "addQuestion",
        "Add a question to a project; its lead alone may",
        body=QuestionIn,
        response=QuestionOut,
        status=201,
    )
    def post(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        new_question = build_question(self.parse_body(request, QuestionIn))
        try:
            question = questions.add_question(
                project=project, question=new_question, by=request.user
            )
        except InvalidQuestions as error:
            raise BadRequest(INVALID_FIELDS, fields=error.problems["0"]) from None
        except InvalidProjectChange as error:
            raise BadRequest(INVALID_FIELDS, fields=error.fields) from None
        address = reverse("api-question", args=[project.pk, question.key])
        return Response(
            QuestionOut(question).data,
            status=201,
            headers={"Location": request.build_absolute_uri(address)},
        )


class QuestionDetailView(ApiView):
    @describe_get("getQuestion", "One question with its categories", QuestionOut)
    def get(self, request: Request, project_id: int, question_key: str) -> Response:
        project = self.get_project(request, project_id)
        parse_query_parameters(request)
        return Response(QuestionOut(_get_question_or_404(project, question_key)).data)

    @describe_write(
        "changeQuestion",
        "Change the text or the scale of a question; its lead alone may",
        body=QuestionPatch,
        response=QuestionOut,
    )
    def patch(self, request: Request, project_id: int, question_key: str) -> Response:
        """Change the question.

        A category keeps its ratings under another label where `renames` has the earlier one.
        """
        project = self.get_project(request, project_id, role=LEAD)
        question = _get_question_or_404(project, question_key)
        data = self.parse_body(request, QuestionPatch)
        try:
            with transaction.atomic():
                if "text" in data:
                    questions.change_question_text(
                        question=question, text=data["text"], by=request.user
                    )
                if "scale" in data or "categories" in data:
                    _change_categories(question, data, by=request.user)
        except InvalidProjectChange as error:
            raise BadRequest(INVALID_FIELDS, fields=error.fields) from None
        return Response(QuestionOut(_get_question_or_404(project, question_key)).data)


def _get_question_or_404(project: Project, key: str) -> Question:
    question = project.questions.prefetch_related("categories").filter(key=key).first()
    if question is None:
        raise Http404("No such question.")
    return question


def _change_categories(question: Question, data: Mapping[str, Any], *, by: Any) -> None:
    """Set the scale and the categories of a PATCH; those of either that it lacks stay."""
    existing = {category.label: category for category in question.active_categories()}
    categories = (
        [_match_category(fields, existing) for fields in data["categories"]]
        if "categories" in data
        else [
            (category.code, NewCategory(category.label, category.value, category.hotkey))
            for category in existing.values()
        ]
    )
    scales.change_categories(
        question=question,
        scale=data.get("scale", question.scale),
        categories=categories,
        by=by,
        seen_version=question.scale_version,
    )


def _match_category(
    fields: Mapping[str, Any], existing: Mapping[str, Category]
) -> tuple[int | None, NewCategory]:
    """Return the code of an existing category, or None for a new one, and its values."""
    earlier_label = fields.get("renames")
    if earlier_label is not None and earlier_label not in existing:
        raise InvalidProjectChange(
            {
                "categories": f"renames: unknown label '{earlier_label[:60]}'; one of"
                f" {', '.join(existing)}"
            }
        )
    category = existing.get(fields["label"] if earlier_label is None else earlier_label)
    default_value, default_hotkey = (category.value, category.hotkey) if category else (None, "")
    new_category = NewCategory(
        fields["label"], fields.get("value", default_value), fields.get("hotkey", default_hotkey)
    )
    return category.code if category else None, new_category
