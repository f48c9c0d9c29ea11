"""API of a project's questions, and of the versions of their scales and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.http import Http404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import INVALID_FIELDS, BadRequest
from core.api.pagination import PAGE_PARAMETER_NAMES, CursorKey, paginate
from core.api.pagination import PAGE_PARAMETER_NAMES as PAGING_NAMES
from core.api.parameters import parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    QUESTION_PARAMETER,
    build_page_serializer,
    describe_get,
    describe_write,
)
from projects.models import Category, Member, Project, Question, Scale, ScaleVersion, Weights
from projects.models.question import ScaleDeclaration
from projects.services import questions
from projects.services.project_validation import InvalidProjectChange
from projects.services.question_validation import InvalidQuestions, NewCategory

from .base import ApiView, get_question
from .serializers import QuestionIn, QuestionOut, QuestionPatch, WeightsIn, build_question

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
    """Replace scale and categories by those of a PATCH; what it leaves out stays as it is."""
    existing = {category.label: category for category in question.active_categories()}
    categories = (
        [_match_category(fields, existing) for fields in data["categories"]]
        if "categories" in data
        else [
            (category.code, NewCategory(category.label, category.value, category.hotkey))
            for category in existing.values()
        ]
    )
    questions.change_categories(
        question=question,
        scale=data.get("scale", question.scale),
        categories=categories,
        by=by,
        seen_version=question.scale_version,
    )


def _match_category(
    fields: Mapping[str, Any], existing: Mapping[str, Category]
) -> tuple[int | None, NewCategory]:
    """Return the code of the category that ``fields`` describe, and its new values.

    It is the existing category with the label in ``renames``, else with the same label; the code is
    None for a new category. Raises InvalidProjectChange if no category has the label in
    ``renames``.
    """
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


class VersionCategoryOut(serializers.Serializer):
    code = serializers.IntegerField(help_text="Never changed and never used again")
    value = serializers.FloatField(allow_null=True)

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add ``label``, which as a class attribute would override the serializer's own label."""
        return super().get_fields() | {"label": serializers.CharField()}


class ScaleVersionOut(serializers.Serializer):
    version = serializers.IntegerField()
    scale = serializers.ChoiceField(Scale.choices)
    weights = serializers.ChoiceField(Weights.choices)
    weight_matrix = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()),
        allow_null=True,
        help_text="In declared order",
    )
    categories = VersionCategoryOut(many=True, help_text="In declared order")
    until = serializers.DateTimeField(allow_null=True, help_text="null: it is current")
    changed_by = serializers.CharField(
        allow_null=True, help_text="User who created the next version"
    )
    reason = serializers.CharField(
        allow_blank=True, help_text="Reason for the next version, if given"
    )


class ScaleVersionListView(ApiView):
    @describe_get(
        "listScaleVersions",
        "What a question's scale and weights were until somebody changed them, oldest first",
        build_page_serializer("ScaleVersion", ScaleVersionOut),
        [QUESTION_PARAMETER, *PAGE_PARAMETERS],
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return the versions, oldest first; the last one is the current one."""
        project = self.get_project(request, project_id, role=Member.Role.VIEWER)
        query = parse_query_parameters(request, ("question", *PAGING_NAMES))
        question = get_question(project, query.get("question"))
        versions = ScaleVersion.objects.filter(question=question).select_related("by")

        def read(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
            first_number = after[0] + 1 if after else 0
            rows = versions.filter(number__gte=first_number).order_by("number")[:size]
            results: list[tuple[CursorKey, Any]] = [
                ((row.number,), _serialize_version(row)) for row in rows
            ]
            if len(results) < size and question.scale_version >= first_number:
                in_force = _serialize_scale(question.scale_version, question.get_declaration())
                results.append(((question.scale_version,), in_force))
            return results

        return Response(paginate(request, query, key_length=1, read=read))


class WeightsView(ApiView):
    @describe_write(
        "changeWeights",
        "Choose a question's weights, or confirm those in use; its lead alone may",
        body=WeightsIn,
        response=QuestionOut,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Set the weights: the scale gets a new version, and results are computed again."""
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        fields = self.parse_body(request, WeightsIn)
        question = get_question(project, fields.get("question"))
        try:
            changed = questions.change_weights(
                question=question,
                weights=fields["weights"],
                matrix=fields.get("weight_matrix", question.weight_matrix),
                reason=fields.get("reason", ""),
                by=request.user,
            )
        except InvalidProjectChange as error:
            raise BadRequest(INVALID_FIELDS, fields=error.fields) from None
        return Response(QuestionOut(changed).data)


def _serialize_version(row: ScaleVersion) -> dict[str, object]:
    return _serialize_scale(row.number, row.declaration) | {
        "until": row.until,
        "changed_by": row.by.username if row.by else None,
        "reason": row.reason,
    }


def _serialize_scale(number: int, declared: ScaleDeclaration) -> dict[str, object]:
    return {
        "version": number,
        "scale": declared["scale"],
        "weights": declared["weights"],
        "weight_matrix": declared["matrix"],
        "categories": declared["categories"],
        "until": None,
        "changed_by": None,
        "reason": "",
    }
