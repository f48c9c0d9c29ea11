"""API of saved views.

Links to them are created in the browser, where their secret is shown once.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404, QueryDict
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import INVALID_FIELDS, BadRequest
from core.api.pagination import CursorKey, paginate
from core.api.parameters import parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    DeletedOut,
    build_page_serializer,
    describe_delete,
    describe_get,
    describe_write,
)
from core.api.strict_fields import StrictCharField, StrictChoiceField, StrictSerializer
from metrics import saved_views
from metrics.filters import ITEM_PREFIX
from metrics.models import SavedView
from projects.api.base import ApiView, build_location, get_question
from projects.models import Member, Project

LEAD, VIEWER = Member.Role.LEAD, Member.Role.VIEWER


class SavedViewIn(StrictSerializer):
    page = StrictChoiceField(SavedView.Page.values)
    name = StrictCharField(max_length=saved_views.MAX_NAME_LENGTH)
    query = StrictCharField(
        required=False,
        allow_blank=True,
        help_text="The query string of the page's URL, such as kind=human",
    )


class SavedViewOut(serializers.Serializer):
    id = serializers.IntegerField()
    page = serializers.ChoiceField(SavedView.Page.values)
    name = serializers.CharField()
    query = serializers.CharField()
    created_by = serializers.CharField(source="created_by.username", allow_null=True)
    created_at = serializers.DateTimeField(format=None)


class SavedViewListView(ApiView):
    @describe_get(
        "listSavedViews",
        "Views under a name, oldest first",
        build_page_serializer("SavedView", SavedViewOut),
        PAGE_PARAMETERS,
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        params = parse_query_parameters(request, pagination.PAGE_PARAMETER_NAMES)
        views = sorted(saved_views.list_saved_views(project), key=lambda view: view.pk)

        def read_page(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
            following = [view for view in views if after is None or view.pk > after[0]]
            return [((view.pk,), SavedViewOut(view).data) for view in following[:size]]

        return Response(paginate(request, params, key_length=1, read=read_page))

    @describe_write(
        "createSavedView",
        "Keep a view under a name; leads alone may",
        body=SavedViewIn,
        response=SavedViewOut,
        status=201,
    )
    def post(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        data = self.parse_body(request, SavedViewIn)
        query = _normalize_query(project, data["page"], data.get("query", ""))
        try:
            view = saved_views.create_saved_view(
                project=project,
                page=data["page"],
                name=data["name"],
                query=query,
                by=request.user,
            )
        except saved_views.InvalidSavedView as error:
            raise BadRequest(INVALID_FIELDS, fields=error.fields) from None
        headers = build_location(request, view.pk)
        return Response(SavedViewOut(view).data, status=201, headers=headers)


class SavedViewDetailView(ApiView):
    @describe_get("getSavedView", "One of them", SavedViewOut)
    def get(self, request: Request, project_id: int, view_id: int) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        parse_query_parameters(request)
        return Response(SavedViewOut(_get_view(project, view_id)).data)

    @describe_delete("deleteSavedView", "Delete a view and end its links", DeletedOut)
    def delete(self, request: Request, project_id: int, view_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        parse_query_parameters(request)
        view = _get_view(project, view_id)
        saved_views.delete_saved_view(view=view, by=request.user)
        return Response({"deleted": True})


def _get_view(project: Project, view_id: int) -> SavedView:
    """Return the project's view with this id, or raise Http404."""
    for view in saved_views.list_saved_views(project):
        if view.pk == view_id:
            return view
    raise Http404("No such view.")


def _normalize_query(project: Project, page: str, text: str) -> str:
    """Return the query in its stored form, with a fixed order and its question.

    Raises BadRequest for parameters that a page of this kind does not have.
    """
    if len(text) > saved_views.MAX_QUERY_LENGTH:
        message = f"at most {saved_views.MAX_QUERY_LENGTH} signs"
        raise BadRequest(INVALID_FIELDS, fields={"query": message})
    parameters = QueryDict(text.removeprefix("?"))
    allowed = saved_views.QUERY_PARAMETERS[page]
    has_item_filters = page == SavedView.Page.DASHBOARD
    for name in parameters:
        if name not in allowed and not (has_item_filters and name.startswith(ITEM_PREFIX)):
            message = f"unknown '{name[:64]}'; of {', '.join(allowed)}"
            raise BadRequest(INVALID_FIELDS, fields={"query": message})
    first_question = project.questions.order_by("position", "pk").first()
    key = parameters.get("question") or (first_question.key if first_question else None)
    return saved_views.build_query(page, parameters, question=get_question(project, key).key)
