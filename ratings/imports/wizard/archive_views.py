"""What lies in the archive of an import, for the preview of its check."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from ratings.imports import uploads
from ratings.imports.archives import Media, read

from .run_views import get_run


@login_required
@require_safe
def import_file(
    request: HttpRequest, run_id: int, place: int, project_id: int | None = None
) -> HttpResponseBase:
    """A picture, sound or film of the archive, for the preview."""
    run = get_run(request, run_id, project_id)
    archive = Media.beside(uploads.absolute(run.path))
    found = archive.at(place) if archive else None
    if archive is None or found is None:
        raise Http404
    file, kind = found
    headers = {
        "Content-Length": str(file.file_size),
        "Content-Disposition": "attachment",  # as of files that are kept
        "X-Content-Type-Options": "nosniff",
    }
    content = archive.archive.open(file)
    return StreamingHttpResponse(read(content), content_type=kind, headers=headers)
