"""Pages of exports: direct downloads, and files that a worker writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import get_conditional_response
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST, require_safe

from core import security_log
from core.api.errors import BadRequest
from projects.models import Member, Project, Question
from projects.permissions import get_project
from ratings.files import export_files, parquet_file
from ratings.files.byte_ranges import build_file_response
from ratings.models import ExportRun

from . import rating_files, services
from .documents import build_disposition, stream_document


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
    return stream_document(rating_files.build_ratings_document(project, questions, kind))


def _get_questions(request: HttpRequest, project_id: int) -> tuple[Project, list[Question]]:
    """Return the project and its questions; with ``?question=KEY``, only this question."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    key = request.GET.get("question")
    if key is None:
        return project, list(project.questions.all())
    return project, [get_object_or_404(project.questions, key=key)]


class ExportForm(forms.Form):
    """The buttons that start an export; they offer no other values."""

    kind = forms.CharField()
    format = forms.CharField()
    question = forms.CharField(required=False)
    min_confidence = forms.CharField(required=False)


@login_required
@require_POST
def start_export(request: HttpRequest, project_id: int) -> HttpResponse:
    """Start the export that a button names."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    form = ExportForm(request.POST)
    form.is_valid()
    parameters = {name: value for name, value in form.cleaned_data.items() if value}
    try:
        services.start_export(
            project=project,
            kind=parameters.pop("kind", ""),
            file_format=parameters.pop("format", ""),
            parameters=parameters,
            by=request.user,
        )
    except services.TooManyExports:
        messages.error(request, _("Wait for a running export, or cancel it."))
    except BadRequest:
        messages.error(request, _("Export not started."))
    return redirect("data", project.pk)


@login_required
@require_safe
def show_export_progress(request: HttpRequest, project_id: int) -> HttpResponse:
    """Return the list of exports, which an open page requests every second."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    context = {"project": project, **build_list_context(project, request.user)}
    return render(request, "ratings/exports/_list.html", context)


def build_list_context(project: Project, user: Any) -> dict[str, object]:
    """Return the context of the list of the project's exports."""
    question_keys = dict(project.questions.values_list("pk", "key"))
    exports = list(project.exports.select_related("by"))
    rows = [
        {
            "run": run,
            "can_delete": services.can_delete(run, project, user),
            "questions": [question_keys[pk] for pk in run.question_ids if pk in question_keys],
        }
        for run in exports
    ]
    return {"exports": rows, "has_unfinished_exports": any(run.is_unfinished for run in exports)}


@login_required
@require_POST
def delete_export(request: HttpRequest, project_id: int, export_id: int) -> HttpResponse:
    """Cancel an export, or delete its file. Raises PermissionDenied if the user may not."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    run = get_object_or_404(project.exports, pk=export_id)
    if not services.can_delete(run, project, request.user):
        raise PermissionDenied
    services.delete_export(run=run)
    return redirect("data", project.pk)


@login_required
@require_safe
def download_export(request: HttpRequest, project_id: int, export_id: int) -> HttpResponseBase:
    """Deliver the file of an export."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    return respond_with_file(request, get_object_or_404(project.exports, pk=export_id))


def respond_with_file(request: HttpRequest, run: ExportRun) -> HttpResponseBase:
    """Return the file of an export, or the byte range that is requested.

    Raises Http404 while there is no complete file on this host. Each download, and each that is
    resumed, is an entry of the audit log.
    """
    if run.state != ExportRun.State.DONE:
        raise Http404(_("Page not found."))
    etag = f'"{run.path.rpartition("/")[2]}"'
    if (unchanged := get_conditional_response(request, etag=etag)) is not None:
        return unchanged
    try:
        response = build_file_response(
            request,
            export_files.get_absolute_path(run.path),
            content_type=run.content_type,
            headers={"Content-Disposition": build_disposition(run.file_name)},
            etag=etag,
        )
    except FileNotFoundError:
        raise Http404(_("Page not found.")) from None
    if request.method == "GET" and response.status_code in (200, 206):
        security_log.log_event("export_downloaded", exported=run.kind, kind=run.file_format)
    return response
