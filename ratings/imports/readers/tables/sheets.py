"""Several sheets of a workbook with the same columns, read as one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ratings.imports.mapping.column_names import normalize_name
from ratings.imports.records import Record

from .table_end import TableLine
from .tidy_lines import TableLines, TidyLines

RATER_COLUMN = "rater"


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
