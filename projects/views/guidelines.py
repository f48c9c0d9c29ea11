"""The guidelines as every member may read them, with their older versions. Nobody changes these
here."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from projects.guidelines import changes_between
from projects.models import GuidelineVersion, Project
from projects.permissions import get_project


@login_required
@never_cache
@require_safe
def guidelines(request: HttpRequest, project_id: int, number: int | None = None) -> HttpResponse:
    """What raters are to go by: now, or in version ``number``, and what that version changed.

    ``?known=NUMBER`` is how an open desk asks whether there is a newer one: 204 when there is none.
    """
    project = get_project(request.user, project_id)
    if request.GET.get("known") == str(project.guidelines_version):
        return HttpResponse(status=204)
    shown = project.guidelines_version if number is None else number
    known = project.guidelines_version
    text = project.guidelines if shown == known else _text(project, shown)
    if text is None:
        raise Http404
    context = {
        "project": project,
        "versions": project.guideline_versions.select_related("by")
        .defer("text")
        .order_by("-number"),
        "number": shown,
        "is_current": shown == known,
        "text": text,
        "changes": _changes(project, shown, text),
    }
    return render(request, "projects/guidelines.html", context)


def _text(project: Project, number: int) -> str | None:
    """None where the text stands elsewhere: in the project that ratings were exported from."""
    found = GuidelineVersion.objects.filter(project=project, number=number)
    return found.values_list("text", flat=True).first()


def _changes(project: Project, number: int, text: str) -> list[tuple[str, str]] | None:
    before = _text(project, number - 1) if number > 1 else None
    return [] if before is None else changes_between(before, text)
