"""Files are read for those who may bring them alone, and none that is too large: both are asked
before a byte is read."""

from __future__ import annotations

import functools
import logging
import shutil
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from projects.models import Member
from projects.permissions import get_project, refuse_new_projects

logger = logging.getLogger(__name__)

FORM_BYTES = 1 << 20  # what a form may have beside its files
SPARE_BYTES = 64 << 20  # of the disk, which the database may share

View = Callable[..., HttpResponse]


def bounded(setting: str) -> Callable[[View], View]:
    """A view that takes files, of as many bytes as ``setting`` says; to stand below
    ``login_required``.

    By its announced length a body is refused that is too large or finds no room on the disk; and
    any body by somebody who does not lead the project, or may make none. The check of the CSRF
    token reads the body, so it has to come after this one.
    """

    def decorate(view: View) -> View:
        protected = csrf_protect(view)

        @csrf_exempt
        @functools.wraps(view)
        def bounded_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if "project_id" in kwargs:
                get_project(request.user, kwargs["project_id"], role=Member.Role.LEAD)
            else:
                refuse_new_projects(request.user)
            length = request.META.get("CONTENT_LENGTH") or "0"
            limit = getattr(settings, setting)
            if not length.isdecimal() or int(length) > limit + FORM_BYTES:
                text = _("A file may have %(limit)s bytes at most. Nothing was stored.")
                return _refuse(request, 413, text % {"limit": limit})
            if request.method != "POST":
                return protected(request, *args, **kwargs)
            if not _has_room(int(length)) or not _read(request):
                return _refuse(request, 507, _no_room())
            return protected(request, *args, **kwargs)

        bounded_view.bounds_itself = True  # type: ignore[attr-defined]  # for BoundedForms
        return bounded_view

    return decorate


def _has_room(length: int) -> bool:
    """Whether an upload fits the disk twice, as it comes and as it is kept, and leaves some."""
    free = shutil.disk_usage(settings.FILE_UPLOAD_TEMP_DIR).free
    return free >= 2 * length + SPARE_BYTES if length > FORM_BYTES else True


def _read(request: HttpRequest) -> bool:
    """Read the form, its files to disk; False where the disk takes no more, and nothing is left
    there."""
    keeper = TemporaryFileUploadHandler(request)
    request.upload_handlers = [keeper]
    try:
        request.POST  # noqa: B018 - looking at it reads the body
    except OSError as error:
        # What came so far; Django closes whole files alone.
        keeper.upload_interrupted()
        if error.errno is None:  # a client that went away, which is no fault of the disk
            raise
        logger.error("an upload was not stored: %s", error)
        return False
    return True


def _no_room() -> str:
    return _("The server could not store the file; its disc may be full. Try again later.")


def _refuse(request: HttpRequest, status: int, text: str) -> HttpResponse:
    return render(request, "error.html", {"status": status, "message": text}, status=status)
