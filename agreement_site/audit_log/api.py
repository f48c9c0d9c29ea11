"""The API of the trail."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from agreement_site.models import TrailLine
from core.api import pagination
from core.api.errors import BadRequest
from core.api.pagination import Key, page
from core.api.parameters import parameters
from core.api.schema import PAGING, page_of, parameter, reads
from projects.api.base import ApiView

from . import selectors
from .actions import ACTS
from .masking import Mask, mask_for
from .views import asked_project


class TrailLineOut(serializers.ModelSerializer):
    class Meta:
        model = TrailLine
        fields = selectors.COLUMNS


PARAMETERS = [
    parameter("actor", "Only what this account did"),
    parameter("act", "Only acts of this name", enum=list(ACTS)),
    parameter("from", "Only from this day on"),
    parameter("to", "Only up to this day, and on it"),
    *PAGING,
]


class SiteTrail(ApiView):
    @reads(
        "listTrail",
        "Who did what on the site, newest first; for administrators",
        page_of("TrailLine", TrailLineOut),
        PARAMETERS,
    )
    def get(self, request: Request) -> Response:
        """Days are those of UTC."""
        return _page(request, None)


class ProjectTrail(ApiView):
    @reads(
        "listProjectTrail",
        "Who did what in the project, newest first; for its leads",
        page_of("ProjectTrailLine", TrailLineOut),
        PARAMETERS,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Days are those of the project's time zone."""
        return _page(request, project_id)


def _page(request: Request, project_id: int | None) -> Response:
    project = asked_project(request.user, project_id, token=request.auth)
    found = parameters(request, (*selectors.NAMES, *pagination.PAGING))
    try:
        lines = selectors.lines_of(project, selectors.Wanted.of(found))
    except selectors.Refused as refused:
        raise BadRequest("The query has invalid parameters.", fields=refused.fields) from None

    mask = mask_for(project, request.user)

    def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
        older = lines if after is None else lines.filter(pk__lt=-after[0])
        return [((-line.pk,), _told(line, mask)) for line in older[:size]]

    return Response(page(request, found, key=1, read=read))


def _told(line: TrailLine, mask: Mask) -> Any:
    line.before, line.after, line.details = (
        mask(line.what, told) for told in (line.before, line.after, line.details)
    )
    return TrailLineOut(line).data
