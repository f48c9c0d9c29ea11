"""The pages of errors. API addresses get the API's error shape instead."""

from __future__ import annotations

import sys

from django.core.exceptions import BadRequest
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from groundwork.rest.errors import Unavailable, body


def answer(request: HttpRequest, status: int, message: str) -> HttpResponse:
    """The page of an error in words, or the API's shape of it."""
    if request.path.startswith("/api/"):
        return JsonResponse(body(status, message), status=status)
    return render(request, "error.html", {"status": status, "message": message}, status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # Only our own refusals say in words what is allowed.
    said = str(exception) if type(exception) is BadRequest else ""
    return answer(request, 400, said or _("This request could not be read."))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return answer(request, 403, str(exception or "") or _("You may not do this."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    text = _("This form was not sent from a page of this site, or too long ago. Load it anew.")
    return answer(request, 403, text)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # The same words for what does not exist and what is not yours.
    return answer(request, 404, _("There is nothing here, or it is not yours to see."))


def server_error(request: HttpRequest) -> HttpResponse:
    """500; or 503 where it was the database that failed, whether a view or what stands before it
    asked."""
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return _unavailable(request)
    return answer(
        request,
        500,
        _("Something went wrong on our side. Nothing that was answered before is lost."),
    )


def _unavailable(request: HttpRequest) -> HttpResponse:
    if request.path.startswith("/api/"):
        response: HttpResponse = JsonResponse(body(503, Unavailable.default_detail), status=503)
    else:
        # Nothing here may ask the database: who asks, and what they chose, stands there.
        with translation.override(translation.get_language_from_request(request)):
            text = _(
                "The database cannot be reached, or takes nothing at the moment. Nothing that was"
                " answered before is lost; what you sent just now was not stored. Try again in a"
                " minute."
            )
            page = render_to_string("error.html", {"status": 503, "message": text})
        response = HttpResponse(page, status=503)
    response["Retry-After"] = str(Unavailable.wait)
    response["Cache-Control"] = "no-store"
    return response
