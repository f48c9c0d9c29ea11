"""Guidelines as people read them: Markdown to HTML that nobody can smuggle anything through."""

from __future__ import annotations

import functools

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


@functools.cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@functools.lru_cache(maxsize=256)
def as_html(text: str) -> SafeString:
    """The Markdown as safe HTML. Headings begin at h2, below the page's own; HTML in the text is shown as text."""
    tokens = _markdown().parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
        if token.type in ("th_open", "td_open"):
            token.attrs.pop("style", None)  # the Content-Security-Policy allows no styles in the page
    html = _markdown().renderer.render(tokens, _markdown().options, {})
    clean = nh3.clean(html, tags=TAGS, attributes={"a": {"href", "title"}}, url_schemes={"http", "https", "mailto"})
    return mark_safe(clean)  # noqa: S308 - cleaned by nh3 in the line above
