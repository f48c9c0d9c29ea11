"""Sheets of a workbook: several ones read as one table, and merged cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ratings.imports.mapping.name_tests import normalize_name
from ratings.imports.records import Record

from .table_end import TableLine
from .tidy_lines import TableLines, TidyLines

RATER_COLUMN = "rater"
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=\"([A-Z]+)(\d+):[A-Z]+(\d+)\"")
_CHUNK_BYTES = 1 << 16
_MAX_ELEMENT_BYTES = 200  # of one mergeCell


class MergedSheets:
    """Iterates over the rows of sheets one after another, with the names of the columns once.

    The numbers of lines run on from sheet to sheet. ``are_raters``: a further column has the rater,
    who is the title of the sheet.
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
    """Cells of several rows in one column (from 0); the rows are numbers of the sheet."""

    column: int
    last_row: int


def read_merged_cells(sheet: Any) -> Mapping[int, list[MergedCells]]:
    """Return first row -> cells that are merged with those of the rows below.

    The file lists them behind the rows, so it is read once more.
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
    """Yield the rows with the values of merged cells; not those of titles and names of columns."""
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
