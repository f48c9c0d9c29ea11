"""API of the current and earlier versions of a question's scale and weights."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import INVALID_FIELDS, BadRequest
from core.api.pagination import PAGE_PARAMETER_NAMES as PAGING_NAMES
from core.api.pagination import CursorKey, paginate
from core.api.parameters import parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    QUESTION_PARAMETER,
    build_page_serializer,
    describe_get,
    describe_write,
)
from projects.models import Member, Scale, ScaleVersion, Weights
from projects.models.question import ScaleDeclaration
from projects.services import scales
from projects.services.project_validation import InvalidProjectChange

from .base import ApiView, get_question
from .serializers import QuestionOut, WeightsIn


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
            changed = scales.change_weights(
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
