"""View of the media files in the archive of an import, for the preview of its check."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from ratings.imports import uploads
from ratings.imports.zip_archives import MediaArchive, iter_chunks

from .run_views import get_run


@login_required
@require_safe
def serve_archive_file(
    request: HttpRequest, run_id: int, place: int, project_id: int | None = None
) -> HttpResponseBase:
    """Return a media file of the archive, for the preview."""
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
