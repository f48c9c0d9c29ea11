"""Style sheets and scripts as pages ask for them: under an address that says what is in them, so
that a browser keeps them for good, packed, and those of every page as one.

A slow line pays for each request and each byte before it shows anything. Nothing is built: a
process joins and packs a file when it is first asked for, style without its comments; the addresses
below ``static/`` stay.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from django import template
from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from .base import Around

register = template.Library()

# Of every page, in the order in which they stand: dark where the system is, or as the user chose.
DARK = "css/dark.css"
PAGE = tuple(
    f"css/{part}.css" for part in ("tokens", "frame", "blocks", "tables", "forms", "palette")
)
TOGETHER = {
    "css/page.css": (*PAGE, DARK),
    "css/page-light.css": PAGE,
    "css/page-dark.css": (*PAGE, DARK),
}
BY_SYSTEM = ("css/page.css", DARK)
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


class Fixed(NamedTuple):
    digest: str
    body: bytes
    packed: bytes


@functools.cache
def _made(name: str) -> Fixed:
    parts = []
    for one in TOGETHER.get(name, (name,)):
        path = finders.find(one)
        if path is None:
            raise FileNotFoundError(one)
        part = Path(path).read_bytes()
        if (name, one) == BY_SYSTEM:
            part = b"@media (prefers-color-scheme: dark) {\n" + part + b"}\n"
        parts.append(part)
    body = b"\n".join(parts)
    if name.endswith(".css"):
        body = _without_comments(body)
    digest = hashlib.sha256(body).hexdigest()[:16]
    return Fixed(digest, body, gzip.compress(body, compresslevel=9, mtime=0))


def _without_comments(sheet: bytes) -> bytes:
    """What a browser reads of a style sheet: a quarter of it is for people."""
    return re.sub(rb"\s*\n\s*", b"\n", re.sub(rb"/\*.*?\*/", b"", sheet, flags=re.DOTALL))


def made(name: str) -> Fixed:
    """The file of this name below ``static/``, or those that stand together under it. In
    development as it is now. Raises FileNotFoundError."""
    if settings.DEBUG:
        _made.cache_clear()
    return _made(name)


@register.simple_tag
def fixed(name: str) -> str:
    """``{% fixed 'css/page.css' %}``: the address of a style sheet or a script."""
    return reverse("fixed", args=[made(name).digest, name])


class FixedFiles(Around):
    """Answers for these files before anybody asks who wants them: what a browser keeps must not
    depend on cookies or languages."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith("/fixed/"):
            digest, _slash, name = request.path_info.removeprefix("/fixed/").partition("/")
            return serve(request, digest, name)
        return super().__call__(request)


@require_safe
def serve(request: HttpRequest, digest: str, name: str) -> HttpResponse:
    """The file as it is now; for good where that is what the address says."""
    kind = TYPES.get(Path(name).suffix)
    try:
        found = made(name) if kind else None
    except FileNotFoundError:
        found = None
    if found is None:
        raise Http404
    packs = "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(found.packed if packs else found.body, content_type=kind)
    if packs:
        response["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ["Accept-Encoding"])
    # A page of another release may ask for what this one has no more.
    lasting = "public, max-age=31536000, immutable"
    response["Cache-Control"] = lasting if digest == found.digest else "public, max-age=60"
    return response
