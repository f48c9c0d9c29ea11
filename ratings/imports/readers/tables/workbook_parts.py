"""Parts of a workbook: limits, several sheets read as one table, and merged cells.

openpyxl parses the parts into memory. It frees a row of a sheet, and a shared string, after reading
it, and keeps every other element of a part. So the elements and bytes between the ends of two rows
are limited.
"""

from __future__ import annotations

import functools
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple
from xml.parsers import expat

from ratings.imports.mapping.name_tests import normalize_name
from ratings.imports.problems import UnreadableFileError
from ratings.imports.records import Record

from .table_end import TableLine
from .tidy_lines import TableLines, TidyLines

_NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
# The elements that openpyxl reads one by one, and how many of them a part may have.
MAX_UNITS = {f"{_NAMESPACE} row": 1_048_576, f"{_NAMESPACE} si": 2_000_000}
MAX_ELEMENTS = 100_000  # of other kinds, between two of those: a row of 10,000 cells has 60,000
MAX_PART_BYTES = 4 << 20  # between two of those; the time of a comment grows with its square
_CHUNK_BYTES = 1 << 16


class WorkbookArchive(zipfile.ZipFile):
    """A workbook's ZIP archive that checks the size of each part before it is opened.

    Which parts are parsed depends on the contents of others, so they are checked when opened.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        super().__init__(file)
        status = path.stat()
        self._counted_names = _get_counted_names(path, status.st_size, status.st_mtime_ns)

    def open(self, name: Any, *arguments: Any, **options: Any) -> Any:
        """Open a part. Raises UnreadableFileError if it exceeds a limit or is broken."""
        part_name = name.filename if isinstance(name, zipfile.ZipInfo) else name
        if part_name not in self._counted_names:
            with super().open(name) as part:
                _PartCounter(part_name).check_part(part)
            self._counted_names.add(part_name)
        return super().open(name, *arguments, **options)


@functools.lru_cache(maxsize=8)
def _get_counted_names(path: Path, size: int, mtime_ns: int) -> set[str]:
    """Return the set of names of parts already checked in this version of a file.

    It is empty at first, and the caller adds to it: the cache returns the same set for the same
    path, size and time.
    """
    return set()


class _PartCounter:
    """Counts elements and bytes of a part since the last end of a row or shared string."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.n_elements = 0
        self.n_units = 0
        self.n_open_units = 0
        self.last_end = 0  # byte at which the last row or shared string ended
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start_element
        self.parser.EndElementHandler = self._end_element
        self.parser.StartDoctypeDeclHandler = self._reject_doctype

    def check_part(self, part: IO[bytes]) -> None:
        """Raise UnreadableFileError if the part exceeds a limit or is broken."""
        n_bytes = 0
        try:
            while chunk := part.read(_CHUNK_BYTES):
                n_bytes += len(chunk)
                self.parser.Parse(chunk, False)
                if n_bytes - self.last_end > MAX_PART_BYTES:
                    self._reject_part(MAX_PART_BYTES)
            self.parser.Parse(b"", True)
        except expat.ExpatError:
            raise UnreadableFileError("zip_cut") from None

    def _start_element(self, name: str, _attributes: Any) -> None:
        if name in MAX_UNITS:
            self.n_open_units += 1
            self.n_units += 1
            if self.n_units > MAX_UNITS[name]:
                self._reject_part(MAX_UNITS[name])
        self.n_elements += 1
        if self.n_elements > MAX_ELEMENTS:
            self._reject_part(MAX_ELEMENTS)

    def _end_element(self, name: str) -> None:
        if name in MAX_UNITS:
            self.n_open_units -= 1
            # What is in a row in a row stays in memory until the end of the outer one.
            if not self.n_open_units:
                self.n_elements = 0
                self.last_end = self.parser.CurrentByteIndex

    def _reject_doctype(self, *_arguments: Any) -> None:
        raise UnreadableFileError("xml_entities")

    def _reject_part(self, limit: int) -> None:
        raise UnreadableFileError("xlsx_part", name=self.name[:200], limit=limit)


RATER_COLUMN = "rater"
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=\"([A-Z]+)(\d+):[A-Z]+(\d+)\"")
_MAX_ELEMENT_BYTES = 200  # of one mergeCell


class MergedSheets:
    """Iterable of the rows of several sheets as one table, with the column names once.

    Line numbers continue from sheet to sheet. ``are_raters``: the title of each sheet is its rater,
    in an additional column.
    """

    has_blank_lines = False  # those of a sheet are dropped with its notes

    def __init__(self, sheets: Sequence[tuple[str, TableLines]], *, are_raters: bool) -> None:
        self.titles = [title for title, _lines in sheets]
        self.sheets = [lines for _title, lines in sheets]
        self.are_raters = are_raters
        self.extra_records: list[Record] = []

    @property
    def bytes_read(self) -> int:
        return sum(lines.bytes_read for lines in self.sheets) // max(len(self.sheets), 1)

    def __iter__(self) -> Iterator[TableLine]:
        n_lines_before = 0
        for number, (title, lines) in enumerate(zip(self.titles, self.sheets, strict=True)):
            tidy_lines = TidyLines(lines)
            line = 0
            for position, (line, cells) in enumerate(tidy_lines):
                self._move_extra_records(tidy_lines, n_lines_before)
                if position or not number:
                    yield n_lines_before + line, self._add_rater(cells, title, is_name=not position)
            self._move_extra_records(tidy_lines, n_lines_before)
            n_lines_before += line

    def _add_rater(self, cells: Sequence[Any], title: str, *, is_name: bool) -> Sequence[Any]:
        if not self.are_raters:
            return cells
        if is_name:
            names = {normalize_name(str(name)) for name in cells}
            return [*cells, "sheet" if RATER_COLUMN in names else RATER_COLUMN]
        return [*cells, title]

    def _move_extra_records(self, lines: TidyLines, n_lines_before: int) -> None:
        for record in lines.extra_records:
            self.extra_records.append(
                record
                if record.line is None
                else record._replace(line=record.line + n_lines_before)
            )
        lines.extra_records.clear()


class MergedCells(NamedTuple):
    """Merged cells of one column (from 0) down to ``last_row``, a row number of the sheet."""

    column: int
    last_row: int


def read_merged_cells(sheet: Any) -> Mapping[int, list[MergedCells]]:
    """Return number of the first row -> the vertically merged cells that begin there.

    They stand after the rows in the file, so the sheet is read a second time.
    """
    from openpyxl.utils import column_index_from_string

    merged: dict[int, list[MergedCells]] = {}
    tail = b""
    with sheet._get_source() as part:
        while chunk := part.read(_CHUNK_BYTES):
            text, end = tail + chunk, 0
            for match in _MERGED.finditer(text):
                end = match.end()
                column, first_row, last_row = match.groups()
                if int(first_row) < int(last_row):
                    cells = MergedCells(
                        column_index_from_string(column.decode()) - 1, int(last_row)
                    )
                    merged.setdefault(int(first_row), []).append(cells)
            tail = text[max(end, len(text) - _MAX_ELEMENT_BYTES) :]
    return merged


def fill_merged_cells(
    rows: Iterator[Sequence[Any]], merged: Mapping[int, list[MergedCells]]
) -> Iterator[Sequence[Any]]:
    """Yield the rows with the value of merged cells repeated in each of their rows.

    Merged titles and column names are not repeated.
    """
    if not merged:
        yield from rows
        return
    open_cells: list[tuple[MergedCells, Any]] = []
    has_names = False
    for number, cells in enumerate(rows, start=1):
        open_cells = [entry for entry in open_cells if entry[0].last_row >= number]
        filled = list(cells)
        for cell, value in open_cells:
            filled += [None] * (cell.column + 1 - len(filled))
            filled[cell.column] = value
        if has_names:
            open_cells += [
                (cell, filled[cell.column])
                for cell in merged.get(number, ())
                if cell.column < len(filled) and filled[cell.column] is not None
            ]
        has_names = has_names or sum(cell is not None for cell in cells) >= 2
        yield filled
