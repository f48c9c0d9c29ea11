"""The API of the audit log."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from agreement_site.models import AuditLogEntry
from core.api import pagination
from core.api.errors import INVALID_PARAMETERS, BadRequest
from core.api.pagination import CursorKey, paginate
from core.api.parameters import parse_query_parameters
from core.api.schema import PAGE_PARAMETERS, build_page_serializer, build_parameter, describe_get
from projects.api.base import ApiView
from projects.permissions import get_project_or_site

from . import selectors
from .descriptions import ACTIONS
from .selectors import Mask, build_mask


class AuditLogEntryOut(serializers.ModelSerializer):
    class Meta:
        model = AuditLogEntry
        fields = selectors.COLUMNS


PARAMETERS = [
    build_parameter("actor", "Only what this account did"),
    build_parameter("action", "Only actions of this name", enum=list(ACTIONS)),
    build_parameter("from", "Only from this day on"),
    build_parameter("to", "Only up to this day, and on it"),
    *PAGE_PARAMETERS,
]


class SiteAuditLog(ApiView):
    @describe_get(
        "listAuditLog",
        "Who did what on the site, newest first; for administrators",
        build_page_serializer("AuditLogEntry", AuditLogEntryOut),
        PARAMETERS,
    )
    def get(self, request: Request) -> Response:
        """Return the entries of the site. Days are in UTC."""
        return _build_page(request, None)


class ProjectAuditLog(ApiView):
    @describe_get(
        "listProjectAuditLog",
        "Who did what in the project, newest first; for its leads",
        build_page_serializer("ProjectAuditLogEntry", AuditLogEntryOut),
        PARAMETERS,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return the entries of the project. Days are in the project's time zone."""
        return _build_page(request, project_id)


def _build_page(request: Request, project_id: int | None) -> Response:
    project = get_project_or_site(request.user, project_id, token=request.auth)
    query = parse_query_parameters(
        request, (*selectors.FILTER_NAMES, *pagination.PAGE_PARAMETER_NAMES)
    )
    try:
        entries = selectors.filter_entries(project, selectors.AuditLogFilter.from_query(query))
    except selectors.InvalidAuditLogFilter as error:
        raise BadRequest(INVALID_PARAMETERS, fields=error.fields) from None

    mask = build_mask(project, request.user)

    def read_entries(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
        page_entries = entries if after is None else entries.filter(pk__lt=-after[0])
        return [((-entry.pk,), _serialize_entry(entry, mask)) for entry in page_entries[:size]]

    return Response(paginate(request, query, key_length=1, read=read_entries))


def _serialize_entry(entry: AuditLogEntry, mask: Mask) -> Any:
    entry.before, entry.after, entry.details = (
        mask(entry.action, values) for values in (entry.before, entry.after, entry.details)
    )
    return AuditLogEntryOut(entry).data
