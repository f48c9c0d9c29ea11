"""Guidelines as people read them, and what changed between two versions of them.

The one way from Markdown to HTML: what the lead sees beside the field is what raters see.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from groundwork.safe_html import can_show, clean_html


@functools.cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@functools.lru_cache(maxsize=256)
def as_html(text: str) -> SafeString:
    """The Markdown as safe HTML. Headings begin at h2, below the page's own; HTML in the text is
    shown as text; an image from where the page may not load it is a link to it."""
    tokens = _markdown().parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
        if token.type in ("th_open", "td_open"):
            # the Content-Security-Policy allows no styles in the page
            token.attrs.pop("style", None)
        if token.children:
            token.children = [shown for child in token.children for shown in _loadable(child)]
    html = _markdown().renderer.render(tokens, _markdown().options, {})
    return mark_safe(clean_html(html))  # noqa: S308 - cleaned in this very line


def _loadable(token: Token) -> Iterator[Token]:
    """The token itself, or a link in the place of an image that would stay empty."""
    address = str(token.attrs.get("src", ""))
    if token.type != "image" or can_show("image", address):
        yield token
        return
    yield Token("link_open", "a", 1, attrs={"href": address})
    yield Token("text", "", 0, content=token.content or address)
    yield Token("link_close", "a", -1)


def changes_between(old: str, new: str) -> list[tuple[str, str]]:
    """The lines of both texts in order, each "same", "out" (only in the old one) or "in" (only in
    the new one)."""
    kinds = {"  ": "same", "- ": "out", "+ ": "in"}
    lines = difflib.ndiff(old.splitlines(), new.splitlines(), charjunk=None)
    return [(kinds[line[:2]], line[2:]) for line in lines if line[:2] in kinds]
