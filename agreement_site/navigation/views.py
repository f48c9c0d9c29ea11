"""Finding by name, and the page that shows the parts pages are made of."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from metrics.views.common.getting_started import Step
from projects.permissions import get_project

from . import search

# What stands in the blocks that are made of numbers.
STYLE: dict[str, Any] = {
    "levels": range(6),
    "reading": {"value": 0.43, "low": 0.32, "high": 0.54},
    "wide": {"value": 0.1, "low": -0.3, "high": 0.5},
    "course": [0.31, 0.42, None, 0.4, 0.52, 0.61],
    "steps": [
        Step("Guidelines", "written", done=True, action="", url=""),
        Step("People", "1", done=False, action="Invite people", url="#buttons"),
    ],
    "options": [{"label": "fine", "key": "1"}, {"label": "toxic", "key": "2"}],
}


@login_required
@require_safe
def find(request: HttpRequest) -> HttpResponse:
    """What goes by ``q``, in the project that ``project`` names by its number; the lines alone
    where the palette asks."""
    text = request.GET.get("q", "").strip()
    number = request.GET.get("project", "")
    if len(text) > search.LONGEST:
        raise BadRequest(_("Search for a shorter text."))
    if number and not (number.isascii() and number.isdecimal() and len(number) <= 18):
        raise BadRequest(_("project is the number of a project."))
    project = get_project(request.user, int(number)) if number else None
    context: dict[str, Any] = {
        "text": text,
        "found": search.find(request.user, text, project),
        "project": project,
    }
    alone = request.headers.get("X-Palette") == "1"
    response = render(request, "_search_results.html" if alone else "search.html", context)
    patch_vary_headers(response, ["X-Palette"])
    return response


@login_required
@require_safe
def style(request: HttpRequest) -> HttpResponse:
    """Every block of the pages in its states, for those who write pages."""
    if not request.user.is_staff:
        raise Http404
    return render(request, "style.html", STYLE)
