"""Views of the list of imports and of the upload of a new file.

`run_views` has the steps after the upload.
"""

from __future__ import annotations

import logging

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from projects.models import Member, Project
from projects.permissions import get_project
from ratings.exports.services import has_many_ratings
from ratings.exports.views import build_list_context
from ratings.files import parquet_file
from ratings.files.upload_limits import limit_upload
from ratings.imports import services
from ratings.imports.messages import ALLOWED_FORMATS
from ratings.imports.problems import UnreadableFileError, format_error
from ratings.imports.readers import SOURCES, TABLE_SOURCES
from ratings.imports.readers.rejected_files import RejectedSource
from ratings.models import ImportRun

from .forms import UploadForm
from .run_pages import get_run_url

logger = logging.getLogger(__name__)

MAX_LISTED_RUNS = 50
MAX_UNFINISHED_RUNS = 10  # per user; each has a file on disk


@login_required
@require_safe
def show_data(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the imports of a project and its exports."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    runs = project.imports.select_related("by", "question")[:MAX_LISTED_RUNS]
    context = {
        "project": project,
        "questions": project.questions.all(),
        "runs": runs,
        "has_parquet": parquet_file.has_parquet(),
        "offers_files": has_many_ratings(project),
        **build_list_context(project, request.user),
    }
    return render(request, "ratings/data.html", context)


@login_required
@limit_upload("IMPORT_MAX_BYTES")
@require_http_methods(["GET", "HEAD", "POST"])
def upload_to_project(request: HttpRequest, project_id: int) -> HttpResponse:
    """Upload a file to an existing project."""
    return _process_upload_form(
        request, get_project(request.user, project_id, role=Member.Role.LEAD)
    )


@login_required
@limit_upload("IMPORT_MAX_BYTES")
@require_http_methods(["GET", "HEAD", "POST"])
def upload_new_project(request: HttpRequest) -> HttpResponse:
    """Upload a file that creates a project."""
    return _process_upload_form(request, None)


def _count_unfinished(request: HttpRequest) -> int:
    final_states = (ImportRun.State.DONE, ImportRun.State.FAILED)
    return ImportRun.objects.filter(by=request.user.pk).exclude(state__in=final_states).count()


def _process_upload_form(request: HttpRequest, project: Project | None) -> HttpResponse:
    form = UploadForm(request.POST, request.FILES) if request.method == "POST" else UploadForm()
    if request.method == "POST" and _count_unfinished(request) >= MAX_UNFINISHED_RUNS:
        template = _("At most %(n)s unfinished imports. Finish or discard one first.")
        form.add_error("file", template % {"n": MAX_UNFINISHED_RUNS})
    if request.method == "POST" and form.is_valid():
        file, name = form.get_content()
        try:
            run = services.create_run(file=file, name=name, project=project, by=request.user)
        except UnreadableFileError as error:
            form.add_error("file", format_error(error))
        except OSError:
            logger.exception("an upload was not stored")
            form.add_error(
                "file",
                _("Not saved. The server's disk may be full."),
            )
        else:
            return redirect(get_run_url(run))
    context = {
        "form": form,
        "project": project,
        "limit": settings.IMPORT_MAX_BYTES,
        "formats": ALLOWED_FORMATS,
        "tools": [
            source.name
            for key, source in SOURCES.items()
            if key not in TABLE_SOURCES and not isinstance(source, RejectedSource)
        ],
    }
    return render(
        request, "ratings/imports/upload.html", context, status=400 if form.errors else 200
    )
