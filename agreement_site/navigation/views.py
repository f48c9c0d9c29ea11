"""The search page, and the style guide of the pages' building blocks."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.text import parse_id
from metrics.views.common.getting_started import SetupStep
from projects.permissions import get_project

from . import search

# Example values for the blocks that show numbers.
STYLE_GUIDE_CONTEXT: dict[str, Any] = {
    "levels": range(6),
    "reading": {"value": 0.43, "low": 0.32, "high": 0.54},
    "wide": {"value": 0.1, "low": -0.3, "high": 0.5},
    "course": [0.31, 0.42, None, 0.4, 0.52, 0.61],
    "steps": [
        SetupStep("Guidelines", "written", done=True, action="", url=""),
        SetupStep("People", "1", done=False, action="Invite people", url="#buttons"),
    ],
    "options": [{"label": "fine", "key": "1"}, {"label": "toxic", "key": "2"}],
}


@login_required
@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """Search for ``q`` in the project with the id ``project``.

    The palette gets the results alone.
    """
    text = request.GET.get("q", "").strip()
    project_text = request.GET.get("project", "")
    project_id = parse_id(project_text)
    if len(text) > search.MAX_QUERY_LENGTH:
        raise BadRequest(_("Use a shorter search."))
    if project_text and project_id is None:
        raise BadRequest(_("project must be a project number."))
    project = None if project_id is None else get_project(request.user, project_id)
    context: dict[str, Any] = {
        "text": text,
        "results": search.search_palette(request.user, text, project),
        "project": project,
    }
    is_palette = request.headers.get("X-Palette") == "1"
    response = render(request, "_search_results.html" if is_palette else "search.html", context)
    patch_vary_headers(response, ["X-Palette"])
    return response


@login_required
@require_safe
def style_guide(request: HttpRequest) -> HttpResponse:
    """Show every building block of the pages in its states, to staff who write pages."""
    if not request.user.is_staff:
        raise Http404
    return render(request, "style.html", STYLE_GUIDE_CONTEXT)
