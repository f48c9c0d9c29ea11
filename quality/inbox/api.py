"""API of the inbox: what needs an action of the caller, in all projects."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.pagination import PAGE_PARAMETER_NAMES, CursorKey, paginate
from core.api.parameters import parse_query_parameters
from core.api.schema import PAGE_PARAMETERS, build_page_serializer, describe_get
from projects.api.base import ApiView, get_token_project_id

from . import inbox_entries


class InboxRowOut(serializers.Serializer):
    project = serializers.IntegerField()
    question = serializers.CharField(allow_null=True, help_text="null: of the whole project")
    kind = serializers.ChoiceField(list(inbox_entries.ACTIONS))
    text = serializers.CharField()
    impact = serializers.FloatField(
        help_text="Of a rater: expected number of wrong ratings, near misses in part; of uncertain"
        " items: expected number of wrong labels; else the number of people and things that wait"
    )
    url = serializers.URLField(help_text="Page on which it is decided")
    created_at = serializers.DateTimeField(
        allow_null=True, help_text="When the alert was raised; null for what is a number of things"
    )


class InboxView(ApiView):
    @describe_get(
        "listInbox",
        "What needs an action of the caller, most impact first",
        build_page_serializer("Inbox", InboxRowOut),
        PAGE_PARAMETERS,
    )
    def get(self, request: Request) -> Response:
        """Return the inbox of the caller: what needs an action, in all their active projects."""
        params = parse_query_parameters(request, PAGE_PARAMETER_NAMES)
        token_project_id = get_token_project_id(request)
        scope = inbox_entries.InboxScope(request.user, token_project_id)

        def read(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
            start = after[0] if after and after[0] > 0 else 0
            stored_entries = inbox_entries.read_entries(scope, size, start)
            described = inbox_entries.load_entries(stored_entries, scope)
            return [
                ((start + number,), _serialize_entry(request, row))
                for number, row in enumerate(described, start=1)
            ]

        return Response(paginate(request, params, key_length=1, read=read))


def _serialize_entry(request: Request, row: inbox_entries.InboxEntry) -> dict[str, object]:
    question = row.alert.question if row.alert else row.question
    return {
        "project": row.project.pk,
        "question": question.key if question else None,
        "kind": row.stored.entry_kind,
        "text": row.text,
        "impact": row.stored.row_impact,
        "url": request.build_absolute_uri(row.url),
        "created_at": row.alert.created_at if row.alert else None,
    }
