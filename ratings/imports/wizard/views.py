"""Views of the import wizard: list of imports, upload of a file, and the steps of one import.

The pages of the steps are in `run_pages`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from projects.models import Member, Project
from projects.permissions import get_project
from ratings.exports.services import has_many_ratings
from ratings.exports.views import build_list_context
from ratings.files import parquet_file
from ratings.files.upload_limits import limit_upload
from ratings.imports import leases, services, uploads
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.messages import ALLOWED_FORMATS
from ratings.imports.problems import UnreadableFileError, format_error
from ratings.imports.readers import SOURCES, TABLE_SOURCES
from ratings.imports.readers.rejected_files import RejectedSource
from ratings.imports.zip_archives import MediaArchive, iter_chunks
from ratings.models import ImportRun

from .check_forms import LabelsForm, MatchingForm
from .forms import ReadingForm, UploadForm
from .run_pages import (
    RENDERERS,
    build_context,
    get_run_url,
    render_check_or_start_writing,
    render_columns_or_start_check,
    warn_if_not_applied,
)

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
        template = _("Finish or discard one of your %(n)s imports first.")
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
                _("Not saved: the disk may be full."),
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


State = ImportRun.State


def get_run(request: HttpRequest, run_id: int, project_id: int | None) -> ImportRun:
    """Return the run if this user may work on it; raise Http404 otherwise.

    ``project_id`` is None for an import that creates a project. Raises PermissionDenied for a
    member of the project who is not a lead.
    """
    runs = ImportRun.objects.select_related("project", "question", "by")
    if project_id is not None:
        project = get_project(request.user, project_id, role=Member.Role.LEAD)
        run = runs.filter(project=project, pk=run_id).first()
    else:
        project = None
        run = runs.filter(project=None, by_id=request.user.pk, pk=run_id).first()
    if run is None:
        raise Http404(_("Page not found."))
    run.project = project  # carries the user's role
    return run


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def show_import_run(
    request: HttpRequest, run_id: int, project_id: int | None = None
) -> HttpResponse:
    """Show an import at its current step; POST takes the step named by ``action``.

    Raises BadRequest for another action. ``project_id`` is None for the import of a new project.
    """
    run = get_run(request, run_id, project_id)
    if request.method == "POST":
        action = ACTIONS.get(request.POST.get("action", ""))
        if action is None:
            raise BadRequest
        return action(request, run)
    return RENDERERS[State(run.state)](request, run)


@login_required
@require_safe
def show_import_progress(
    request: HttpRequest, run_id: int, project_id: int | None = None
) -> HttpResponse:
    """Return the progress fragment that an open page requests every second.

    When the step is finished, the response makes the page reload. ``project_id`` is None for the
    import of a new project.
    """
    run = get_run(request, run_id, project_id)
    response = render(request, "ratings/imports/_progress.html", build_context(run))
    if run.state not in leases.WORKING_STATES:
        response["HX-Refresh"] = "true"
    return response


def _reread_file(request: HttpRequest, run: ImportRun) -> HttpResponse:
    """Read the columns with another source, encoding or delimiter."""
    mapping = ImportMapping.from_run(run)
    form = ReadingForm(request.POST, mapping=mapping)
    if not form.is_valid():
        return render_columns_or_start_check(request, run, data=request.POST)
    cleaned_data = form.cleaned_data
    try:
        succeeded = services.reread_file(
            run=run,
            encoding=cleaned_data.get("encoding", mapping.encoding),
            delimiter=cleaned_data.get("delimiter", ""),
            source=cleaned_data.get("source", ""),
            sheets=cleaned_data.get("sheets", mapping.sheets),
        )
    except UnreadableFileError as error:
        messages.error(request, format_error(error))
    else:
        warn_if_not_applied(request, succeeded)
    return redirect(get_run_url(run))


def _check_with_columns(request: HttpRequest, run: ImportRun) -> HttpResponse:
    """Start the check, unless another source or delimiter was selected for the columns."""
    if run.state != State.MAPPING:
        return redirect(get_run_url(run))
    mapping = ImportMapping.from_run(run)
    current_values = {"source": mapping.source, "sheets": mapping.sheets}
    # Not every source has a delimiter.
    if mapping.encoding and mapping.delimiter:
        current_values["delimiter"] = mapping.delimiter
    if any(
        request.POST.get(name, current_value) != current_value
        for name, current_value in current_values.items()
    ):
        # The selected columns belong to the file as it was read before.
        return _reread_file(request, run)
    return render_columns_or_start_check(request, run, data=request.POST)


def _reopen_columns(request: HttpRequest, run: ImportRun) -> HttpResponse:
    warn_if_not_applied(request, services.reopen_columns(run=run))
    return redirect(get_run_url(run))


def _check_with_matches(request: HttpRequest, run: ImportRun) -> HttpResponse:
    return _check_with_choices(request, run, MatchingForm)


def _check_with_labels(request: HttpRequest, run: ImportRun) -> HttpResponse:
    return _check_with_choices(request, run, LabelsForm)


def _check_with_choices(
    request: HttpRequest, run: ImportRun, form_class: type[MatchingForm] | type[LabelsForm]
) -> HttpResponse:
    """Check the file again with the submitted choices of a form of the check page."""
    if run.state not in (State.CHECKED, State.INVALID):
        return redirect(get_run_url(run))
    mapping = ImportMapping.from_run(run)
    form = form_class(request.POST, run=run, mapping=mapping)
    if not form.is_valid():
        return render_check_or_start_writing(request, run, invalid_form=form)
    warn_if_not_applied(
        request, services.start_check(run=run, mapping=form.apply_to_mapping(mapping))
    )
    return redirect(get_run_url(run))


def _check_again(request: HttpRequest, run: ImportRun) -> HttpResponse:
    warn_if_not_applied(request, services.start_check(run=run))
    return redirect(get_run_url(run))


def _start_writing(request: HttpRequest, run: ImportRun) -> HttpResponse:
    return (
        render_check_or_start_writing(request, run, data=request.POST)
        if run.state == State.CHECKED
        else redirect(get_run_url(run))
    )


def _discard_run(request: HttpRequest, run: ImportRun) -> HttpResponse:
    if not services.discard_run(run=run):
        warn_if_not_applied(request, False)
        return redirect(get_run_url(run))
    messages.success(request, _("File discarded. Nothing was imported."))
    return redirect("data", run.project_id) if run.project_id else redirect("/")


ACTIONS: dict[str, Callable[[HttpRequest, ImportRun], HttpResponse]] = {
    "read": _reread_file,
    "columns": _check_with_columns,
    "reopen": _reopen_columns,
    "recheck": _check_again,
    "match": _check_with_matches,
    "labels": _check_with_labels,
    "start": _start_writing,
    "discard": _discard_run,
}


@login_required
@require_safe
def serve_archive_file(
    request: HttpRequest, run_id: int, place: int, project_id: int | None = None
) -> HttpResponseBase:
    """Return a media file of the archive, for the preview; ``place`` is its index there.

    Raises Http404 without such a file. ``project_id`` is None for the import of a new project.
    """
    run = get_run(request, run_id, project_id)
    archive = MediaArchive.for_manifest(uploads.get_absolute_path(run.path))
    file_and_type = archive.get_by_index(place) if archive else None
    if archive is None or file_and_type is None:
        raise Http404
    file, content_type = file_and_type
    headers = {
        "Content-Length": str(file.file_size),
        "Content-Disposition": "attachment",  # as for stored media files
        "X-Content-Type-Options": "nosniff",
    }
    content = archive.archive.open(file)
    return StreamingHttpResponse(iter_chunks(content), content_type=content_type, headers=headers)
