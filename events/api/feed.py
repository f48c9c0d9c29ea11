"""API of the feed of events."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import build_page_serializer, build_parameter, describe_get
from events.feed import get_project_feed, get_user_feed
from events.kinds import KINDS, list_kinds
from events.models import Event
from projects.api.base import ApiView, get_token_project_id
from projects.models import Member

DEFAULT_LIMIT = 200
MAX_LIMIT = 1_000
MAX_NUMBER = 2**62


class EventOut(serializers.Serializer):
    id = serializers.IntegerField(help_text="Place in the feed; grows, and is never used again")
    kind = serializers.CharField(
        help_text="\n".join(f"* `{name}`: {kind.meaning}" for name, kind in KINDS.items()),
    )
    at = serializers.DateTimeField()
    project = serializers.IntegerField()
    question = serializers.CharField(allow_null=True, help_text="Key of a question")
    data = serializers.DictField(  # type: ignore[assignment]  # the name is part of the API
        help_text="Figures, intervals and evidence: docs/api.md"
    )


PARAMETERS = [
    OpenApiParameter(
        "after", OpenApiTypes.INT, description="Only events with a greater `id`; 0 by default"
    ),
    build_parameter("kind", "Only events of this kind", enum=list(KINDS)),
    OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        description="Number of events in the response",
    ),
]


class ProjectEventListView(ApiView):
    @describe_get(
        "listProjectEvents",
        "What happened in the project, oldest first; never with a gap",
        build_page_serializer("ProjectEvent", EventOut),
        PARAMETERS,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return the events: to leads all kinds, to viewers and adjudicators those of results."""
        project: Any = self.get_project(request, project_id, role=Member.Role.VIEWER)
        events = get_project_feed(project, project.role)
        return _build_page(request, events, list_kinds(project.role))


class EventListView(ApiView):
    @describe_get(
        "listEvents",
        "What happened in the caller's projects, oldest first; never with a gap",
        build_page_serializer("Event", EventOut),
        PARAMETERS,
    )
    def get(self, request: Request) -> Response:
        """Return the events of all projects, of each those that the caller may see."""
        events = get_user_feed(request.user, project_id=get_token_project_id(request))
        return _build_page(request, events, list(KINDS))


def _build_page(request: Request, events: QuerySet[Event], kinds: list[str]) -> Response:
    query = parse_query_parameters(request, ("after", "kind", "limit"))
    after = _parse_number(query, "after", 0, bounds=(0, MAX_NUMBER))
    limit = _parse_number(query, "limit", DEFAULT_LIMIT, bounds=(1, MAX_LIMIT))
    if "kind" in query:
        events = events.filter(kind=get_choice(query, "kind", kinds, default=""))
    rows = list(events.filter(number__gt=after)[: limit + 1])
    next_url = None
    if len(rows) > limit:
        rows = rows[:limit]
        parameters = request.query_params.copy()
        parameters["after"] = str(rows[-1].number)
        next_url = f"{request.build_absolute_uri(request.path)}?{parameters.urlencode()}"
    return Response({"next": next_url, "results": [serialize_event(event) for event in rows]})


def serialize_event(event: Event) -> dict[str, Any]:
    return {
        "id": event.number,
        "kind": event.kind,
        "at": event.at,
        "project": event.project_id,
        "question": event.data.get("question"),
        "data": event.data,
    }


def _parse_number(
    query: dict[str, str], name: str, default: int, *, bounds: tuple[int, int]
) -> int:
    lowest, highest = bounds
    text = query.get(name, str(default))
    if not text.isascii() or not text.isdigit() or not lowest <= int(text[:20]) <= highest:
        raise BadRequest(
            f"Invalid {name}.", fields={name: f"a whole number from {lowest} to {highest}"}
        )
    return int(text)
