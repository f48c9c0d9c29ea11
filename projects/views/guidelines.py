"""View of the guidelines and their earlier versions, for all members."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from projects.guidelines import compare_versions
from projects.models import GuidelineVersion, Project
from projects.permissions import get_project


@login_required
@never_cache
@require_safe
def show_guidelines(
    request: HttpRequest, project_id: int, number: int | None = None
) -> HttpResponse:
    """Show the current guidelines, or version ``number``, and what that version changed.

    An open annotation page asks with ``?version=NUMBER`` if there is a newer version: 204 if there
    is none.
    """
    project = get_project(request.user, project_id)
    if request.GET.get("version") == str(project.guidelines_version):
        return HttpResponse(status=204)
    shown_number = project.guidelines_version if number is None else number
    current_number = project.guidelines_version
    text = (
        project.guidelines if shown_number == current_number else _get_text(project, shown_number)
    )
    if text is None:
        raise Http404
    context = {
        "project": project,
        "versions": project.guideline_versions.select_related("by")
        .defer("text")
        .order_by("-number"),
        "number": shown_number,
        "is_current": shown_number == current_number,
        "text": text,
        "changes": _compare_with_previous(project, shown_number, text),
    }
    return render(request, "projects/guidelines.html", context)


def _get_text(project: Project, number: int) -> str | None:
    """Return the text of a version, or None if it is not stored here.

    Then only the project that ratings were exported from has it.
    """
    versions = GuidelineVersion.objects.filter(project=project, number=number)
    return versions.values_list("text", flat=True).first()


def _compare_with_previous(
    project: Project, number: int, text: str
) -> list[tuple[str, str]] | None:
    previous_text = _get_text(project, number - 1) if number > 1 else None
    return [] if previous_text is None else compare_versions(previous_text, text)
