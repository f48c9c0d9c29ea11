"""Bodies that are too large are refused before they are read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect

FORM_BYTES = 1 << 20  # what a form may have beside its files

View = Callable[..., HttpResponse]


def bounded(setting: str) -> Callable[[View], View]:
    """Refuse a body that is larger than ``setting`` says by its announced length, before a byte of
    it is read.

    The check of the CSRF token reads the body, so it has to come after this one.
    """

    def decorate(view: View) -> View:
        protected = csrf_protect(view)

        @csrf_exempt
        @functools.wraps(view)
        def bounded_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            length = request.META.get("CONTENT_LENGTH") or "0"
            limit = getattr(settings, setting)
            if not length.isdecimal() or int(length) > limit + FORM_BYTES:
                text = _("A file may have %(limit)s bytes at most. Nothing was stored.") % {
                    "limit": limit
                }
                return render(request, "error.html", {"status": 413, "message": text}, status=413)
            return protected(request, *args, **kwargs)

        return bounded_view

    return decorate
