"""Upload of media by leads, and delivery to the members of the project only."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from projects.models import Member
from projects.permissions import get_project
from projects.services.project_validation import InvalidProjectChange

from . import media
from .byte_ranges import build_file_response
from .media_types import MEDIA_TYPES
from .upload_limits import limit_upload

logger = logging.getLogger(__name__)


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
            errors = {"": _("Not saved: the disk may be full.")}
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
    """Deliver a media file, or the byte range that a player requests; Http404 without one."""
    get_project(request.user, project_id)
    path = media.get_media_path(project_id, name)
    if path is None:
        raise Http404
    return build_file_response(
        request,
        path,
        content_type=MEDIA_TYPES[name.rpartition(".")[2]][1],
        headers={
            # Opened directly, the file is downloaded, never shown as a page; embedding still works.
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "private, max-age=31536000, immutable",
        },
    )
