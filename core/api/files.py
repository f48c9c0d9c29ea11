"""API views that respond with a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from .schema import READ_ERROR_STATUSES, build_error_responses, build_parameter


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

    ``content_types``: {format: content type}. ``default``: the JSON response without a format, if
    there is one; it comes first, because generated clients read the first type of a response.
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
