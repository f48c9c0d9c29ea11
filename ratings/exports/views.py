"""Streamed export of the current ratings as a file."""

from __future__ import annotations

from collections.abc import Sequence

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
def export_ratings(request: HttpRequest, project_id: int, kind: str) -> HttpResponseBase:
    """Stream a file of the project's current ratings in the requested format."""
    project, questions = _get_questions(request, project_id)
    if kind == "parquet" and not parquet_file.has_parquet():
        return parquet_file.build_missing_response()
    return stream_ratings(project, questions, kind)


def stream_ratings(
    project: Project, questions: Sequence[Question], kind: str
) -> StreamingHttpResponse:
    """Return the response that streams the ratings of the questions in a format of FORMATS."""
    security_log.log_event("export", exported="ratings", kind=kind)
    iter_file, content_type = rating_files.FORMATS[kind]
    file_name = f"{slugify(project.name) or 'project'}-{project.pk}.{kind}"
    headers: dict[str, object] = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    return StreamingHttpResponse(
        iter_file(rating_files.iter_rows(questions)), content_type=content_type, headers=headers
    )


def _get_questions(request: HttpRequest, project_id: int) -> tuple[Project, list[Question]]:
    """Return the project and its questions, or only the one that ``?question=KEY`` names."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    key = request.GET.get("question")
    if key is None:
        return project, list(project.questions.all())
    return project, [get_object_or_404(project.questions, key=key)]
