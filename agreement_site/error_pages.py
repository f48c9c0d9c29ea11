"""Views of error pages; for API paths they return the API's error body."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from django.core.exceptions import BadRequest
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.api.errors import Unavailable, build_error_response
from core.text import get_list_separator
from projects.models import Project
from projects.permissions import get_leads, get_project

MAX_LEADS = 3  # maximum number of leads that a page names
PROJECT_PATH = re.compile(r"/projects/([0-9]{1,19})/")  # matches paths without a route too
LIST_PAGES = {  # URL name of a list page -> text of the link to it
    "items": gettext_lazy("All items"),
    "raters": gettext_lazy("All raters"),
    "pair": gettext_lazy("All pairs"),
    "questions": gettext_lazy("All questions"),
}


def render_error(
    request: HttpRequest, status: int, message: str, hints: Sequence[str] = (), **extra_context: Any
) -> HttpResponse:
    """Return an error page, or for API paths the API's error body.

    ``hints``: sentences on what the user can do; ``extra_context``: further variables of the page.
    """
    if request.path.startswith("/api/"):
        return build_error_response(status, message)
    context = {"status": status, "message": message, "hints": hints, **extra_context}
    return render(request, "error.html", context, status=status)


def _find_project(request: HttpRequest) -> Project | None:
    """Return the project of the path if the user is a member, for the page's sidebar, else None.

    Other users do not learn that the project exists.
    """
    match, user = PROJECT_PATH.match(request.path), getattr(request, "user", None)
    if match is None or user is None or not user.is_authenticated:
        return None
    try:
        return get_project(user, int(match[1]))
    except Http404:
        return None


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the page for status 400, with the message if the exception is a BadRequest."""
    # Only our own exceptions have messages for users.
    own_message = str(exception) if type(exception) is BadRequest else ""
    message = own_message or _("Invalid request.")
    return render_error(request, 400, message, project=_find_project(request))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the page for status 403, with the exception's message, and whom to ask."""
    message = str(exception or "") or _("You aren't allowed to do this.")
    project = _find_project(request)
    hints = _build_contact_hints(request, project) if project else []
    return render_error(request, 403, message, hints, project=project)


def _build_contact_hints(request: HttpRequest, project: Project) -> list[str]:
    """Return a hint that names the leads other than the user, or [] if there are none.

    Call it for members of the project only, because others may not learn its leads.
    """
    leads = get_leads(project).exclude(user=request.user.pk).select_related("user")
    names = [lead.user.get_full_name() or lead.user.get_username() for lead in leads[:MAX_LEADS]]
    if not names:
        return []
    return [_("Ask a project lead: %(names)s.") % {"names": get_list_separator().join(names)}]


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the page for a failed CSRF check."""
    message = _("This form expired. Reload and try again.")
    signed_in = request.user.is_authenticated
    hints = [] if signed_in else [_("Your session expired. Sign in.")]
    return render_error(request, 403, message, hints)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the page for status 404."""
    mistyped = _("Check the address.")
    if project := _find_project(request):
        hint, list_url_name = (getattr(exception, name, "") for name in ("hint", "list_url_name"))
        hints = [hint] if hint else []
        if list_url_name or not hint:
            hints.append(mistyped)
        list_link = (
            (LIST_PAGES[list_url_name], reverse(list_url_name, args=[project.pk]))
            if list_url_name
            else None
        )
        return render_error(
            request, 404, _("Page not found."), hints, project=project, lists=list_link
        )
    # The same text, whether the page does not exist or is not the user's.
    message = _("Page not found, or you don't have access.")
    return render_error(request, 404, message, [mistyped])


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the page for status 500, or 503 when the database failed.

    The error may come from a view or from a middleware before it.
    """
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return _render_unavailable(request)
    return render_error(
        request,
        500,
        _("Something went wrong. Saved work is safe."),
    )


def _render_unavailable(request: HttpRequest) -> HttpResponse:
    if request.path.startswith("/api/"):
        response: HttpResponse = build_error_response(503, Unavailable.default_detail)
    else:
        # The database must not be queried here, so neither user nor preferences are known.
        with translation.override(translation.get_language_from_request(request)):
            text = _("Not saved: the database isn't available.")
            page = render_to_string("error.html", {"status": 503, "message": text})
        response = HttpResponse(page, status=503)
    response["Retry-After"] = str(Unavailable.wait)
    response["Cache-Control"] = "no-store"
    return response
