"""How much of a request's body is read, and where it may go: asked before a byte of it is read.

A form is small. Files are taken by the views that ask for them (ratings/files/upload_limits.py), after
they have looked at who sends them; whatever else comes as a file is read past and kept nowhere.
The API's bodies are bounded by its parser (core/api/parsers.py).
"""

from __future__ import annotations

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from agreement_site.error_pages import answer

from .base import Around

# Two texts of 200,000 signs, each of which a form may write with nine.
MEMBERS_FORM_BYTES = 4 << 20
STRANGERS_FORM_BYTES = 1 << 16
READS_NOTHING = ("GET", "HEAD", "OPTIONS", "TRACE")


class BoundedForms(Around):
    """413 for a form that is longer than any form is. To be placed after the session's user and
    before the check of the CSRF token, which reads the form."""

    def process_view(
        self, request: HttpRequest, view: Any, arguments: Any, named: Any
    ) -> HttpResponse | None:
        bounds_itself = getattr(view, "bounds_itself", False)
        if bounds_itself or request.method in READS_NOTHING or request.path.startswith("/api/"):
            return None
        length = request.META.get("CONTENT_LENGTH") or "0"
        most = MEMBERS_FORM_BYTES if request.user.is_authenticated else STRANGERS_FORM_BYTES
        if length.isdecimal() and int(length) <= most:
            return None
        text = _("A form may have %(limit)s bytes at most. Nothing was stored.") % {"limit": most}
        return answer(request, 413, text)


class NoFiles(FileUploadHandler):
    """Keeps no file of a form whose page has not asked for one."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        return None

    def file_complete(self, file_size: int) -> None:
        return None
