"""The pages of errors. API addresses get the API's error shape instead."""

from __future__ import annotations

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from groundwork.rest.errors import body


def _answer(request: HttpRequest, status: int, message: str) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse(body(status, message), status=status)
    return render(request, "error.html", {"status": status, "message": message}, status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # Only our own refusals say in words what is allowed.
    said = str(exception) if type(exception) is BadRequest else ""
    return _answer(request, 400, said or _("This request could not be read."))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _answer(request, 403, str(exception or "") or _("You may not do this."))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # The same words for what does not exist and what is not yours.
    return _answer(request, 404, _("There is nothing here, or it is not yours to see."))


def server_error(request: HttpRequest) -> HttpResponse:
    return _answer(
        request,
        500,
        _("Something went wrong on our side. Nothing that was answered before is lost."),
    )
