"""The pages of errors. API addresses get the API's error shape instead."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from django.core.exceptions import BadRequest
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.api.errors import Unavailable, body
from projects.models import Member, Project
from projects.permissions import get_project

LEADS = 3  # who are named
OF_PROJECT = re.compile(r"/projects/([0-9]{1,19})/")  # also of an address that leads nowhere
LISTS = {  # pages that list what an address may ask for
    "items": gettext_lazy("All items"),
    "raters": gettext_lazy("All raters"),
    "pair": gettext_lazy("All pairs"),
    "questions": gettext_lazy("All questions"),
}


def answer(
    request: HttpRequest, status: int, message: str, hints: Sequence[str] = (), **more: Any
) -> HttpResponse:
    """The page of an error in words, or the API's shape of it; ``hints``: what may be done."""
    if request.path.startswith("/api/"):
        return JsonResponse(body(status, message), status=status)
    context = {"status": status, "message": message, "hints": hints, **more}
    return render(request, "error.html", context, status=status)


def _project_of(request: HttpRequest) -> Project | None:
    """The project that the address is of, where whoever asks is a member: the page keeps its frame.
    Nobody else learns that there is one."""
    below, user = OF_PROJECT.match(request.path), getattr(request, "user", None)
    if below is None or user is None or not user.is_authenticated:
        return None
    try:
        return get_project(user, int(below[1]))
    except Http404:
        return None


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # Only our own refusals say in words what is allowed.
    said = str(exception) if type(exception) is BadRequest else ""
    message = said or _("This request could not be read.")
    return answer(request, 400, message, project=_project_of(request))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    message = str(exception or "") or _("You may not do this.")
    project = _project_of(request)
    hints = _whom_to_ask(request, project) if project else []
    return answer(request, 403, message, hints, project=project)


def _whom_to_ask(request: HttpRequest, project: Project) -> list[str]:
    """The leads of the page's project, told to its members alone."""
    leads = Member.objects.filter(project=project, role=Member.Role.LEAD)
    leads = leads.exclude(user=request.user.pk).select_related("user")
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
    mistyped = _("The address may be mistyped, or what it named was renamed or deleted.")
    if project := _project_of(request):
        hint, listed_at = (getattr(exception, name, "") for name in ("hint", "listed_at"))
        hints = [hint] if hint else []
        if listed_at or not hint:
            hints.append(mistyped)
        lists = (LISTS[listed_at], reverse(listed_at, args=[project.pk])) if listed_at else None
        return answer(
            request, 404, _("There is nothing here."), hints, project=project, lists=lists
        )
    # The same words for what does not exist and what is not yours.
    account = _("You may be signed in by another account than the one that was invited.")
    message = _("There is nothing here, or it is not yours to see.")
    return answer(request, 404, message, [mistyped, account])


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
