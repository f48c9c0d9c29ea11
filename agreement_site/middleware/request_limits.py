"""Limits on request bodies, checked before any of the body is read.

Forms are small. Views that accept files read them (ratings/files/upload_limits.py) after checking
the sender; any other uploaded file is skipped and stored nowhere. The API's parser limits its own
bodies (core/api/parsers.py).
"""

from __future__ import annotations

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from agreement_site.error_pages import render_error

from .base import BaseMiddleware

# Two texts of 200,000 characters, each of which takes up to nine bytes in an encoded form.
SIGNED_IN_FORM_BYTES = 4 << 20
ANONYMOUS_FORM_BYTES = 1 << 16
BODILESS_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")


class FormSizeMiddleware(BaseMiddleware):
    """Answer with 413 when a form is larger than any real form.

    Place it after the session's user and before the CSRF check, which reads the form.
    """

    def process_view(
        self, request: HttpRequest, view: Any, view_args: Any, view_kwargs: Any
    ) -> HttpResponse | None:
        limits_own_body = getattr(view, "limits_own_body", False)
        if (
            limits_own_body
            or request.method in BODILESS_METHODS
            or request.path.startswith("/api/")
        ):
            return None
        length = request.META.get("CONTENT_LENGTH") or "0"
        max_bytes = SIGNED_IN_FORM_BYTES if request.user.is_authenticated else ANONYMOUS_FORM_BYTES
        if length.isdecimal() and int(length) <= max_bytes:
            return None
        message = _("At most %(limit)s bytes. Nothing was saved.") % {"limit": max_bytes}
        return render_error(request, 413, message)


class DiscardUploadHandler(FileUploadHandler):
    """Upload handler that discards files for views that accept none."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        return None

    def file_complete(self, file_size: int) -> None:
        return None
