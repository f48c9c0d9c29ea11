"""What came in by files, and the upload of a new one. The steps after it are in run_views."""

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
from ratings.files import parquet_file
from ratings.files.upload_limits import bounded
from ratings.imports import services
from ratings.imports.problems import Unreadable, in_words
from ratings.imports.readers import SOURCES, TABLES
from ratings.models import ImportRun

from .forms import UploadForm
from .run_pages import address

logger = logging.getLogger(__name__)

RUNS_SHOWN = 50
MOST_UNFINISHED = 10  # imports of one user; each keeps a file


@login_required
@require_safe
def data(request: HttpRequest, project_id: int) -> HttpResponse:
    """What came in by files, and the way out."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    runs = project.imports.select_related("by", "question")[:RUNS_SHOWN]
    context = {"project": project, "questions": project.questions.all(), "runs": runs}
    return render(
        request, "ratings/data.html", {**context, "has_parquet": parquet_file.has_parquet()}
    )


@login_required
@bounded("IMPORT_MAX_BYTES")
@require_http_methods(["GET", "HEAD", "POST"])
def import_new(request: HttpRequest, project_id: int) -> HttpResponse:
    """A file for an existing project."""
    return _upload(request, get_project(request.user, project_id, role=Member.Role.LEAD))


@login_required
@bounded("IMPORT_MAX_BYTES")
@require_http_methods(["GET", "HEAD", "POST"])
def import_project(request: HttpRequest) -> HttpResponse:
    """A file that becomes a project of its own."""
    return _upload(request, None)


def _unfinished(request: HttpRequest) -> int:
    over = (ImportRun.State.DONE, ImportRun.State.FAILED)
    return ImportRun.objects.filter(by=request.user.pk).exclude(state__in=over).count()


def _upload(request: HttpRequest, project: Project | None) -> HttpResponse:
    form = UploadForm(request.POST, request.FILES) if request.method == "POST" else UploadForm()
    if request.method == "POST" and _unfinished(request) >= MOST_UNFINISHED:
        said = _("You have %(most)s imports that are not finished. Finish or discard one first.")
        form.add_error("file", said % {"most": MOST_UNFINISHED})
    if request.method == "POST" and form.is_valid():
        file, name = form.content()
        try:
            run = services.upload(file=file, name=name, project=project, by=request.user)
        except Unreadable as error:
            form.add_error("file", in_words(error))
        except OSError:
            logger.exception("an upload was not stored")
            form.add_error(
                "file",
                _("The server could not store the file; its disc may be full. Try again later."),
            )
        else:
            return redirect(address(run))
    context = {
        "form": form,
        "project": project,
        "limit": settings.IMPORT_MAX_BYTES,
        "tools": [source.name for key, source in SOURCES.items() if key not in TABLES],
    }
    return render(
        request, "ratings/imports/upload.html", context, status=400 if form.errors else 200
    )
