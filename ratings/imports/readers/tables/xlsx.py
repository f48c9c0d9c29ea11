"""Excel workbooks (.xlsx): the sheet that most likely has the table, read row by row.

Only values are read: a formula has the value that the spreadsheet program stored last, and links to
other files are never followed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.column_cells import TableHead
from ratings.imports.mapping.import_mapping import (
    SHEETS_ARE_RATERS,
    SHEETS_ARE_ROWS,
    ImportMapping,
)
from ratings.imports.mapping.name_tests import is_role_name
from ratings.imports.problems import UnreadableFileError
from ratings.imports.records import SkippedRecord

from .base import CountedLines, TableSource
from .cells import InvalidCell
from .csv import MAX_CELL_LENGTH, MAX_COLUMNS
from .table_end import TableLine
from .tidy_lines import TableLines
from .workbook_parts import MergedSheets, WorkbookArchive, fill_merged_cells, read_merged_cells

WORKBOOK_PART = "xl/workbook.xml"
STRINGS_PART = "xl/sharedStrings.xml"
MAX_STRINGS_BYTES = 128 << 20  # the shared strings are held in memory
MAX_ROWS = 1_048_576  # of a sheet, as in spreadsheet programs
MAX_EMPTY_ROWS = 100_000  # between two rows
TABLE_ROWS = 20  # rows of a sheet in which a table is searched
# Not #N/A, which stands for a missing value.
ERROR_VALUES = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!")


class XlsxSource(TableSource):
    """Source of Excel workbooks (see FileSource)."""

    name = "Excel"
    extensions = (".xlsx",)
    has_encoding = False

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "zip" and is_workbook(sample.path)

    def read_head(self, path: Path, mapping: ImportMapping) -> TableHead:
        head = super().read_head(path, mapping)
        return dataclasses.replace(head, sheet_titles=_list_read_and_other_sheets(path)[0])

    def open_lines(self, path: Path, mapping: ImportMapping) -> TableLines:
        if mapping.sheets not in (SHEETS_ARE_RATERS, SHEETS_ARE_ROWS):
            return XlsxLines(path)
        titles, unread_titles = _list_read_and_other_sheets(path)
        lines = MergedSheets(
            [(title, XlsxLines(path, title)) for title in titles],
            are_raters=mapping.sheets == SHEETS_ARE_RATERS,
        )
        lines.extra_records += [SkippedRecord(0, "other_sheets", title) for title in unread_titles]
        return lines


def is_workbook(path: Path) -> bool:
    """Return whether a ZIP archive is a workbook. Raises UnreadableFileError."""
    try:
        with zipfile.ZipFile(path) as archive:
            return WORKBOOK_PART in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        raise UnreadableFileError("zip_cut") from None


class XlsxLines(CountedLines):
    """Rows of a workbook's sheet as lines of cells; rows without a value are left out.

    A row has as many cells as the widest one so far. ``title`` selects the sheet; without it, the
    sheet that ranks first (`_rank_visible_sheet`) is read, and the others are reported.
    """

    has_blank_lines = True

    def __init__(self, path: Path, title: str = "") -> None:
        super().__init__(path)
        self.title = title

    def __iter__(self) -> Iterator[TableLine]:
        has_formulas = _validate_and_detect_formulas(self.path)
        with contextlib.ExitStack() as stack:
            value_sheet = stack.enter_context(_open_sheet(self.path, self.title, data_only=True))
            self.n_rows = value_sheet.max_row or 1
            value_sheet.reset_dimensions()
            rows = fill_merged_cells(_iter_rows(value_sheet), read_merged_cells(value_sheet))
            formula_rows: Iterator[Any] = itertools.repeat(None)
            if has_formulas:
                formula_sheet = stack.enter_context(
                    _open_sheet(self.path, self.title, data_only=False)
                )
                formula_sheet.reset_dimensions()
                formula_rows = _iter_rows(formula_sheet)
            for number, sheet in enumerate(value_sheet.parent.worksheets, start=1):
                if sheet is not value_sheet and not self.title:
                    self.extra_records.append(SkippedRecord(number, "other_sheets", sheet.title))
            yield from self._iter_lines(rows, formula_rows)

    def _iter_lines(self, rows: Iterator[Any], formula_rows: Iterator[Any]) -> Iterator[TableLine]:
        width = 0
        for line, (cells, formulas) in enumerate(zip(rows, formula_rows, strict=False), start=1):
            self.rows_read = line
            values = _mark_invalid_cells(line, cells, formulas or ())
            if values:
                width = max(width, len(values))  # titles above the names are narrower
                yield line, [*values, *[None] * (width - len(values))]


def _mark_invalid_cells(line: int, cells: Sequence[Any], formulas: Sequence[Any]) -> list[Any]:
    """Return the cells, with an InvalidCell for each error and each formula without a value.

    Raises UnreadableFileError for a text that is too long.
    """
    values: list[Any] = []
    for cell, formula in itertools.zip_longest(cells, formulas):
        value = cell
        if isinstance(cell, str):
            if len(cell) > MAX_CELL_LENGTH:
                raise UnreadableFileError("cell_long", line=line, limit=MAX_CELL_LENGTH)
            if cell in ERROR_VALUES:
                value = InvalidCell(cell)
        elif cell is None and _is_formula(formula):
            value = InvalidCell()
        values.append(value)
    return values


def _validate_and_detect_formulas(path: Path) -> bool:
    """Return whether a workbook has formulas.

    Raises UnreadableFileError for a workbook that is broken or unpacks to too many bytes.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            unpacked_bytes = sum(entry.file_size for entry in entries)
            strings_bytes = sum(
                entry.file_size for entry in entries if entry.filename == STRINGS_PART
            )
            if unpacked_bytes > settings.IMPORT_MAX_BYTES:
                raise UnreadableFileError("too_large", limit=settings.IMPORT_MAX_BYTES)
            if strings_bytes > MAX_STRINGS_BYTES:
                raise UnreadableFileError("too_large", limit=MAX_STRINGS_BYTES)
            return any(
                _has_formula(archive, entry.filename)
                for entry in entries
                if entry.filename.startswith("xl/worksheets/")
            )
    except FileNotFoundError:
        raise UnreadableFileError("file_missing") from None
    except UnreadableFileError:
        raise
    # Exceptions of zlib, zipfile and struct for a broken archive have no common base class.
    except Exception:
        raise UnreadableFileError("zip_cut") from None


def _has_formula(archive: zipfile.ZipFile, name: str) -> bool:
    tail = b""
    with archive.open(name) as part:
        while chunk := part.read(1 << 16):
            text = tail + chunk
            if b"<f>" in text or b"<f " in text or b"<f/" in text:
                return True
            tail = text[-2:]
    return False


@contextlib.contextmanager
def _open_sheet(path: Path, title: str = "", *, data_only: bool) -> Iterator[Any]:
    """Yield the sheet with this title for sequential reading.

    Without a title, it is the sheet that ranks first: preferably a visible one with a table. Raises
    UnreadableFileError for a broken workbook, and for one without sheets.
    """
    from openpyxl.reader.excel import ExcelReader

    # Pass an open file, because openpyxl rejects a path without a known extension.
    with path.open("rb") as file:
        try:
            reader = ExcelReader(file, read_only=True, data_only=data_only, keep_links=False)
            reader.archive = WorkbookArchive(path, file)
            reader.read()
            workbook = reader.wb
        except UnreadableFileError:
            raise
        except Exception:  # a broken part raises whatever its parser raises
            raise UnreadableFileError("zip_cut") from None
        if not workbook.worksheets:
            raise UnreadableFileError("empty")
        yield workbook[title] if title else max(workbook.worksheets, key=_rank_visible_sheet)


def _list_read_and_other_sheets(path: Path) -> tuple[list[str], list[str]]:
    """Return (titles of the sheets to read as one table, titles of all others).

    The former have the same columns as the best sheet. Raises UnreadableFileError.
    """
    _validate_and_detect_formulas(path)
    with _open_sheet(path, data_only=True) as read_sheet:
        names = _find_header_names(read_sheet)
        titles: tuple[list[str], list[str]] = ([], [])
        for sheet in read_sheet.parent.worksheets:
            titles[not (sheet is read_sheet or _find_header_names(sheet) == names)].append(
                sheet.title
            )
    return titles


def _find_header_names(sheet: Any) -> list[str]:
    """Return the first row with two or more cells, without trailing empty ones; [] without one."""
    for cells in _read_first_rows(sheet):
        names = ["" if cell is None else str(cell) for cell in cells]
        if sum(map(bool, names)) >= 2:
            while not names[-1]:
                names.pop()
            return names
    return []


def _rank_visible_sheet(sheet: Any) -> tuple[bool, int]:
    """Return (is a visible table, rank) as the sort key of a sheet: visible tables rank highest."""
    rank = _rank_sheet(sheet)
    return rank >= 2 and sheet.sheet_state == "visible", rank


def _rank_sheet(sheet: Any) -> int:
    """Return 3 for a table with known column names, 2 for another, 1 for notes, 0 if empty.

    A table has at least two rows with several cells among its first rows.
    """
    rows = [[cell for cell in cells if cell is not None] for cells in _read_first_rows(sheet)]
    wide_rows = [row for row in rows if len(row) >= 2]
    if len(wide_rows) < 2:
        return 1 if any(rows) else 0
    return 3 if any(is_role_name(str(name)) for name in wide_rows[0]) else 2


def _read_first_rows(sheet: Any) -> list[Sequence[Any]]:
    try:
        return list(sheet.iter_rows(max_row=TABLE_ROWS, values_only=True))
    except Exception:
        raise UnreadableFileError("zip_cut") from None


def _iter_rows(sheet: Any) -> Iterator[Sequence[Any]]:
    """Yield the values of each row without trailing empty cells; raise UnreadableFileError.

    A row that the file leaves out is yielded as empty. Row numbers are checked first, because
    openpyxl would create all rows up to any number that the file contains.
    """
    from openpyxl.worksheet._reader import WorkSheetParser

    workbook = sheet.parent
    number = 0
    with sheet._get_source() as source:
        parser = WorkSheetParser(
            source,
            sheet._shared_strings,
            data_only=workbook.data_only,
            epoch=workbook.epoch,
            date_formats=workbook._date_formats,
            timedelta_formats=workbook._timedelta_formats,
        )
        for row_number, cells in _iter_parsed_rows(parser.parse()):
            if row_number > MAX_ROWS:
                raise UnreadableFileError("xlsx_rows", found=row_number, limit=MAX_ROWS)
            if row_number - number - 1 > MAX_EMPTY_ROWS:
                raise UnreadableFileError("xlsx_gap", line=row_number, limit=MAX_EMPTY_ROWS)
            if row_number <= number:  # a number that occurred already
                continue
            for _empty in range(number + 1, row_number):
                yield ()
            number = row_number
            yield _build_row(row_number, cells)


def _build_row(number: int, cells: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
    values = {cell["column"]: cell["value"] for cell in cells if cell["value"] is not None}
    width = max(values, default=0)
    if width > MAX_COLUMNS:
        raise UnreadableFileError("columns_many", line=number, found=width, limit=MAX_COLUMNS)
    return [values.get(column) for column in range(1, width + 1)]


def _iter_parsed_rows(rows: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows; raise UnreadableFileError for any error of the parser."""
    while True:
        try:
            row = next(rows, ...)
        except Exception:
            raise UnreadableFileError("zip_cut") from None
        if row is ...:
            return
        yield row


def _is_formula(cell: Any) -> bool:
    return (isinstance(cell, str) and cell.startswith("=")) or type(cell).__name__ in (
        "ArrayFormula",
        "DataTableFormula",
    )
