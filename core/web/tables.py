"""Tables of pages: one declaration of the columns gives both the HTML and the CSV file.

A template declares a table with the tags of core/web/table_tags.py. A page that is requested with
``?csv=NAME`` gives the table NAME as a ``Table`` of unformatted values instead of HTML, and the
middleware answers with its rows (agreement_site/middleware/table_export.py). So the file has the
rows, order and access rules of the page. Pages then show all rows (``get_page_size``).
"""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.utils.translation import gettext as _

_FORMULA_START = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_ESCAPED_START = re.compile("''*[=+\\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)


def escape_formula(text: str) -> str:
    """Return the text, with a leading apostrophe where a spreadsheet would run it as a formula."""
    return f"'{text}" if _FORMULA_START.match(text) and not _NUMBER.match(text) else text


def unescape_formula(text: str) -> str:
    """Reverse ``escape_formula``."""
    return text[1:] if text[:1] == "'" and _ESCAPED_START.match(text) else text


PARAMETER = "csv"
MAX_EXPORT_ROWS = 10_000
ROUNDING_ERROR = 1e-12  # a smaller statistic is 0: what is left when equal numbers are subtracted
EMPTY_CELL = "–"

Format = TypeVar("Format", bound=Callable[..., Any])

_export: ContextVar[Export | None] = ContextVar("the table to export", default=None)


@dataclass
class Export:
    """The request for a table: its name, and the table once a template has declared it."""

    name: str
    table: Table | None = None


@dataclass(frozen=True)
class Interval:
    """A value with the bounds of its interval, which become separate columns in a file.

    Each may be None; ``text`` then says why there is no value.
    """

    value: float | None
    low: float | None
    high: float | None
    text: str = ""

    def __str__(self) -> str:
        value, low, high = map(format_cell, (self.value, self.low, self.high))
        bounds = f"[{low}, {high}]" if low else ""
        return " ".join(filter(None, (value, bounds, self.text)))


@dataclass(frozen=True)
class Column:
    """A column of a file: its label, and the unformatted value of each row."""

    label: str
    values: list[object] = field(default_factory=list)


@dataclass(frozen=True)
class Table:
    """A table of unformatted values."""

    columns: Sequence[Column]

    def build_rows(self) -> list[list[str]]:
        """Return the cells of the file, the labels first, unless no column has one.

        Intervals are split into the value, both ends, and any text.
        """
        columns = [cells for column in self.columns for cells in _build_cells(column)]
        header, *rows = (list(row) for row in zip(*columns, strict=True)) if columns else [[]]
        return [header, *rows] if any(header) else rows


@contextlib.contextmanager
def collect_table(name: str) -> Iterator[Export]:
    """Yield an ``Export`` that a page rendered inside the block fills with the table ``name``.

    The HTML of the page then contains no table.
    """
    export = Export(name)
    token = _export.set(export)
    try:
        yield export
    finally:
        _export.reset(token)


def get_export() -> Export | None:
    """Return the ``Export`` that the page being rendered fills; None outside an export."""
    return _export.get()


def is_exporting() -> bool:
    """Return True while a page is rendered for export."""
    return _export.get() is not None


def get_page_size(rows: int) -> int:
    """Return the number of rows to show: ``rows``, or MAX_EXPORT_ROWS during an export."""
    return MAX_EXPORT_ROWS if is_exporting() else rows


def remove_rounding_error(value: float) -> float:
    """Round a number to 15 significant digits, and to 0 if it is below ROUNDING_ERROR.

    For example 6.9e-18 becomes 0.0. Every statistic in a file passes through it, except
    probabilities, which may be that small (``limit_digits``).
    """
    return 0.0 if abs(value) < ROUNDING_ERROR else limit_digits(value)


def limit_digits(value: float) -> float:
    """Round a number to the 15 significant digits that floating-point numbers hold."""
    limited = float(f"{value:.15g}")
    return value if math.isinf(limited) else limited  # the largest numbers would overflow


def clean_row(values: Iterable[object]) -> list[object]:
    """Return the values of a row of a file, each without rounding errors (``clean_value``)."""
    return [clean_value(value) for value in values]


def clean_value(value: Any) -> Any:
    """Return the value without the rounding errors of its numbers, also inside lists and dicts."""
    if isinstance(value, float):
        return remove_rounding_error(value)
    if isinstance(value, dict):
        return {key: clean_value(part) for key, part in value.items()}
    return [clean_value(part) for part in value] if isinstance(value, list) else value


def export_as(convert: Callable[..., object]) -> Callable[[Format], Format]:
    """Decorate a template filter that renders HTML; in a file, ``convert`` is applied instead."""

    def decorate(function: Format) -> Format:
        function.export_value = convert  # type: ignore[attr-defined]
        return function

    return decorate


def format_cell(value: object) -> str:
    """Return the text of a value in a file: numbers with 15 digits, times as in ISO 8601."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(remove_rounding_error(float(value))) if math.isfinite(value) else ""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return ", ".join(map(format_cell, value))
    text = " ".join(str(value).split())
    return "" if text == EMPTY_CELL else text


def _build_cells(column: Column) -> list[list[str]]:
    """Return the cells of a column, its label first; several columns if it has intervals."""
    values, label = column.values, column.label
    if not any(isinstance(value, Interval) and value.low is not None for value in values):
        return [[label, *map(format_cell, values)]]
    suffixes = (_("lower bound"), _("upper bound"), _("Text").lower())
    labels = [label, *(f"{label}: {suffix}" if label else suffix for suffix in suffixes)]
    rows = [_split_value(value) for value in values]
    columns = [
        [label, *cells] for label, cells in zip(labels, zip(*rows, strict=True), strict=True)
    ]
    return columns if any(columns[-1][1:]) else columns[:-1]


def _split_value(value: object) -> tuple[str, str, str, str]:
    if isinstance(value, Interval):
        value_text, low, high = map(format_cell, (value.value, value.low, value.high))
        return value_text, low, high, value.text
    if isinstance(value, int | float):
        return format_cell(value), "", "", ""
    return "", "", "", format_cell(value)
