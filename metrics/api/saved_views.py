"""The API of views under a name. Links to them are made in the browser, where their secret is shown
once."""

from __future__ import annotations

from typing import Any

from django.http import Http404, QueryDict
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.pagination import Key, page
from core.api.parameters import parameters
from core.api.schema import PAGING, page_of, reads, removes, writes
from core.api.strict_fields import Choice, StrictSerializer, Text
from metrics.filters import ITEM
from metrics.models import NamedView
from metrics.saved_views import services
from projects.api.base import ApiView, question_of
from projects.models import Member, Project

LEAD, VIEWER = Member.Role.LEAD, Member.Role.VIEWER


class NamedViewIn(StrictSerializer):
    page = Choice(NamedView.Page.values)
    name = Text(max_length=services.LONGEST_NAME)
    query = Text(
        required=False,
        allow_blank=True,
        help_text="What the page's address says behind the question mark, such as kind=human",
    )


class NamedViewOut(serializers.Serializer):
    id = serializers.IntegerField()
    page = serializers.ChoiceField(NamedView.Page.values)
    name = serializers.CharField()
    query = serializers.CharField()
    by = serializers.CharField(allow_null=True)
    made_at = serializers.DateTimeField()


class NamedViewGone(serializers.Serializer):
    deleted = serializers.BooleanField()


class NamedViews(ApiView):
    @reads(
        "listNamedViews",
        "Views under a name, oldest first",
        page_of("NamedView", NamedViewOut),
        PAGING,
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=VIEWER)
        found = parameters(request, pagination.PAGING)
        mine = sorted(services.named(project), key=lambda view: view.pk)

        def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
            later = [view for view in mine if after is None or view.pk > after[0]]
            return [((view.pk,), _shown(view)) for view in later[:size]]

        return Response(page(request, found, key=1, read=read))

    @writes(
        "nameView",
        "Keep a view under a name; leads alone may",
        body=NamedViewIn,
        answer=NamedViewOut,
        status=201,
    )
    def post(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=LEAD)
        parameters(request)
        given = NamedViewIn(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        query = _query(project, asked["page"], asked.get("query", ""))
        try:
            view = services.name_view(
                project=project,
                page=asked["page"],
                name=asked["name"],
                query=query,
                by=request.user,
            )
        except services.Refused as error:
            raise BadRequest("The request has invalid fields.", fields=error.fields) from None
        return Response(_shown(view), status=201)


class OneNamedView(ApiView):
    @reads("getNamedView", "One of them", NamedViewOut)
    def get(self, request: Request, project_id: int, view_id: int) -> Response:
        project = self.project(request, project_id, role=VIEWER)
        parameters(request)
        return Response(_shown(_view(project, view_id)))

    @removes("deleteNamedView", "Delete a view and end its links", NamedViewGone)
    def delete(self, request: Request, project_id: int, view_id: int) -> Response:
        project = self.project(request, project_id, role=LEAD)
        parameters(request)
        view = _view(project, view_id)
        services.delete_view(view=view, by=request.user)
        return Response({"deleted": True})


def _view(project: Project, view_id: int) -> NamedView:
    """One that the caller may open."""
    for view in services.named(project):
        if view.pk == view_id:
            return view
    raise Http404("No such view.")


def _query(project: Project, page: str, text: str) -> str:
    """What is kept of it, in one order and with its question. Raises BadRequest for what a page of
    this kind does not say."""
    if len(text) > services.LONGEST_QUERY:
        said = f"at most {services.LONGEST_QUERY} signs"
        raise BadRequest("The request has invalid fields.", fields={"query": said})
    given = QueryDict(text.removeprefix("?"))
    allowed = services.SAYS[page]
    of_items = page == NamedView.Page.DASHBOARD
    for name in given:
        if name not in allowed and not (of_items and name.startswith(ITEM)):
            said = f"unknown '{name[:64]}'; of {', '.join(allowed)}"
            raise BadRequest("The request has invalid fields.", fields={"query": said})
    first = project.questions.order_by("position", "pk").first()
    key = given.get("question") or (first.key if first else None)
    return services.query_of(page, given, question=question_of(project, key).key)


def _shown(view: NamedView) -> dict[str, Any]:
    shown = {name: getattr(view, name) for name in ("id", "page", "name", "query", "made_at")}
    return shown | {"by": view.by.get_username() if view.by else None}
