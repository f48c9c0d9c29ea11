"""The pages of errors. API addresses get the API's error shape instead."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from django.core.exceptions import BadRequest
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from groundwork.rest.errors import Unavailable, body
from projects.models import Member

LEADS = 3  # who are named


def answer(
    request: HttpRequest, status: int, message: str, hints: Sequence[str] = ()
) -> HttpResponse:
    """The page of an error in words, or the API's shape of it; ``hints``: what may be done."""
    if request.path.startswith("/api/"):
        return JsonResponse(body(status, message), status=status)
    context = {"status": status, "message": message, "hints": hints}
    return render(request, "error.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # Only our own refusals say in words what is allowed.
    said = str(exception) if type(exception) is BadRequest else ""
    return answer(request, 400, said or _("This request could not be read."))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    message = str(exception or "") or _("You may not do this.")
    return answer(request, 403, message, _whom_to_ask(request))


def _whom_to_ask(request: HttpRequest) -> list[str]:
    """The leads of the page's project, told to its members alone."""
    match, user = request.resolver_match, getattr(request, "user", None)
    number = match.kwargs.get("project_id") if match else None
    if number is None or user is None or not user.is_authenticated:
        return []
    members = Member.objects.filter(project=number)
    if not members.filter(user=user.pk).exists():
        return []
    leads = members.filter(role=Member.Role.LEAD).exclude(user=user.pk).select_related("user")
    names = [lead.user.get_full_name() or lead.user.get_username() for lead in leads[:LEADS]]
    if not names:
        return []
    return [_("Ask who leads this project: %(names)s.") % {"names": ", ".join(names)}]


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    text = _("This form was not sent from a page of this site, or too long ago. Load it anew.")
    signed_in = request.user.is_authenticated
    hints = [] if signed_in else [_("Nobody is signed in here: your session may be over.")]
    return answer(request, 403, text, hints)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # The same words for what does not exist and what is not yours.
    hints = [
        _("The address may be mistyped, or what it named was renamed or deleted."),
        _("You may be signed in by another account than the one that was invited."),
    ]
    if hint := getattr(exception, "hint", ""):  # of an address within what the caller may see
        hints = [hint]
    return answer(request, 404, _("There is nothing here, or it is not yours to see."), hints)


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
