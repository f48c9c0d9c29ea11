"""Pictures, sound and film: brought in by leads, shown to the members of their project alone."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
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
from projects.services.project_validation import Refused

from . import media
from .upload_limits import bounded

logger = logging.getLogger(__name__)

RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


@login_required
@bounded("MEDIA_MAX_BYTES")
@require_http_methods(["GET", "HEAD", "POST"])
def media_new(request: HttpRequest, project_id: int) -> HttpResponse:
    """Files that become items."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    problems: dict[str, str] = {}
    if request.method == "POST":
        given = request.FILES.getlist("files")
        try:
            counts = media.put(project=project, files=given, by=request.user)
        except Refused as refused:
            problems = refused.fields
        except OSError:
            logger.exception("an upload was not stored")
            problems = {
                "": _(
                    "The server could not store the files; its disc may be full. Try again later."
                )
            }
        else:
            if given:
                number = counts["created"] + counts["changed"]
                said = ngettext(
                    "%(n)s item can be rated now.", "%(n)s items can be rated now.", number
                )
                messages.success(request, said % {"n": number})
                return redirect("data", project.pk)
            problems = {"": _("Choose one file at least.")}
    context = {
        "project": project,
        "problems": problems,
        "limit": settings.MEDIA_MAX_BYTES,
        "types": sorted(media.TYPES),
    }
    return render(request, "ratings/media.html", context, status=400 if problems else 200)


@login_required
@require_safe
def media_file(request: HttpRequest, project_id: int, name: str) -> HttpResponseBase:
    """One file, or the part of it that a player asks for. Its name is its content: it never
    changes."""
    get_project(request.user, project_id)
    path = media.path_of(project_id, name)
    if path is None:
        raise Http404
    size = path.stat().st_size
    wanted = _wanted(request.headers.get("Range", ""), size)
    first, last = wanted or (0, size - 1)
    if first > last:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    headers = {
        "Content-Length": str(last - first + 1),
        "Accept-Ranges": "bytes",
        # Opened by itself it is saved, never shown as a page; pictures and players do not mind.
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "private, max-age=31536000, immutable",
        "X-Content-Type-Options": "nosniff",
    }
    if wanted:
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return StreamingHttpResponse(
        _bytes(path, first, last) if request.method == "GET" else iter(()),
        status=206 if wanted else 200,
        content_type=media.TYPES[name.rpartition(".")[2]][1],
        headers=headers,
    )


def _wanted(header: str, size: int) -> tuple[int, int] | None:
    """First and last byte asked for; None without a range or with one that we do not serve (several
    parts); the first behind the last where the range lies outside."""
    found = RANGE.fullmatch(header.strip())
    if found is None or not any(found.groups()):
        return None
    first, last = found.groups()
    if not first:  # the last so many bytes
        return (max(size - int(last), 0), size - 1) if int(last) else (1, 0)
    end = min(int(last), size - 1) if last else size - 1
    return (int(first), end) if int(first) < size else (1, 0)


def _bytes(path: Path, first: int, last: int) -> Iterator[bytes]:
    left = last - first + 1
    with path.open("rb") as file:
        file.seek(first)
        while left > 0 and (chunk := file.read(min(media.CHUNK, left))):
            left -= len(chunk)
            yield chunk
