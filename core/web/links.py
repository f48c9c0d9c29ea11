"""Links of pages, which are plain text for readers who may not follow them.

On a page that a share link shows (``without_links``), and in a file, a link is its text.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from django import template
from django.conf import settings
from django.utils.html import conditional_escape, format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from .tables import is_exporting


def build_absolute_url(path: str) -> str:
    """Return the URL of a path of this site by SITE_URL, which no request can change."""
    return f"{settings.SITE_URL}{path}"


register = template.Library()

_has_links: ContextVar[bool] = ContextVar("whether the page has links", default=True)


@contextlib.contextmanager
def without_links() -> Iterator[None]:
    """Render pages inside the block without links and controls."""
    token = _has_links.set(False)
    try:
        yield
    finally:
        _has_links.reset(token)


def has_links() -> bool:
    """Return whether the reader of the page may follow its links and use its controls."""
    return _has_links.get()


def render_link(url: str, text: str, *, query: str = "", current: bool = False) -> SafeString:
    """Render a link, or its text where the reader may not follow it."""
    if is_exporting() or not has_links():
        return conditional_escape(text)
    target = f"{url}?{query}" if query else url
    state = SafeString(' aria-current="true"' if current else "")
    return format_html('<a href="{}"{}>{}</a>', target, state, text)


@register.simple_block_tag
def link(
    content: SafeString, url: str, *, question: str = "", query: str = "", current: bool = False
) -> SafeString:
    """Render a link around the content. ``question``: a key, which replaces ``query`` if given."""
    if question:
        query = urlencode({"question": question})
    return render_link(url, content, query=query, current=current)
