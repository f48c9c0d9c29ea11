"""The API of what a question's scale and weights were, and are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.pagination import PAGING as PAGING_NAMES
from core.api.pagination import Key, page
from core.api.parameters import parameters
from core.api.schema import PAGING, QUESTION, page_of, reads
from projects.models import Member, Scale, ScaleVersion, Weights

from .base import ApiView, question_of


class VersionCategoryOut(serializers.Serializer):
    code = serializers.IntegerField(help_text="Never changed and never used again")
    value = serializers.FloatField(allow_null=True)

    def get_fields(self) -> dict[str, serializers.Field]:
        """``label`` is the contract's name, and means something else to a serializer's class."""
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
    until = serializers.DateTimeField(allow_null=True, help_text="null: it is in force")
    changed_by = serializers.CharField(allow_null=True, help_text="Who made the next one of it")
    reason = serializers.CharField(allow_blank=True, help_text="and why, where they said so")


class ScaleVersions(ApiView):
    @reads(
        "listScaleVersions",
        "What a question's scale and weights were until somebody changed them, oldest first",
        page_of("ScaleVersion", ScaleVersionOut),
        [QUESTION, *PAGING],
    )
    def get(self, request: Request, project_id: int) -> Response:
        """The last one is in force."""
        project = self.project(request, project_id, role=Member.Role.VIEWER)
        found = parameters(request, ("question", *PAGING_NAMES))
        question = question_of(project, found.get("question"))
        stored = ScaleVersion.objects.filter(question=question).select_related("by")

        def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
            first = after[0] + 1 if after else 0
            rows = stored.filter(number__gte=first).order_by("number")[:size]
            shown: list[tuple[Key, Any]] = [((row.number,), _shown_version(row)) for row in rows]
            if len(shown) < size and question.scale_version >= first:
                in_force = _shown(question.scale_version, question.declared())
                shown.append(((question.scale_version,), in_force))
            return shown

        return Response(page(request, found, key=1, read=read))


def _shown_version(row: ScaleVersion) -> dict[str, Any]:
    return _shown(row.number, row.declared) | {
        "until": row.until,
        "changed_by": row.by.username if row.by else None,
        "reason": row.reason,
    }


def _shown(number: int, declared: Mapping[str, Any]) -> dict[str, Any]:
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
