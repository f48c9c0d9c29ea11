"""API of the connections of a project with Label Studio, for its leads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import transaction
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest
from core.api.pagination import PAGE_PARAMETER_NAMES, paginate_rows
from core.api.parameters import parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    DeletedOut,
    build_page_serializer,
    describe_delete,
    describe_get,
    describe_write,
)
from core.api.strict_fields import (
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictIntegerField,
    StrictSerializer,
)
from events.webhooks.http_client import MAX_URL_LENGTH
from projects.api.base import ApiView, build_location
from projects.models import Member
from ratings.label_studio.client import format_error
from ratings.models import LabelStudioConnection

from . import services

State, WriteBack = LabelStudioConnection.State, LabelStudioConnection.WriteBack
NOT_SAVED = "The connection was not saved."


class ConnectionOut(serializers.ModelSerializer):
    # The names are part of the API.
    state = serializers.ChoiceField(
        State.values,
        help_text="reading: for the first time; mapping: until a lead confirms at `confirm_url`",
    )
    write_back = serializers.ChoiceField(WriteBack.values)
    error = serializers.SerializerMethodField(
        help_text="Why the last attempt failed; null after a success"
    )
    counts = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Ratings `created`, `changed` and `withdrawn`; tasks with `written` labels",
    )
    confirm_url = serializers.SerializerMethodField(
        help_text="Page on which a lead confirms what was understood; null in other states"
    )
    hint_url = serializers.SerializerMethodField(
        help_text="Address for a webhook of the project there; whoever knows it may call it"
    )

    class Meta:
        model = LabelStudioConnection
        fields = [
            "id", "address", "remote_project", "title", "state", "write_back", "error", "failures",
            "counts", "pulled_at", "compared_at", "next_at", "confirm_url", "hint_url",
            "created_at",
        ]  # fmt: skip

    def get_error(self, connection: LabelStudioConnection) -> str | None:
        return format_error(connection.error) or None

    def get_confirm_url(self, connection: LabelStudioConnection) -> str | None:
        if connection.state != State.MAPPING or connection.import_run_id is None:
            return None
        return self._build_url("import_run", connection.project_id, connection.import_run_id)

    def get_hint_url(self, connection: LabelStudioConnection) -> str:
        return self._build_url("label_studio_hint", connection.pk, connection.hint_secret)

    def _build_url(self, name: str, *arguments: object) -> str:
        url: str = self.context["request"].build_absolute_uri(reverse(name, args=arguments))
        return url


class ConnectionIn(StrictSerializer):
    address = StrictCharField(
        max_length=MAX_URL_LENGTH, help_text="Of the server, or of the page of the project there"
    )
    remote_project = StrictIntegerField(
        required=False, help_text="Number of the project, unless the address has it"
    )
    token = StrictCharField(
        max_length=services.MAX_TOKEN_LENGTH,
        help_text="Personal or legacy token; never shown again",
    )


class ConnectionPatch(StrictSerializer):
    token = StrictCharField(max_length=services.MAX_TOKEN_LENGTH, required=False)
    write_back = StrictChoiceField(WriteBack.choices, required=False)
    paused = StrictBooleanField(required=False, help_text="Of an active or a paused connection")


class ConnectionListView(ApiView):
    @describe_get(
        "listConnections",
        "Connections with Label Studio, oldest first",
        build_page_serializer("Connection", ConnectionOut),
        PAGE_PARAMETERS,
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        query = parse_query_parameters(request, PAGE_PARAMETER_NAMES)
        connections = services.list_connections(project)
        serialize = partial(map, partial(_serialize, request))
        return Response(paginate_rows(request, query, connections, serialize=serialize))

    @describe_write(
        "createConnection",
        "Connect with a project of Label Studio",
        body=ConnectionIn,
        response=ConnectionOut,
        status=201,
        examples={
            "Project": {"address": "https://labels.example.org/projects/12", "token": "eyJhbGciOi"}
        },
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Check the token, and let a worker read the project; nothing is imported yet."""
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        fields = {"remote_project": None, **self.parse_body(request, ConnectionIn)}
        try:
            connection = services.create_connection(project=project, by=request.user, **fields)
        except services.InvalidConnection as error:
            raise BadRequest(NOT_SAVED, fields=error.fields) from None
        headers = build_location(request, connection.pk)
        return Response(_serialize(request, connection), status=201, headers=headers)


class ConnectionDetailView(ApiView):
    @describe_get("getConnection", "A connection", ConnectionOut)
    def get(self, request: Request, project_id: int, connection_id: int) -> Response:
        connection = _get_connection(request, project_id, connection_id)
        parse_query_parameters(request)
        return Response(_serialize(request, connection))

    @describe_write(
        "updateConnection",
        "Change or pause a connection",
        body=ConnectionPatch,
        response=ConnectionOut,
        examples={"Pause": {"paused": True}, "Write labels": {"write_back": "predictions"}},
    )
    def patch(self, request: Request, project_id: int, connection_id: int) -> Response:
        """Change the connection; a new token is checked before it is stored."""
        connection = _get_connection(request, project_id, connection_id)
        fields = dict(self.parse_body(request, ConnectionPatch))
        is_paused = fields.pop("paused", None)
        if is_paused is not None and connection.state not in (State.ACTIVE, State.PAUSED):
            message = f"The state is {connection.state}: only an active connection can be paused."
            raise BadRequest(NOT_SAVED, fields={"paused": message})
        values = {"token": "", "write_back": connection.write_back, **fields}
        try:
            with transaction.atomic():
                services.change_connection(connection=connection, by=request.user, **values)
                if is_paused is not None:
                    change = services.pause_connection if is_paused else services.resume_connection
                    change(connection=connection, by=request.user)
        except services.InvalidConnection as error:
            raise BadRequest(NOT_SAVED, fields=error.fields) from None
        return Response(_serialize(request, connection))

    @describe_delete("deleteConnection", "Disconnect; items and ratings stay", DeletedOut)
    def delete(self, request: Request, project_id: int, connection_id: int) -> Response:
        connection = _get_connection(request, project_id, connection_id)
        parse_query_parameters(request)
        services.delete_connection(connection=connection, by=request.user)
        return Response({"deleted": True})


class ConnectionPullView(ApiView):
    @describe_write(
        "pullConnection",
        "Read Label Studio now",
        body=None,
        response=ConnectionOut,
        status=202,
    )
    def post(self, request: Request, project_id: int, connection_id: int) -> Response:
        """Let a worker read what changed; `pulled_at` says when it has."""
        return _start_reading(request, project_id, connection_id, services.request_pull)


class ConnectionRestartView(ApiView):
    @describe_write(
        "restartConnection",
        "Read the project again, before it was confirmed",
        body=None,
        response=ConnectionOut,
        status=202,
    )
    def post(self, request: Request, project_id: int, connection_id: int) -> Response:
        """Read the project again, after its first import was discarded or failed."""

        def restart(connection: LabelStudioConnection) -> None:
            if connection.state not in (State.READING, State.MAPPING):
                message = f"The state is {connection.state}: it was confirmed already."
                raise BadRequest(NOT_SAVED, fields={"state": message})
            services.restart_connection(connection=connection, by=request.user)

        return _start_reading(request, project_id, connection_id, restart)


def _start_reading(
    request: Request,
    project_id: int,
    connection_id: int,
    start: Callable[[LabelStudioConnection], None],
) -> Response:
    """Call ``start`` with the connection, to let a worker read it; return the response (202)."""
    connection = _get_connection(request, project_id, connection_id)
    parse_query_parameters(request)
    start(connection)
    return Response(_serialize(request, connection), status=202)


def _get_connection(request: Request, project_id: int, connection_id: int) -> LabelStudioConnection:
    return services.get_connection(request.user, project_id, connection_id, token=request.auth)


def _serialize(request: Request, connection: LabelStudioConnection) -> Any:
    return ConnectionOut(connection, context={"request": request}).data
