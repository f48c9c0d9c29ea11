"""Limits of file uploads, checked before a byte is read: permission, size, and free disk space."""

from __future__ import annotations

import functools
import logging
import shutil
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from projects.models import Member
from projects.permissions import get_project, require_can_create_projects


def clean_upload_name(name: str) -> str:
    """Return an upload's name for display, never for use as a path.

    Folders, control characters and characters that change the text's direction are removed. If
    nothing is left, the name is "file.csv".
    """
    file_name = PurePath(name.replace("\\", "/")).name
    return (
        "".join(character for character in file_name if character.isprintable())[:200] or "file.csv"
    )


logger = logging.getLogger(__name__)

FORM_BYTES = 1 << 20  # maximum size of a form without its files
SPARE_BYTES = 64 << 20  # disk space to leave free, because the database may share the disk

View = Callable[..., HttpResponse]


def limit_upload(setting: str) -> Callable[[View], View]:
    """Decorate a view that accepts files, up to a size; it goes below ``login_required``.

    ``setting`` is the name of the setting with the size in bytes. Before the body is read, a
    request is rejected if its announced length is too large or does not fit on the disk, or if the
    user does not lead the project or may not create one. CSRF is checked after that, because this
    check reads the body.
    """

    def decorate(view: View) -> View:
        protected = csrf_protect(view)

        @csrf_exempt
        @functools.wraps(view)
        def limited_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if "project_id" in kwargs:
                get_project(request.user, kwargs["project_id"], role=Member.Role.LEAD)
            else:
                require_can_create_projects(request.user)
            length = request.META.get("CONTENT_LENGTH") or "0"
            limit = getattr(settings, setting)
            if not length.isdecimal() or int(length) > limit + FORM_BYTES:
                text = _("Not saved: over %(limit)s bytes.")
                return _render_error(request, 413, text % {"limit": limit})
            if request.method != "POST":
                return protected(request, *args, **kwargs)
            if not _has_room(int(length)) or not _read_body(request):
                return _render_error(request, 507, _get_disk_full_message())
            return protected(request, *args, **kwargs)

        limited_view.limits_own_body = True  # type: ignore[attr-defined]  # FormSizeMiddleware
        return limited_view

    return decorate


def _has_room(length: int) -> bool:
    """Return whether the disk has room for the upload twice (received and stored) and a margin.

    True for an upload of FORM_BYTES or less.
    """
    free = shutil.disk_usage(settings.FILE_UPLOAD_TEMP_DIR).free
    return free >= 2 * length + SPARE_BYTES if length > FORM_BYTES else True


def _read_body(request: HttpRequest) -> bool:
    """Read the form, writing its files to disk; return False if the disk is full.

    Partial files are deleted in that case.
    """
    upload_handler = TemporaryFileUploadHandler(request)
    request.upload_handlers = [upload_handler]
    try:
        request.POST  # noqa: B018 - looking at it reads the body
    except OSError as error:
        # Close partially received files; Django closes complete ones only.
        upload_handler.upload_interrupted()
        if error.errno is None:  # the client disconnected; not an error of the disk
            raise
        logger.error("an upload was not stored: %s", error)
        return False
    return True


def _get_disk_full_message() -> str:
    return _("Not saved: the disk may be full.")


def _render_error(request: HttpRequest, status: int, text: str) -> HttpResponse:
    return render(request, "error.html", {"status": status, "message": text}, status=status)
