"""Errors of the API, in one format: problem details (RFC 9457).

Beside the members of the RFC, a problem has ``errors``, a code for each invalid row and field, and
``error``: the code, message and fields of the problem.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from django.core.exceptions import PermissionDenied
from django.db import DataError, IntegrityError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

logger = logging.getLogger(__name__)

CODES = {
    400: "invalid",
    401: "not_authenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "idempotency_key_reused",
    429: "throttled",
    503: "unavailable",
}
TITLES = {
    400: "The request is invalid",
    401: "The caller is unknown",
    403: "The caller may not do this",
    404: "There is no such object",
    405: "The address has no such method",
    406: "The response has another format",
    409: "Another request changed the same object",
    413: "The body is too large",
    415: "The body has another format",
    422: "Another request has used this Idempotency-Key",
    429: "Too many requests",
    503: "The database is unavailable",
}
MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class RowProblem:
    """A problem of one row of a request.

    ``code`` is for programs and ``message`` for people; ``field`` is None if the problem is that of
    the whole row.
    """

    code: str
    field: str | None
    message: str


class ErrorEntry(TypedDict):
    """An entry of the list ``errors`` in the body of an error response."""

    row: Any  # number of the row, or None
    field: str | None
    code: str
    detail: str


INVALID_FIELDS = "The request has invalid fields."
INVALID_PARAMETERS = "The query has invalid parameters."


class BadRequest(exceptions.APIException):
    """Error 400 of the API: fields or rows of the request are not valid.

    ``fields`` maps the name of a field to its message; the value of a list is {index from 0:
    message}. ``rows`` has the problems of each row by its index from 0, or by None if the request
    is a single object.
    """

    status_code = 400

    def __init__(
        self,
        message: str,
        *,
        fields: Mapping[str, object] | None = None,
        rows: Mapping[Any, Sequence[RowProblem]] | None = None,
    ) -> None:
        super().__init__(message)
        self.fields: Mapping[str, Any] = fields or {}
        self.rows = rows or {}


class KeyReused(exceptions.APIException):
    """Error 422: the Idempotency-Key belongs to an earlier request with another body or address."""

    status_code = 422
    default_detail = (
        "This Idempotency-Key was sent with another request. Use a new key for each request, and"
        " the same key only to repeat one."
    )


class Conflict(exceptions.APIException):
    """Error 409: another request has created or deleted the same row."""

    status_code = 409
    default_detail = "Somebody changed this at the same moment. Nothing was stored; try again."


class Unavailable(exceptions.APIException):
    """Error 503: the database is full, busy or unreachable, and nothing was stored."""

    status_code = 503
    default_detail = "The database cannot take this now. Nothing was stored; try again later."
    wait = 2  # seconds; becomes the header Retry-After


def build_error_body(
    status: int,
    message: str,
    fields: Mapping[str, object] | None = None,
    errors: Sequence[ErrorEntry] = (),
) -> dict[str, object]:
    """Return the JSON body of an error response: problem details (RFC 9457).

    ``fields``: as in BadRequest.
    """
    code = CODES.get(status, "error" if status < 500 else "server_error")
    return {
        "type": f"urn:concord:problem:{code}",
        "title": TITLES.get(status, "The request failed"),
        "status": status,
        "detail": message,
        "errors": list(errors),
        "error": {"code": code, "message": message, "fields": fields or {}},
    }


def build_error_response(status: int, message: str) -> JsonResponse:
    """Build an error response outside of Django REST framework, as in views and middleware."""
    return JsonResponse(build_error_body(status, message), status=status, content_type=MEDIA_TYPE)


def handle_api_error(error: Exception, context: dict[str, object]) -> Response | None:
    """Return the error response for an exception of an API view (DRF's EXCEPTION_HANDLER).

    ``context`` is DRF's. None for an exception that is no error of the request: it becomes the
    site's 500, whose body has the same shape.
    """
    error = _convert_to_api_exception(error)
    response = exception_handler(error, context)
    if response is None or not isinstance(error, exceptions.APIException):
        return None
    message, errors = str(error.detail), list[ErrorEntry]()
    fields: Mapping[str, object] = {}
    if isinstance(error, BadRequest):
        fields, errors = error.fields, list(_iter_bad_request_errors(error))
    elif isinstance(error, exceptions.ValidationError):
        message, fields = INVALID_FIELDS, _format_fields(error.detail)
        errors = list(_iter_field_errors(error.detail))
    elif isinstance(error, exceptions.NotAuthenticated):
        message = "Send a token in the header 'Authorization: Bearer TOKEN'."
    response.data = build_error_body(response.status_code, message, fields, errors)
    response.content_type = MEDIA_TYPE
    return response


def _iter_bad_request_errors(error: BadRequest) -> Iterator[ErrorEntry]:
    for row, problems in error.rows.items():
        for problem in problems:
            yield ErrorEntry(
                row=row, field=problem.field, code=problem.code, detail=problem.message
            )
    if not error.rows:
        yield from _iter_field_errors(error.fields)


def _iter_field_errors(detail: Any, path: tuple[str, ...] = ()) -> Iterator[ErrorEntry]:
    """Yield an entry for each message in the nested errors of a serializer.

    ``path``: the names and indexes that lead to ``detail``; an entry has them joined by slashes.
    """
    if isinstance(detail, dict):
        for name, value in detail.items():
            yield from _iter_field_errors(value, (*path, str(name)))
    elif isinstance(detail, list):
        for index, value in enumerate(detail):
            own_path = path if isinstance(value, str) else (*path, str(index))
            yield from _iter_field_errors(value, own_path)
    else:
        code = getattr(detail, "code", CODES[400])
        field = "/".join(path) or None
        yield ErrorEntry(row=None, field=field, code=code, detail=str(detail))


def _convert_to_api_exception(error: Exception) -> Exception:
    if isinstance(error, Http404):
        return exceptions.NotFound(str(error) or None)
    if isinstance(error, PermissionDenied):
        return exceptions.PermissionDenied(str(error) or None)
    if isinstance(error, IntegrityError):
        logger.warning("refused by the database: %s", error)
        return Conflict()
    if isinstance(error, DataError):
        logger.warning("refused by the database: %s", error)
        return BadRequest("The database cannot hold a value of this request. Nothing was stored.")
    if isinstance(error, OperationalError):
        logger.error("the database failed: %s", error)
        return Unavailable()
    return error


def _format_fields(detail: Any) -> dict[str, object]:
    if isinstance(detail, dict):
        return {name: _flatten_detail(value) for name, value in detail.items()}
    return {"body": _flatten_detail(detail)}


def _flatten_detail(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _flatten_detail(part) for key, part in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(part, str) for part in value):
            return " ".join(str(part) for part in value)
        return {
            str(index): flattened
            for index, part in enumerate(value)
            if (flattened := _flatten_detail(part))
        }
    return str(value)


@csrf_exempt  # it changes nothing
def api_not_found(request: HttpRequest, path: str = "") -> JsonResponse:
    """Answer 404 for an unknown address below /api/."""
    hint = "" if request.path.endswith("/") else " Addresses end with a slash."
    return build_error_response(404, f"No such address.{hint}")
