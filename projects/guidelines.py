"""Render guidelines as HTML, and compare two versions of them.

This is the only conversion from Markdown to HTML, so the lead's preview is what raters see.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Sequence

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.web.safe_html import clean_generated_html, is_media_allowed


@functools.cache
def _get_parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


# Parsing time grows with the brackets, which may begin links or images, and bars, which end cells.
MAX_BRACKETS = 5_000
MAX_BARS = 10_000
# A row of a table gets all columns of the table, also those that it leaves out.
MAX_TABLE_CELLS = 20_000
_DELIMITER_ROW = re.compile(r"[\s>*+.)0-9]*([-:|\s]+)")


# A process keeps many texts of usual length and a few longer ones, some megabytes in all.
USUAL_LENGTH = 20_000  # characters


def render_markdown(text: str) -> SafeString:
    """Return the Markdown as safe HTML, as ``render_preview`` does, but cached."""
    return _render_usual(text) if len(text) <= USUAL_LENGTH else _render_long(text)


def render_preview(text: str) -> SafeString:
    """Return the Markdown as safe HTML.

    Headings begin at h2, below the page's h1. HTML in the text is shown as text. An image from an
    origin that is not allowed becomes a link. A text is shown as plain text if its brackets, bars
    or table cells are so many that rendering it would take seconds.
    """
    if (
        text.count("[") > MAX_BRACKETS
        or text.count("|") > MAX_BARS
        or _count_table_cells(text) > MAX_TABLE_CELLS
    ):
        return format_html("<pre>{}</pre>", text)
    tokens = _get_parser().parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
        if token.type in ("th_open", "td_open"):
            # The Content-Security-Policy forbids inline styles.
            token.attrs.pop("style", None)
        if token.children:
            token.children = [
                output_token
                for child in token.children
                for output_token in _iter_allowed_tokens(child)
            ]
    html = _get_parser().renderer.render(tokens, _get_parser().options, {})
    return mark_safe(clean_generated_html(html))  # noqa: S308 - cleaned in this line


def _count_table_cells(text: str) -> int:
    """Return an upper bound of the number of table cells.

    For each delimiter row, its columns are multiplied by the lines below it up to the next blank
    line, where a table ends at the latest. A line with only quotation marks (>) counts as blank.
    """
    lines = text.splitlines()
    count = 0
    n_lines_below = 0  # until the next blank line
    for index in range(len(lines) - 1, 0, -1):
        match = _DELIMITER_ROW.fullmatch(lines[index])
        if match and "|" in lines[index - 1]:
            count += len(match[1].strip("| \t").split("|")) * n_lines_below
        n_lines_below = n_lines_below + 1 if lines[index].strip("> \t") else 0
    return count


_render_usual = functools.lru_cache(maxsize=256)(render_preview)
_render_long = functools.lru_cache(maxsize=8)(render_preview)


def _iter_allowed_tokens(token: Token) -> Iterator[Token]:
    """Yield the token itself, or a link in place of an image that may not be loaded."""
    address = str(token.attrs.get("src", ""))
    if token.type != "image" or is_media_allowed("image", address):
        yield token
        return
    yield Token("link_open", "a", 1, attrs={"href": address})
    yield Token("text", "", 0, content=token.content or address)
    yield Token("link_close", "a", -1)


# Lines of both texts between their common beginning and end; longer differences are not shown.
MAX_CHANGED_LINES = 2000


@functools.lru_cache(maxsize=8)
def compare_versions(old_text: str, new_text: str) -> list[tuple[str, str]] | None:
    """Return the lines of both texts in order, as (kind, line); None if too many changed.

    The kind is "same", "out" (only in the old text) or "in" (only in the new text). At most
    MAX_CHANGED_LINES are compared, because the time grows with the product of both lengths.
    """
    before, after = old_text.splitlines(), new_text.splitlines()
    n_common_head = _count_common_leading_lines(before, after)
    n_common_tail = _count_common_leading_lines(
        before[n_common_head:][::-1], after[n_common_head:][::-1]
    )
    removed = before[n_common_head : len(before) - n_common_tail]
    added = after[n_common_head : len(after) - n_common_tail]
    if len(removed) + len(added) > MAX_CHANGED_LINES:
        return None
    lines = [("same", line) for line in after[:n_common_head]]
    for kind, i, to_i, j, to_j in difflib.SequenceMatcher(None, removed, added).get_opcodes():
        if kind == "equal":
            lines += [("same", line) for line in added[j:to_j]]
        else:
            lines += [("out", line) for line in removed[i:to_i]]
            lines += [("in", line) for line in added[j:to_j]]
    return lines + [("same", line) for line in after[len(after) - n_common_tail :]]


def _count_common_leading_lines(before: Sequence[str], after: Sequence[str]) -> int:
    """Return the number of lines that both texts begin with."""
    count = 0
    for old_line, new_line in zip(before, after, strict=False):
        if old_line != new_line:
            break
        count += 1
    return count
