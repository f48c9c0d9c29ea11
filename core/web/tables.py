"""A table of a page as a file: all its rows, each figure whole.

A page asked for with ``?csv=NAME`` is made as ever, and the table in the frame that the heading
NAME labels is read out of it. So the file says what the page says, to whom it says it, in the order
in which it stands there. While it is made, figures are written whole (``figures``) and pages are
long (``a_page``).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import zip_longest

from django import template
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

register = template.Library()

PARAMETER = "csv"
MOST_ROWS = 10_000

# What is in a table for the hand or the eye alone, and what says itself by an attribute.
LEFT_OUT = frozenset("button form script select style svg template textarea time".split())  # noqa: SIM905
NOTHING = "–"
_FIGURE = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
READING = re.compile(
    rf"(?P<value>{_FIGURE})?(?: ?\[(?P<low>{_FIGURE}), (?P<high>{_FIGURE})\] ?(?P<words>.*))?"
)
VOID = frozenset({"br", "col", "hr", "img", "input", "source", "wbr"})

_making: ContextVar[bool] = ContextVar("making a table's file", default=False)


@contextlib.contextmanager
def making() -> Iterator[None]:
    """Within it, pages are made to be read as files."""
    token = _making.set(True)
    try:
        yield
    finally:
        _making.reset(token)


def is_made() -> bool:
    """Whether the page is made to be read as a file."""
    return _making.get()


def a_page(rows: int) -> int:
    """So many rows a page; in a file as many as fit."""
    return MOST_ROWS if _making.get() else rows


@register.simple_tag(takes_context=True)
def as_csv(context: template.Context, *parts: object) -> SafeString:
    """A link to the table in the frame (``.table-scroll``) that the heading labels whose id the
    ``parts`` make up."""
    name = "".join(map(str, parts))
    request: HttpRequest = context["request"]
    if request.method != "GET":  # what answers a form cannot be asked for again
        return SafeString()
    asked = request.GET.copy()
    for place in ("page", "after"):
        asked.pop(place, None)
    asked[PARAMETER] = name
    return format_html(
        '<a class="button button--quiet button--small table-csv" href="{0}?{1}" id="{2}-csv" '
        'aria-labelledby="{2}-csv {2}">CSV</a>',
        request.path, asked.urlencode(), name,
    )  # fmt: skip


def rows_of(page: str, name: str) -> list[list[str]] | None:
    """The rows of the table in the frame that ``name`` labels, its head first; None where the page
    has no such table. Readings, as ``0.72 [0.7, 0.74]``, stand in columns of their own: the value,
    the ends of the interval, and what else is said."""
    label = rf'[^>]*aria-labelledby="{re.escape(name)}"[^>]*>'
    frame = re.search(rf"<(div[^>]*\btable-scroll\b|table\b){label}", page)
    table = re.compile(r"<table\b.*?</table>", re.DOTALL).search(
        page, frame.start() if frame else 0
    )
    if frame is None or table is None:
        return None
    reader = _Reader()
    reader.feed(table[0])
    reader.close()
    return _written(reader.rows)


@dataclass
class _Cell:
    is_head: bool
    span: int
    seen: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)  # by screen readers alone

    @property
    def text(self) -> str:
        seen, heard = (" ".join("".join(said).split()) for said in (self.seen, self.heard))
        return heard if seen in ("", NOTHING) else seen

    @property
    def is_seen(self) -> bool:
        return bool("".join(self.seen).strip())


class _Reader(HTMLParser):
    """Reads a table, without what is there for the hand or the eye alone."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[_Cell]] = []
        self.open: list[tuple[str, str]] = []  # elements, and how their texts are taken

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append(_Cell(tag == "th", int(known.get("colspan", "1"))))
        elif tag in ("br", "div", "img", "li", "p"):
            self.handle_data(f" {known.get('alt', '')} ")
        elif tag == "time":
            self.handle_data(known.get("datetime", ""))
        if tag not in VOID:
            self.open.append((tag, _taken(tag, known)))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        is_out = self._is_taken("out") and not self._is_taken("chosen")
        if not self.rows or not self.rows[-1] or is_out:
            return
        cell = self.rows[-1][-1]
        (cell.heard if self._is_taken("heard") else cell.seen).append(data)

    def _is_taken(self, how: str) -> bool:
        return any(taken == how for _tag, taken in self.open)


def _taken(tag: str, known: dict[str, str]) -> str:
    """How the text of an element is taken: seen, heard by screen readers alone, left out, or, where
    all around is left out, the chosen one of some."""
    if tag == "option" and "selected" in known:
        return "chosen"
    if tag in LEFT_OUT or "popover" in known or known.get("aria-hidden") == "true":
        return "out"
    return "heard" if "visually-hidden" in known.get("class", "").split() else "seen"


def _written(rows: list[list[_Cell]]) -> list[list[str]]:
    """The cells under each other. A column of pictures or buttons, whose head nobody sees, is left
    out."""
    grid = [list(_spread(row)) for row in rows if row]
    if not grid:
        return []
    if not all(cell is None or cell.is_head or not cell.text for cell in grid[0]):
        grid.insert(0, [])
    columns = [column for column in zip_longest(*grid) if not _is_for_the_eye(column)]
    parts = [part for column in columns for part in _parts(column)]
    head, *written = (list(row) for row in zip(*parts, strict=True))
    return [head, *written] if any(head) else written


def _spread(row: list[_Cell]) -> Iterator[_Cell | None]:
    for cell in row:
        yield cell
        yield from [None] * (cell.span - 1)


def _is_for_the_eye(column: Sequence[_Cell | None]) -> bool:
    head, *cells = column
    if any(cell.is_head for cell in cells if cell):
        return False
    if head is None:
        return not any(cell.text for cell in cells if cell)
    return head.is_head and not head.is_seen


def _parts(column: Sequence[_Cell | None]) -> list[list[str]]:
    """The column of a file, or those of its readings."""
    name, *texts = [cell.text if cell else "" for cell in column]
    found = [READING.fullmatch(text) for text in texts]
    if not any(one and one["low"] for one in found):
        return [[name, *texts]]
    ends = (_("lower end"), _("upper end"), _("in words"))
    names = [name, *(f"{name}: {end}" if name else end for end in ends)]
    said = [
        one.groups("") if one else ("", "", "", text)
        for one, text in zip(found, texts, strict=True)
    ]
    parts = [[name, *cells] for name, cells in zip(names, zip(*said, strict=True), strict=True)]
    return parts if any(parts[-1][1:]) else parts[:-1]
