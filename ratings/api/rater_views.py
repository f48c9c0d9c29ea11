"""API of raters."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import INVALID_FIELDS, BadRequest
from core.api.parameters import get_choice, parse_query_parameters, parse_rows
from core.api.schema import (
    DRY_RUN_PARAMETER,
    PAGE_PARAMETERS,
    build_one_or_many_schema,
    build_ordering_parameter,
    build_page_serializer,
    build_parameter,
    describe_delete,
    describe_get,
    describe_write,
)
from core.text import has_nul
from projects.api.base import ApiView, change_row, store_unless_dry_run
from projects.api.serializers import RaterIn, RaterPatch, UpsertCounts
from projects.models import Member, Project, Rater
from projects.services.rater_changes import set_raters_paused
from projects.services.rater_upsert import upsert_raters
from ratings.items import removal

ORDERINGS = {"key": "key", "name": "name"}


class RaterOut(serializers.Serializer):
    key = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    kind = serializers.ChoiceField(Rater.Kind.choices)
    model = serializers.CharField(allow_blank=True, help_text="Of a model: its name")
    prompt_version = serializers.CharField(
        allow_blank=True, help_text="Of a model: the version of its prompt"
    )
    group = serializers.CharField(allow_blank=True)
    username = serializers.CharField(
        allow_null=True,
        help_text="Of the account, for leads alone; null: none is tied, or it is hidden",
    )
    paused = serializers.BooleanField()


class RemovedRater(serializers.Serializer):
    deleted = serializers.BooleanField(help_text="Gone for good: there were no ratings")
    paused = serializers.BooleanField(help_text="There are ratings: these stay, and so does who")


class RatersView(ApiView):
    @describe_write(
        "putRaters",
        "Create or change raters by key",
        body=build_one_or_many_schema("RaterOrRaters", RaterIn),
        response=UpsertCounts,
        parameters=[DRY_RUN_PARAMETER],
        examples={"People and models": [{"key": "ann"}, {"key": "gpt", "kind": "model"}]},
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Create or change one rater, or up to 10,000. The same request twice changes nothing."""
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        with store_unless_dry_run(request):
            rows = parse_rows(request.data)
            return Response(upsert_raters(project=project, rows=rows, by=request.user))

    @describe_get(
        "listRaters",
        "Raters, for leads and viewers",
        build_page_serializer("ListedRater", RaterOut),
        [
            build_parameter("kind", "Only raters of this kind", enum=list(Rater.Kind.values)),
            build_parameter("group", "Only raters of this group"),
            build_parameter("name", "Only raters of this name"),
            build_ordering_parameter(ORDERINGS),
            *PAGE_PARAMETERS,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=Member.Role.VIEWER)
        query = parse_query_parameters(
            request, ("kind", "group", "name", "ordering", *pagination.PAGE_PARAMETER_NAMES)
        )
        raters = _get_raters(project)
        if "kind" in query:
            raters = raters.filter(kind=get_choice(query, "kind", Rater.Kind.values, default=""))
        raters = raters.filter(**{name: query[name] for name in ("group", "name") if name in query})

        serialize = partial(map, partial(_format_rater, project))
        return Response(
            pagination.paginate_rows(
                request, query, raters, serialize=serialize, orderings=ORDERINGS
            )
        )


class RaterView(ApiView):
    @describe_get("getRater", "One rater, for leads and viewers", RaterOut)
    def get(self, request: Request, project_id: int, rater_key: str) -> Response:
        project = self.get_project(request, project_id, role=Member.Role.VIEWER)
        parse_query_parameters(request)
        return Response(_format_rater(project, _get_rater_or_404(project, rater_key)))

    @describe_write(
        "changeRater",
        "Change some fields of a rater, or pause one; leads alone may",
        body=RaterPatch,
        response=RaterOut,
        examples={"Group": {"group": "Vendor A"}, "Pause": {"paused": True}},
    )
    def patch(self, request: Request, project_id: int, rater_key: str) -> Response:
        """Change the fields that are sent; the others stay."""
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        parse_query_parameters(request)
        rater = _get_rater_or_404(project, rater_key)
        data: Any = request.data
        fields = dict(data) if isinstance(data, dict) else data
        is_paused = fields.pop("paused", rater.paused) if isinstance(data, dict) else rater.paused
        if not isinstance(is_paused, bool):
            raise BadRequest(INVALID_FIELDS, fields={"paused": "true or false"})
        with transaction.atomic():
            change_row(upsert_raters, project=project, key=rater.key, data=fields, by=request.user)
            set_raters_paused(raters=[rater], paused=is_paused, by=request.user)
        return Response(_format_rater(project, _get_rater_or_404(project, rater.key)))

    @describe_delete(
        "removeRater", "Pause a rater; one without ratings is gone for good", RemovedRater
    )
    def delete(self, request: Request, project_id: int, rater_key: str) -> Response:
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        parse_query_parameters(request)
        is_deleted = removal.delete_or_pause_rater(
            rater=_get_rater_or_404(project, rater_key), by=request.user
        )
        return Response({"deleted": is_deleted, "paused": not is_deleted})


def _get_raters(project: Project) -> Any:
    return Rater.objects.filter(project=project).select_related("user")


def _get_rater_or_404(project: Project, key: str) -> Rater:
    """Return the project's rater with this key; raise Http404 if there is none."""
    rater = None if has_nul(key) else _get_raters(project).filter(key=key).first()
    if rater is None:
        raise Http404("No such rater.")
    return rater


def _format_rater(project: Project, rater: Rater) -> dict[str, Any]:
    """Return a rater for the response; leads also see the account, unless names are hidden."""
    is_lead = project.can_manage
    is_visible = is_lead and not project.hides_raters
    return {
        "key": rater.key,
        "name": rater.name,
        "kind": rater.kind,
        "model": rater.model,
        "prompt_version": rater.prompt_version,
        "group": rater.group,
        "username": rater.user.get_username() if rater.user and is_visible else None,
        "paused": rater.paused,
    }
