"""Errors of the API, in one shape: {"error": {"code", "message", "fields"}}."""

from __future__ import annotations

import logging
from typing import Any

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
    429: "throttled",
    503: "unavailable",
}


class BadRequest(exceptions.APIException):
    """Error 400 of the API, which names the invalid fields.

    ``fields`` maps a field's name to a message, or to messages by place (rows by number).
    """

    status_code = 400

    def __init__(self, message: str, *, fields: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.fields = fields or {}


class Conflict(exceptions.APIException):
    """Error 409: another request created or deleted the same row meanwhile."""

    status_code = 409
    default_detail = "Somebody changed this at the same moment. Nothing was stored; try again."


class Unavailable(exceptions.APIException):
    """Error 503: the database is full, busy or unreachable, and nothing was stored."""

    status_code = 503
    default_detail = "The database cannot take this now. Nothing was stored; try again later."
    wait = 2  # seconds; becomes the header Retry-After


def build_error_body(
    status: int, message: str, fields: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the JSON body of an error response."""
    code = CODES.get(status, "error" if status < 500 else "server_error")
    return {"error": {"code": code, "message": message, "fields": fields or {}}}


def handle_api_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the response for an exception of an API view: DRF's exception handler.

    Return None for an unknown exception, which becomes the site's 500 in the same shape.
    """
    error = _as_api_exception(error)
    response = exception_handler(error, context)
    if response is None or not isinstance(error, exceptions.APIException):
        return None
    if isinstance(error, BadRequest):
        message, fields = str(error.detail), error.fields
    elif isinstance(error, exceptions.ValidationError):
        message, fields = "The request has invalid fields.", _format_fields(error.detail)
    else:
        message, fields = str(error.detail), {}
    response.data = build_error_body(response.status_code, message, fields)
    return response


def _as_api_exception(error: Exception) -> Exception:
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


def _format_fields(detail: Any) -> dict[str, Any]:
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
    return JsonResponse(build_error_body(404, f"No such address.{hint}"), status=404)
