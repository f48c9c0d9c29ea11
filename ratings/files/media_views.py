"""Upload of media by leads, and delivery to the members of the project only."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from projects.models import Member
from projects.permissions import get_project
from projects.services.project_validation import InvalidProjectChange

from . import media
from .media_types import MEDIA_TYPES
from .upload_limits import limit_upload

logger = logging.getLogger(__name__)

RANGE_PATTERN = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


@login_required
@limit_upload("MEDIA_MAX_BYTES")
@require_http_methods(["GET", "HEAD", "POST"])
def upload_media(request: HttpRequest, project_id: int) -> HttpResponse:
    """Upload files that become items."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    errors: Mapping[str, str] = {}
    if request.method == "POST":
        files = request.FILES.getlist("files")
        try:
            counts = media.add_media_items(project=project, files=files, by=request.user)
        except InvalidProjectChange as error:
            errors = error.fields
        except OSError:
            logger.exception("an upload could not be stored")
            errors = {"": _("Not saved. The server's disk may be full.")}
        else:
            if files:
                number = counts["created"] + counts["changed"]
                message = ngettext(
                    "%(n)s item is ready to rate.", "%(n)s items are ready to rate.", number
                )
                messages.success(request, message % {"n": number})
                return redirect("data", project.pk)
            errors = {"": _("Choose at least one file.")}
    context = {
        "project": project,
        "problems": errors,
        "limit": settings.MEDIA_MAX_BYTES,
        "types": sorted(MEDIA_TYPES),
    }
    return render(request, "ratings/media.html", context, status=400 if errors else 200)


@login_required
@require_safe
def serve_media(request: HttpRequest, project_id: int, name: str) -> HttpResponseBase:
    """Deliver a media file, or the byte range that a player requests.

    Browsers may cache it without limit: the name is a digest of the content.
    """
    get_project(request.user, project_id)
    path = media.get_path(project_id, name)
    if path is None:
        raise Http404
    size = path.stat().st_size
    byte_range = _parse_range(request.headers.get("Range", ""), size)
    first, last = byte_range or (0, size - 1)
    if first > last:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    headers = {
        "Content-Length": str(last - first + 1),
        "Accept-Ranges": "bytes",
        # Opened directly, the file is downloaded, never shown as a page; embedding still works.
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "private, max-age=31536000, immutable",
        "X-Content-Type-Options": "nosniff",
    }
    if byte_range:
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return StreamingHttpResponse(
        _iter_bytes(path, first, last) if request.method == "GET" else iter(()),
        status=206 if byte_range else 200,
        content_type=MEDIA_TYPES[name.rpartition(".")[2]][1],
        headers=headers,
    )


def _parse_range(header: str, size: int) -> tuple[int, int] | None:
    """Return the first and last byte of the requested range.

    None without a range, or for one that is not supported (several parts). If the range cannot be
    satisfied, the first is after the last.
    """
    match = RANGE_PATTERN.fullmatch(header.strip())
    if match is None or not any(match.groups()):
        return None
    first, last = match.groups()
    if not first:  # a suffix range: the last N bytes
        return (max(size - int(last), 0), size - 1) if int(last) else (1, 0)
    end = min(int(last), size - 1) if last else size - 1
    return (int(first), end) if int(first) < size else (1, 0)


def _iter_bytes(path: Path, first: int, last: int) -> Iterator[bytes]:
    n_left = last - first + 1
    with path.open("rb") as file:
        file.seek(first)
        while n_left > 0 and (chunk := file.read(min(media.CHUNK_BYTES, n_left))):
            n_left -= len(chunk)
            yield chunk
