"""The API of raters."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.parameters import parameters, rows_of
from core.api.schema import PAGING, one_or_many, page_of, reads, removes, writes
from core.text import has_nul
from projects.api.base import ApiView
from projects.api.serializers import Counts, RaterIn
from projects.models import Member, Project, Rater
from projects.services.raters.upsert import put_raters
from ratings.items import withdrawal


class ListedRater(serializers.Serializer):
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


class Raters(ApiView):
    @writes(
        "putRaters",
        "Create or change raters by key",
        body=one_or_many("RaterOrRaters", RaterIn),
        answer=Counts,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """One rater or a list of up to 10,000. The same request twice changes nothing."""
        project = self.project(request, project_id, role=Member.Role.LEAD)
        parameters(request)
        rows = rows_of(request.data)
        return Response(put_raters(project=project, rows=rows, by=request.user))

    @reads(
        "listRaters", "Raters, for leads and viewers", page_of("ListedRater", ListedRater), PAGING
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=Member.Role.VIEWER)
        found = parameters(request, pagination.PAGING)

        def read(after: pagination.Key | None, size: int) -> list[tuple[pagination.Key, Any]]:
            rows = _raters(project).filter(pk__gt=after[0] if after else 0).order_by("pk")
            return [((rater.pk,), _shown(project, rater)) for rater in rows[:size]]

        return Response(pagination.page(request, found, key=1, read=read))


class OneRater(ApiView):
    @reads("getRater", "One rater, for leads and viewers", ListedRater)
    def get(self, request: Request, project_id: int, rater_key: str) -> Response:
        project = self.project(request, project_id, role=Member.Role.VIEWER)
        parameters(request)
        return Response(_shown(project, _rater(project, rater_key)))

    @removes("removeRater", "Pause a rater; one without ratings is gone for good", RemovedRater)
    def delete(self, request: Request, project_id: int, rater_key: str) -> Response:
        project = self.project(request, project_id, role=Member.Role.LEAD)
        parameters(request)
        gone = withdrawal.remove_rater(rater=_rater(project, rater_key), by=request.user)
        return Response({"deleted": gone, "paused": not gone})


def _raters(project: Project) -> Any:
    return Rater.objects.filter(project=project).select_related("user")


def _rater(project: Project, key: str) -> Rater:
    rater = None if has_nul(key) else _raters(project).filter(key=key).first()
    if rater is None:
        raise Http404("No such rater.")
    return rater


def _shown(project: Project, rater: Rater) -> dict[str, Any]:
    is_lead = project.role == Member.Role.LEAD  # type: ignore[attr-defined]  # set by the door
    told = is_lead and not project.raters_hidden
    return {
        "key": rater.key,
        "name": rater.name,
        "kind": rater.kind,
        "model": rater.model,
        "prompt_version": rater.prompt_version,
        "group": rater.group,
        "username": rater.user.get_username() if rater.user and told else None,
        "paused": rater.paused,
    }
