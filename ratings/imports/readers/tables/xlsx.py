"""Excel workbooks (.xlsx): the first sheet that has rows, read row by row. Values only: formulas
give what the spreadsheet program last stored, links to other files are never followed."""

from __future__ import annotations

import contextlib
import itertools
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.problems import Unreadable
from ratings.imports.readers.tables.rows import Line
from ratings.imports.records import LeftOut, Wrong

from .base import CountedLines, TableSource
from .csv_records import MAX_CELL, MAX_COLUMNS

WORKBOOK = "xl/workbook.xml"
STRINGS = "xl/sharedStrings.xml"
MAX_STRINGS = 128 << 20  # bytes of the texts, which are held in memory
ERRORS = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A")


class Xlsx(TableSource):
    """The source of Excel workbooks (see Source)."""

    name = _("table: Excel workbook")
    endings = (".xlsx",)
    encodings = False

    def recognises(self, sample: Sample) -> bool:
        return sample.kind == "zip" and is_workbook(sample.path)

    def lines(self, path: Path, chosen: Mapping) -> XlsxLines:
        return XlsxLines(path)


def is_workbook(path: Path) -> bool:
    """Whether a ZIP archive is one. Raises Unreadable."""
    try:
        with zipfile.ZipFile(path) as archive:
            return WORKBOOK in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        raise Unreadable("xlsx") from None


class XlsxLines(CountedLines):
    """The rows of the sheet as lines of cells; trailing empty cells are as good as none."""

    def __iter__(self) -> Iterator[Line]:
        formulas = _look_inside(self.path)
        with contextlib.ExitStack() as stack:
            values = stack.enter_context(_sheet(self.path, data_only=True))
            self.n_rows = values.max_row or 1
            values.reset_dimensions()
            rows: Iterator[Any] = values.iter_rows(values_only=True)
            written: Iterator[Any] = itertools.repeat(None)
            if formulas:
                sheet = stack.enter_context(_sheet(self.path, data_only=False))
                sheet.reset_dimensions()
                written = sheet.iter_rows(values_only=True)
            for others in range(len(values.parent.worksheets) - 1):
                self.aside.append(LeftOut(others + 1, "sheets"))
            yield from self._lines(_parsed(rows), _parsed(written))

    def _lines(self, rows: Iterator[Any], written: Iterator[Any]) -> Iterator[Line]:
        width = 0
        for line, (cells, formulas) in enumerate(zip(rows, written, strict=False), start=1):
            self.rows = line
            self._check(line, cells, formulas or ())
            found = list(_trimmed(cells))
            if len(found) > MAX_COLUMNS:
                raise Unreadable("columns_many", line=line, found=len(found), limit=MAX_COLUMNS)
            if found:
                width = width or len(found)
                yield line, found + [None] * (width - len(found))

    def _check(self, line: int, cells: Sequence[Any], formulas: Sequence[Any]) -> None:
        for place, cell in enumerate(cells):
            if isinstance(cell, str):
                if len(cell) > MAX_CELL:
                    raise Unreadable("cell_long", line=line, limit=MAX_CELL)
                if cell in ERRORS:
                    self.aside.append(Wrong(line, "xlsx_error", _letters(place), {"value": cell}))
            elif cell is None and place < len(formulas) and _is_formula(formulas[place]):
                self.aside.append(Wrong(line, "xlsx_formula", _letters(place)))


def _look_inside(path: Path) -> bool:
    """Whether a sheet holds formulas. Raises Unreadable for a workbook that is broken or unpacks
    to too much."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            unpacked = sum(entry.file_size for entry in entries)
            strings = sum(entry.file_size for entry in entries if entry.filename == STRINGS)
            if unpacked > settings.IMPORT_MAX_BYTES:
                raise Unreadable("xlsx_large", limit=settings.IMPORT_MAX_BYTES)
            if strings > MAX_STRINGS:
                raise Unreadable("xlsx_large", limit=MAX_STRINGS)
            return any(
                _holds_formula(archive, entry.filename)
                for entry in entries
                if entry.filename.startswith("xl/worksheets/")
            )
    except FileNotFoundError:
        raise Unreadable("lost") from None
    except Unreadable:
        raise
    # zlib, zipfile and struct have no common base for what a broken archive raises
    except Exception:
        raise Unreadable("xlsx") from None


def _holds_formula(archive: zipfile.ZipFile, name: str) -> bool:
    end = b""
    with archive.open(name) as part:
        while chunk := part.read(1 << 16):
            text = end + chunk
            if b"<f>" in text or b"<f " in text or b"<f/" in text:
                return True
            end = text[-2:]
    return False


@contextlib.contextmanager
def _sheet(path: Path, *, data_only: bool) -> Iterator[Any]:
    """The first sheet that has rows, for reading in order."""
    import openpyxl

    # open, for the name of a stored file has no ending that openpyxl would trust
    with path.open("rb") as file:
        try:
            book = openpyxl.load_workbook(
                file, read_only=True, data_only=data_only, keep_links=False
            )
        except Exception:  # any: a broken part raises whatever its parser meets first
            raise Unreadable("xlsx") from None
        if not book.worksheets:
            raise Unreadable("empty")
        yield next((sheet for sheet in book.worksheets if _has_rows(sheet)), book.worksheets[0])


def _has_rows(sheet: Any) -> bool:
    try:
        first = next(sheet.iter_rows(max_row=1, values_only=True), None)
    except Exception:
        raise Unreadable("xlsx") from None
    return first is not None and any(cell is not None for cell in first)


def _parsed(rows: Iterator[Any]) -> Iterator[Any]:
    while True:
        try:
            row = next(rows, ...)
        except Exception:
            raise Unreadable("xlsx") from None
        if row is ...:
            return
        yield row


def _trimmed(cells: Sequence[Any]) -> Sequence[Any]:
    end = len(cells)
    while end and cells[end - 1] is None:
        end -= 1
    return cells[:end]


def _is_formula(cell: Any) -> bool:
    return (isinstance(cell, str) and cell.startswith("=")) or type(cell).__name__ in (
        "ArrayFormula",
        "DataTableFormula",
    )


def _letters(place: int) -> str:
    """A column's name in a spreadsheet: A, B, ..., Z, AA."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
