"""The way out: the standing ratings as a file, streamed."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from core import security_log
from projects.models import Member, Project, Question
from projects.permissions import get_project
from ratings.files import parquet_file

from . import rating_files


@login_required
@require_GET
def export(request: HttpRequest, project_id: int, kind: str) -> HttpResponseBase:
    project, questions = _asked(request, project_id)
    if kind == "parquet" and not parquet_file.has_parquet():
        return parquet_file.missing()
    security_log.event("export", what_of="ratings", kind=kind)
    make, content_type = rating_files.KINDS[kind]
    name = f"{slugify(project.name) or 'project'}-{project.pk}.{kind}"
    headers: dict[str, Any] = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(
        make(rating_files.rows(questions)), content_type=content_type, headers=headers
    )


def _asked(request: HttpRequest, project_id: int) -> tuple[Project, list[Question]]:
    """The project and its questions, or the one that ``?question=KEY`` names."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    key = request.GET.get("question")
    if key is None:
        return project, list(project.questions.all())
    return project, [get_object_or_404(project.questions, key=key)]
