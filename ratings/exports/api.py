"""API of exports that a worker writes to a file."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import Conflict
from core.api.pagination import PAGE_PARAMETER_NAMES, paginate_rows
from core.api.parameters import parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    READ_ERROR_STATUSES,
    DeletedOut,
    FileView,
    build_error_responses,
    build_page_serializer,
    describe_delete,
    describe_get,
    describe_write,
)
from core.api.strict_fields import FiniteFloatField, StrictCharField, StrictSerializer
from projects.api.base import ApiView, build_location
from projects.models import Member, Project
from ratings.models import ExportRun

from . import services
from .views import respond_with_file

VIEWER = Member.Role.VIEWER


class ExportIn(StrictSerializer):
    kind = StrictCharField(help_text="ratings or labels")
    format = StrictCharField(
        help_text="csv, jsonl or parquet; of labels also label_studio and argilla"
    )
    question = StrictCharField(
        required=False, help_text="Key; without it, ratings of all questions"
    )
    min_confidence = FiniteFloatField(
        required=False, min_value=0, max_value=1, help_text="Of labels, as in their list"
    )
    since = StrictCharField(required=False, help_text="Of labels, as in their list")

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add ``source`` and ``label``, which would hide attributes of the serializer class."""
        help_text = "Of labels, as in their list"
        names = ("source", "label")
        filters = {name: StrictCharField(required=False, help_text=help_text) for name in names}
        return {**super().get_fields(), **filters}


class ExportOut(serializers.Serializer):
    id = serializers.IntegerField()
    kind = serializers.CharField()
    format = serializers.CharField(source="file_format")
    questions = serializers.ListField(child=serializers.CharField(), help_text="Keys")
    state = serializers.ChoiceField(ExportRun.State.values)
    error = serializers.ChoiceField(
        ExportRun.Error.values, allow_blank=True, help_text="Why it failed"
    )
    rows = serializers.IntegerField(source="rows_done", help_text="Rows written")
    rows_total = serializers.IntegerField(help_text="0 until a worker has counted them")
    percent = serializers.IntegerField(help_text="100: the file is complete")
    bytes = serializers.IntegerField(source="bytes_written")
    created_at = serializers.DateTimeField(format=None)
    finished_at = serializers.DateTimeField(format=None, allow_null=True)
    expires_at = serializers.DateTimeField(
        format=None, allow_null=True, help_text="When the file is deleted"
    )
    url = serializers.URLField(help_text="Address of this export")
    file = serializers.URLField(allow_null=True, help_text="Address of the complete file")


class ExportListView(ApiView):
    @describe_get(
        "listExports",
        "Exports to files, oldest first",
        build_page_serializer("Export", ExportOut),
        PAGE_PARAMETERS,
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        query = parse_query_parameters(request, PAGE_PARAMETER_NAMES)
        serialize = partial(_serialize_rows, request, project)
        return Response(paginate_rows(request, query, project.exports.all(), serialize=serialize))

    @describe_write(
        "startExport",
        "Let a worker export ratings or labels to a file",
        body=ExportIn,
        response=ExportOut,
        status=202,
        examples={
            "Ratings": {"kind": "ratings", "format": "csv"},
            "Labels": {"kind": "labels", "format": "jsonl", "min_confidence": 0.95},
        },
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Start an export of the rows that exist now; `file` is its address once it is complete."""
        project = self.get_project(request, project_id, role=VIEWER)
        body = self.parse_body(request, ExportIn)
        parameters = {name: str(value) for name, value in body.items()}
        try:
            run = services.start_export(
                project=project,
                kind=parameters.pop("kind"),
                file_format=parameters.pop("format"),
                parameters=parameters,
                by=request.user,
            )
        except services.TooManyExports:
            raise Conflict(
                f"{services.MAX_UNFINISHED} exports of the project are not finished. Wait until one"
                " is, or delete one."
            ) from None
        headers = {**build_location(request, run.pk), "Retry-After": "1"}
        (data,) = _serialize_rows(request, project, [run])
        return Response(data, status=202, headers=headers)


class ExportDetailView(ApiView):
    @describe_get("getExport", "An export and its progress", ExportOut)
    def get(self, request: Request, project_id: int, export_id: int) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        parse_query_parameters(request)
        (data,) = _serialize_rows(request, project, [_get_run(project, export_id)])
        return Response(data)

    @describe_delete("deleteExport", "Cancel an export, or delete its file", DeletedOut)
    def delete(self, request: Request, project_id: int, export_id: int) -> Response:
        """Delete an export: leads any, others those that they started."""
        project = self.get_project(request, project_id, role=VIEWER)
        parse_query_parameters(request)
        run = _get_run(project, export_id)
        if not services.can_delete(run, project, request.user):
            raise PermissionDenied("Only a lead may delete the export of somebody else.")
        services.delete_export(run=run)
        return Response({"deleted": True})


class ExportFileView(FileView, ApiView):
    @extend_schema(
        operation_id="downloadExport",
        summary="The file of an export; ranges of bytes are supported",
        responses={
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            **build_error_responses(READ_ERROR_STATUSES),
        },
    )
    def get(self, request: Request, project_id: int, export_id: int) -> HttpResponseBase:
        """Return the complete file, or the range of the header `Range`. 404 until it is there."""
        project = self.get_project(request, project_id, role=VIEWER)
        parse_query_parameters(request)
        return respond_with_file(request._request, _get_run(project, export_id))


def _get_run(project: Project, export_id: int) -> ExportRun:
    run = project.exports.filter(pk=export_id).first()
    if run is None:
        raise Http404("Export not found.")
    return run


def _serialize_rows(request: Request, project: Project, runs: list[ExportRun]) -> list[Any]:
    keys = dict(project.questions.values_list("pk", "key"))
    for run in runs:
        address = reverse("api-export-run", args=[project.pk, run.pk])
        file_address = reverse("api-export-file", args=[project.pk, run.pk])
        is_done = run.state == ExportRun.State.DONE
        addresses: dict[str, object] = {
            "questions": [keys[pk] for pk in run.question_ids if pk in keys],
            "url": request.build_absolute_uri(address),
            "file": request.build_absolute_uri(file_address) if is_done else None,
        }
        vars(run).update(addresses)
    return list(ExportOut(runs, many=True).data)
