"""Guidelines as people read them, and what changed between two versions of them.

The one way from Markdown to HTML: what the lead sees beside the field is what raters see.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Sequence

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.web.safe_html import can_show, clean_html


@functools.cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


# Each bracket may begin a link or an image, each bar ends a cell: they are what Markdown waits for.
MOST_BRACKETS = 5_000
MOST_BARS = 10_000


@functools.lru_cache(maxsize=256)
def as_html(text: str) -> SafeString:
    """The Markdown as safe HTML. Headings begin at h2, below the page's own; HTML in the text is
    shown as text; an image from where the page may not load it is a link to it.

    A text that nobody wrote by hand, and that would take seconds, is shown as it stands."""
    if text.count("[") > MOST_BRACKETS or text.count("|") > MOST_BARS:
        return format_html("<pre>{}</pre>", text)
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


# Lines of both texts that differ in their midst; of more, nobody reads what changed.
MOST_CHANGED_LINES = 2000


@functools.lru_cache(maxsize=32)
def changes_between(old: str, new: str) -> list[tuple[str, str]] | None:
    """The lines of both texts in order, each "same", "out" (only in the old one) or "in" (only in
    the new one); None where too much changed to say so.

    Whole lines are compared, and of bounded number: what makes a page wait grows with the product
    of both.
    """
    before, after = old.splitlines(), new.splitlines()
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    out = before[head : len(before) - tail]
    come = after[head : len(after) - tail]
    if len(out) + len(come) > MOST_CHANGED_LINES:
        return None
    found = [("same", line) for line in after[:head]]
    for kind, i, to_i, j, to_j in difflib.SequenceMatcher(None, out, come).get_opcodes():
        if kind == "equal":
            found += [("same", line) for line in come[j:to_j]]
        else:
            found += [("out", line) for line in out[i:to_i]]
            found += [("in", line) for line in come[j:to_j]]
    return found + [("same", line) for line in after[len(after) - tail :]]


def _alike(first: Sequence[str], second: Sequence[str]) -> int:
    """How many lines both begin with."""
    number = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        number += 1
    return number
