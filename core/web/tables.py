"""Export a table of a page as CSV: all its rows, each number at full precision.

A page requested with ``?csv=NAME`` is rendered as usual, and the table in the element that the
heading NAME labels is extracted from its HTML. So the file has the same content, order and access
rules as the page. During an export, numbers are written unrounded (``figures``) and pages hold all
rows (``get_page_size``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import zip_longest

from django import template
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from .links import has_links
from .table import (  # noqa: F401
    EMPTY_CELL,
    MAX_EXPORT_ROWS,
    PARAMETER,
    ROUNDING_ERROR,
    export_mode,
    get_page_size,
    is_exporting,
    round_tiny_to_zero,
)

register = template.Library()


# Elements without text for the file: controls, images, and <time>, whose attribute is used.
SKIPPED_ELEMENTS = frozenset("button form script select style svg template textarea time".split())  # noqa: SIM905
_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
ESTIMATE = re.compile(
    rf"(?P<value>{_NUMBER})?(?: ?\[(?P<low>{_NUMBER}), (?P<high>{_NUMBER})\] ?(?P<words>.*))?"
)
VOID_ELEMENTS = frozenset({"br", "col", "hr", "img", "input", "source", "wbr"})


@register.simple_tag(takes_context=True)
def csv_link(context: template.Context, *parts: object) -> SafeString:
    """Render the CSV link of a table (in ``.table-scroll``) that is labelled by a heading.

    ``parts`` are joined to the id of the heading.
    """
    name = "".join(map(str, parts))
    request: HttpRequest = context["request"]
    # The page that answers a form cannot be requested again; a shared page has no files.
    if request.method != "GET" or not has_links():
        return SafeString()
    query = request.GET.copy()
    for name_to_drop in ("page", "after"):
        query.pop(name_to_drop, None)
    query[PARAMETER] = name
    return format_html(
        '<a class="button button--quiet button--small table-csv" href="{0}?{1}" id="{2}-csv" '
        'aria-labelledby="{2}-csv {2}">CSV</a>',
        request.path, query.urlencode(), name,
    )  # fmt: skip


def extract_rows(page: str, name: str) -> list[list[str]] | None:
    """Return the rows of the table below the heading ``name`` in a page's HTML, header first.

    Returns None if there is no such table.

    Estimates such as ``0.72 [0.7, 0.74]`` are split into columns of their own: the value, both
    ends of the interval, and any further text.
    """
    label = rf'[^>]*aria-labelledby="{re.escape(name)}"[^>]*>'
    container = re.search(rf"<(div[^>]*\btable-scroll\b|table\b){label}", page)
    table = re.compile(r"<table\b.*?</table>", re.DOTALL).search(
        page, container.start() if container else 0
    )
    if container is None or table is None:
        return None
    parser = _TableParser()
    parser.feed(table[0])
    parser.close()
    return _build_grid(parser.rows)


@dataclass
class _Cell:
    """A table cell: texts that are visible, and texts for screen readers only."""

    is_header: bool
    span: int
    visible_parts: list[str] = field(default_factory=list)
    screen_reader_parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        visible, for_screen_readers = (
            " ".join("".join(parts).split())
            for parts in (self.visible_parts, self.screen_reader_parts)
        )
        return for_screen_readers if visible in ("", EMPTY_CELL) else visible

    @property
    def has_visible_text(self) -> bool:
        return bool("".join(self.visible_parts).strip())


class _TableParser(HTMLParser):
    """Parse a table, without controls, images and other elements that have no text for the file."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[_Cell]] = []
        self.open_elements: list[tuple[str, str]] = []  # (tag, kind of text) of the open elements

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append(_Cell(tag == "th", int(attributes.get("colspan", "1"))))
        elif tag in ("br", "div", "img", "li", "p"):
            self.handle_data(f" {attributes.get('alt', '')} ")
        elif tag == "time":
            self.handle_data(attributes.get("datetime", ""))
        if tag not in VOID_ELEMENTS:
            self.open_elements.append((tag, _classify_text(tag, attributes)))

    def handle_endtag(self, tag: str) -> None:
        while self.open_elements and self.open_elements.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        is_skipped = self._is_inside("skipped") and not self._is_inside("selected")
        if not self.rows or not self.rows[-1] or is_skipped:
            return
        cell = self.rows[-1][-1]
        (
            cell.screen_reader_parts if self._is_inside("screen_reader") else cell.visible_parts
        ).append(data)

    def _is_inside(self, text_kind: str) -> bool:
        return any(kind == text_kind for _tag, kind in self.open_elements)


def _classify_text(tag: str, attributes: dict[str, str]) -> str:
    """Return the kind of an element's text: visible, screen_reader, skipped, or selected.

    A "selected" option is exported although its <select> is skipped.
    """
    if tag == "option" and "selected" in attributes:
        return "selected"
    if (
        tag in SKIPPED_ELEMENTS
        or "popover" in attributes
        or attributes.get("aria-hidden") == "true"
    ):
        return "skipped"
    return (
        "screen_reader" if "visually-hidden" in attributes.get("class", "").split() else "visible"
    )


def _build_grid(rows: list[list[_Cell]]) -> list[list[str]]:
    """Return rows of equal length.

    Columns of images or buttons, whose head is hidden, are left out.
    """
    grid = [list(_expand_colspans(row)) for row in rows if row]
    if not grid:
        return []
    if not all(cell is None or cell.is_header or not cell.text for cell in grid[0]):
        grid.insert(0, [])
    columns = [column for column in zip_longest(*grid) if not _is_decorative(column)]
    output_columns = [
        output_column for column in columns for output_column in _split_estimates(column)
    ]
    header, *body = (list(row) for row in zip(*output_columns, strict=True))
    return [header, *body] if any(header) else body


def _expand_colspans(row: list[_Cell]) -> Iterator[_Cell | None]:
    for cell in row:
        yield cell
        yield from [None] * (cell.span - 1)


def _is_decorative(column: Sequence[_Cell | None]) -> bool:
    header, *cells = column
    if any(cell.is_header for cell in cells if cell):
        return False
    if header is None:
        return not any(cell.text for cell in cells if cell)
    return header.is_header and not header.has_visible_text


def _split_estimates(column: Sequence[_Cell | None]) -> list[list[str]]:
    """Return the column, or several columns where its cells hold estimates."""
    header, *texts = [cell.text if cell else "" for cell in column]
    matches = [ESTIMATE.fullmatch(text) for text in texts]
    if not any(match and match["low"] for match in matches):
        return [[header, *texts]]
    suffixes = (_("lower bound"), _("upper bound"), _("text"))
    headers = [header, *(f"{header}: {suffix}" if header else suffix for suffix in suffixes)]
    values = [
        match.groups("") if match else ("", "", "", text)
        for match, text in zip(matches, texts, strict=True)
    ]
    columns = [
        [header, *cells] for header, cells in zip(headers, zip(*values, strict=True), strict=True)
    ]
    return columns if any(columns[-1][1:]) else columns[:-1]
