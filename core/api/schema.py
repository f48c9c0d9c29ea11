"""Describe API operations for OpenAPI: parameters, responses, errors, pages and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    PolymorphicProxySerializer,
    extend_schema,
    inline_serializer,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from .errors import MEDIA_TYPE
from .pagination import MAX_PAGE_SIZE, PAGE_SIZE, list_ordering_values
from .parameters import MAX_PARAMETER_LENGTH


class ErrorDetail(serializers.Serializer):
    code = serializers.CharField(help_text="invalid, not_authenticated, forbidden, not_found, ...")
    message = serializers.CharField()
    # The metaclass removes it from the class, so that the serializer's own `fields` stays intact.
    fields = serializers.DictField(  # type: ignore[assignment]  # the name is part of the API
        help_text='Place -> message; of lists {"rows": {"17": message}} with rows counted from 0'
    )


class FieldError(serializers.Serializer):
    row = serializers.IntegerField(allow_null=True, help_text="Of a list, counted from 0")
    field = serializers.CharField(allow_null=True, help_text="Names of nested fields with slashes")
    code = serializers.CharField(help_text="unknown_label, required, duplicate, invalid, ...")
    detail = serializers.CharField()


class Problem(serializers.Serializer):
    """Problem details (RFC 9457)."""

    type = serializers.CharField(help_text="urn:concord:problem: and the code")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    errors = FieldError(many=True)  # type: ignore[assignment]  # as `fields` above
    error = ErrorDetail()


_ERROR_DESCRIPTIONS = {
    400: "Something is not acceptable; nothing was changed",
    401: "No valid token or session",
    403: "The caller's role, or the token's scope, does not allow this",
    404: "No such project for this caller, or nothing of this key in it",
    409: "Changed by somebody else at the same moment; nothing was stored",
    413: "The body is too large",
    415: "The body is not plain JSON",
    422: "The Idempotency-Key was sent with another request",
    429: "Too many requests (of a proxy before the site); Retry-After says when to try again",
    503: "The database cannot take this now",
}
READ_ERROR_STATUSES = (400, 401, 403, 404, 429)
WRITE_ERROR_STATUSES = (400, 401, 403, 404, 409, 413, 415, 429, 503)


def build_error_responses(statuses: Sequence[int]) -> dict[tuple[int, str], OpenApiResponse]:
    return {
        (status, MEDIA_TYPE): OpenApiResponse(Problem, description=_ERROR_DESCRIPTIONS[status])
        for status in statuses
    }


def build_parameter(
    name: str, description: str, *, enum: Sequence[str] | None = None, required: bool = False
) -> OpenApiParameter:
    return OpenApiParameter(
        name, OpenApiTypes.STR, description=description, enum=enum, required=required
    )


def build_attribute_parameter(description: str) -> OpenApiParameter:
    """Build the OpenAPI parameter attributes[NAME]=VALUE, an object of names and values."""
    return OpenApiParameter(
        "attributes",
        {"type": "object", "additionalProperties": {"type": "string"}},
        style="deepObject",
        explode=True,
        description=description,
    )


PAGE_PARAMETERS = [
    OpenApiParameter(
        "cursor",
        OpenApiTypes.STR,
        description=f"From `next`; {MAX_PARAMETER_LENGTH} characters at most",
    ),
    OpenApiParameter(
        "page_size",
        {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_SIZE},
        description="Number of results",
    ),
]


def build_flag_parameter(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.BOOL, description=description)


def build_since_parameter(description: str) -> OpenApiParameter:
    return OpenApiParameter("since", OpenApiTypes.DATETIME, description=description)


def build_ordering_parameter(
    orderings: Mapping[str, str],
    default: str = "Oldest first when left out",
    *,
    further: Sequence[str] = (),
) -> OpenApiParameter:
    """Build the OpenAPI parameter ``ordering`` of a list (core.api.pagination.RowOrder).

    ``default`` describes the order without it; ``further``: values that name no column.
    """
    values = [*list_ordering_values(orderings), *further]
    return build_parameter("ordering", f"{default}; with `-` descending", enum=values)


QUESTION_PARAMETER = build_parameter(
    "question", "Key of the question; may be left out where the project has one"
)

DRY_RUN_PARAMETER = build_flag_parameter("dry_run", "true: only check the rows, and store nothing")


def build_page_serializer(name: str, result: Any) -> Any:
    """Build the serializer of a page: ``next``, and ``results`` of the class ``result``."""
    return inline_serializer(
        f"{name}Page",
        {
            "next": serializers.URLField(allow_null=True, help_text="Address of the next page"),
            "results": result(many=True),
        },
    )


def build_one_or_many_schema(name: str, row: Any) -> Any:
    """Return the schema of a body that is one row or a list of rows."""
    return PolymorphicProxySerializer(
        component_name=name,
        serializers=[row, row(many=True)],
        resource_type_field_name=None,
        many=False,
    )


class PendingResult(serializers.Serializer):
    computed_at = serializers.DateTimeField(
        allow_null=True, help_text="null: a worker is at it; ask again in a second"
    )


def describe_get(
    operation_id: str,
    summary: str,
    response: Any,
    parameters: Sequence[OpenApiParameter] = (),
    *,
    may_be_pending: bool = False,
) -> Any:
    """Decorate a GET of an API view with its description for OpenAPI.

    ``response``: the serializer of the body. ``may_be_pending`` adds the 202 of a result that a
    worker is still computing.
    """
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        parameters=list(parameters),
        responses={
            200: response,
            **({202: PendingResult} if may_be_pending else {}),
            **build_error_responses(READ_ERROR_STATUSES),
        },
    )


def describe_write(
    operation_id: str,
    summary: str,
    *,
    body: Any,
    response: Any,
    status: int = 200,
    parameters: Sequence[OpenApiParameter] = (),
    examples: Mapping[str, Any] | None = None,
) -> Any:
    """Decorate a POST or PATCH of an API view with its description for OpenAPI.

    ``body`` and ``response``: their serializers; ``status``: of the response. ``examples``: bodies
    by the name of the example.
    """
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        parameters=list(parameters),
        examples=[
            OpenApiExample(name, value=value, request_only=True)
            for name, value in (examples or {}).items()
        ],
        request=body,
        responses={status: response, **build_error_responses(WRITE_ERROR_STATUSES)},
    )


class DeletedOut(serializers.Serializer):
    deleted = serializers.BooleanField()


def describe_delete(operation_id: str, summary: str, response: Any) -> Any:
    """Decorate a DELETE of an API view with its description for OpenAPI.

    ``response``: the serializer of the body.
    """
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        responses={200: response, **build_error_responses((*READ_ERROR_STATUSES, 409, 503))},
    )


class FileView(APIView):
    """A view whose file may be requested with any ``Accept`` header."""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        return super().perform_content_negotiation(request, force=True)


def describe_file(
    operation_id: str,
    summary: str,
    content_types: Mapping[str, str],
    parameters: Sequence[OpenApiParameter] = (),
    *,
    default: Any = None,
) -> Any:
    """Decorate a GET that responds with a file, with its description for OpenAPI.

    ``content_types``: {value of the parameter ``format``: content type}. ``default``: the
    serializer of the JSON response without that parameter, None if there is none; it comes first,
    because generated clients read the first type of a response.
    """
    responses: dict[Any, Any] = {} if default is None else {(200, "application/json"): default}
    for kind, content_type in content_types.items():
        file_type = OpenApiTypes.BINARY if kind == "parquet" else OpenApiTypes.STR
        responses[200, content_type.partition(";")[0]] = file_type
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        parameters=[
            build_parameter("format", "Format of the file", enum=list(content_types)),
            *parameters,
        ],
        responses={**responses, **build_error_responses(READ_ERROR_STATUSES)},
    )


# Part of the path -> area to which its operations belong.
_AREAS = {
    **dict.fromkeys(
        ("archive", "copy", "invitations", "questions", "scales", "weights"), "projects"
    ),
    **dict.fromkeys(("next", "export", "exports", "imports"), "ratings"),
    **dict.fromkeys(("appeals", "label-rules", "second-opinions"), "labels"),
    "deliveries": "webhooks",
    "exam": "exams",
    "interventions": "gold",
    "media": "items",
}
_RETRY_AFTER_HEADER = {
    "description": "Seconds until another request is useful",
    "schema": {"type": "integer"},
}
_LOCATION_HEADER = {
    "description": "Address of the new object, where it has one",
    "schema": {"type": "string", "format": "uri"},
}
_IDEMPOTENCY_KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Any text that no other request has: a repeated request gets the first response",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}


def complete_schema(result: Any, generator: Any, request: Any, public: bool) -> Any:
    """Complete the schema (a drf-spectacular hook): tags by area, required bodies, descriptions.

    Generated clients have one module for each tag.
    """
    for path, operations in result["paths"].items():
        parts = [part for part in path.split("/")[3:] if part and not part.startswith("{")]
        area = parts[1] if parts[0] in ("projects", "quality") and len(parts) > 1 else parts[0]
        area = parts[2] if area == "quality" else area
        area = _AREAS.get(area, area)
        for operation in operations.values():
            operation["tags"] = [area]
            if "requestBody" in operation:
                operation["requestBody"]["required"] = True
            for status, response in operation["responses"].items():
                response["description"] = response.get("description") or operation["summary"]
                if status in ("202", "429", "503"):
                    response["headers"] = {"Retry-After": _RETRY_AFTER_HEADER}
                if status == "201":
                    response["headers"] = {"Location": _LOCATION_HEADER}
        if "post" in operations:
            _describe_idempotency(operations["post"])
    return result


def _describe_idempotency(operation: dict[str, Any]) -> None:
    operation.setdefault("parameters", []).append(_IDEMPOTENCY_KEY_PARAMETER)
    responses = operation["responses"]
    responses["422"] = responses["400"] | {"description": _ERROR_DESCRIPTIONS[422]}
