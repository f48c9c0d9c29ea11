"""Style sheets, scripts and the font, bundled and compressed, at URLs that contain their digest.

Browsers cache them for good. A slow connection pays for each request and each byte before a
page appears. There is no build step: a process bundles and compresses a file when it is first
requested, style sheets without their comments. The URLs below ``static/`` stay available.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import posixpath
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

from .base import BaseMiddleware

register = template.Library()

# The style sheets of every page, in order. Dark follows the system, or the user's choice.
DARK_SHEET = "css/dark.css"
PAGE_SHEETS = tuple(
    f"css/{part}.css"
    for part in ("typeface", "tokens", "frame", "blocks", "tables", "forms", "palette")
)
BUNDLES = {
    "css/page.css": (*PAGE_SHEETS, DARK_SHEET),
    "css/page-light.css": PAGE_SHEETS,
    "css/page-dark.css": (*PAGE_SHEETS, DARK_SHEET),
}
SYSTEM_DARK = ("css/page.css", DARK_SHEET)
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".woff2": "font/woff2",
}
TYPEFACE = "vendor/inter.woff2"


class StaticBundle(NamedTuple):
    """A bundle: the digest of its content, the content, and the content compressed by gzip."""

    digest: str
    body: bytes
    gzipped: bytes


MAX_BUNDLES = 256  # kept by a process; static/ has fewer style sheets and scripts


@functools.lru_cache(maxsize=MAX_BUNDLES)
def _build_bundle(name: str) -> StaticBundle:
    parts = []
    for part_name in BUNDLES.get(name, (name,)):
        path = finders.find(part_name)
        if path is None:
            raise FileNotFoundError(part_name)
        part = Path(path).read_bytes()
        if (name, part_name) == SYSTEM_DARK:
            part = b"@media (prefers-color-scheme: dark) {\n" + part + b"}\n"
        parts.append(part)
    body = b"\n".join(parts)
    if name.endswith(".css"):
        body = _strip_comments(body)
        body = body.replace(f"../{TYPEFACE}".encode(), get_typeface_url().encode())
    digest = hashlib.sha256(body).hexdigest()[:16]
    return StaticBundle(digest, body, gzip.compress(body, compresslevel=9, mtime=0))


def _strip_comments(sheet: bytes) -> bytes:
    """Return a style sheet without comments."""
    return re.sub(rb"\s*\n\s*", b"\n", re.sub(rb"/\*.*?\*/", b"", sheet, flags=re.DOTALL))


def get_bundle(name: str) -> StaticBundle:
    """Return the bundle, or the file below ``static/``, of this name.

    Bundles are cached, except with DEBUG. Raises FileNotFoundError for an unknown name, and for
    another spelling of a name (``./``, ``//``, ``a/../``), which the cache would store again.
    """
    if posixpath.normpath(name) != name or name.startswith(("/", "..")) or "\\" in name:
        raise FileNotFoundError(name)
    if settings.DEBUG:
        _build_bundle.cache_clear()
    return _build_bundle(name)


@register.simple_tag
def static_bundle(name: str) -> str:
    """Return the URL of a style sheet or script: ``{% static_bundle 'css/page.css' %}``."""
    return reverse("static_bundle", args=[get_bundle(name).digest, name])


@register.simple_tag
def get_typeface_url() -> str:
    """Return the URL of the font, or "" before `make setup` has created it."""
    try:
        return static_bundle(TYPEFACE)
    except FileNotFoundError:
        return ""


class StaticBundleMiddleware(BaseMiddleware):
    """Serve bundles before sessions and languages are loaded: caches must not depend on them."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith("/bundles/"):
            digest, _slash, name = request.path_info.removeprefix("/bundles/").partition("/")
            return serve_bundle(request, digest, name)
        return super().__call__(request)


@require_safe
def serve_bundle(request: HttpRequest, digest: str, name: str) -> HttpResponse:
    """Return a bundled CSS or JavaScript file; cacheable forever if the URL has its digest.

    Raises Http404 for an unknown name.
    """
    content_type = CONTENT_TYPES.get(Path(name).suffix)
    try:
        bundle = get_bundle(name) if content_type else None
    except FileNotFoundError:
        bundle = None
    if bundle is None:
        raise Http404
    accepts_gzip = "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(
        bundle.gzipped if accepts_gzip else bundle.body, content_type=content_type
    )
    if accepts_gzip:
        response["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ["Accept-Encoding"])
    # A page of another release may ask for a file with another digest.
    immutable = "public, max-age=31536000, immutable"
    response["Cache-Control"] = immutable if digest == bundle.digest else "public, max-age=60"
    return response
