"""Lines of a table without titles, totals, and columns that have no name.

What is left out is reported; a row that may be data is never dropped.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ratings.imports.problems import UnreadableFileError
from ratings.imports.records import Record, SkippedRecord

TableLine = tuple[int, Sequence[Any]]

BUFFERED_ROWS = 200  # rows in which a column without a name has to be empty
MAX_TITLE_ROWS = 10
MAX_TOTAL_ROWS = 5
UNNAMED_FIRST_COLUMN = "(column 1)"  # row names that a data frame was saved with
_NUMBER = re.compile(r"[+-]?[\d.,\s]+%?")
_TOTAL = re.compile(
    r"(grand |sub)?(totals?|sum|mean|average|avg|count|median|std|stdev|sd|percent(age)?|agreement"
    r"|kappa|summe|gesamt|mittelwert|anzahl|somme|moyenne|suma|promedio|media|合计|总计|平均)\b.*",
    re.IGNORECASE,
)


class TableLines(Protocol):
    """Iterates over (line, cells), the column names first; raises UnreadableFileError.

    ``extra_records`` are records that have no cells of their own; the reader yields and clears
    them.
    """

    extra_records: list[Record]

    @property
    def bytes_read(self) -> int: ...

    def __iter__(self) -> Iterator[TableLine]: ...


class TidyLines:
    """Iterates over column names and rows of a table, without titles and totals."""

    def __init__(self, lines: TableLines) -> None:
        self.lines = lines
        self.extra_records = lines.extra_records

    @property
    def bytes_read(self) -> int:
        return self.lines.bytes_read

    def __iter__(self) -> Iterator[TableLine]:
        rows = iter(self.lines)
        start: list[TableLine] = []
        error: UnreadableFileError | None = None
        try:
            for row in itertools.islice(rows, BUFFERED_ROWS):
                start.append(row)
        except UnreadableFileError as unreadable:
            if not start:
                raise
            error = unreadable  # raised behind the rows that can be read
        self._drop_titles(start)
        self._drop_extra_header_lines(start)
        if not start:
            return
        line, names = start[0]
        names = list(names)
        if not _to_text(names[0]) and any(cells and _to_text(cells[0]) for _, cells in start[1:]):
            names[0] = UNNAMED_FIRST_COLUMN
        columns = [
            index
            for index, name in enumerate(names)
            if _to_text(name)
            or any(len(cells) > index and _to_text(cells[index]) for _, cells in start[1:])
        ]
        yield line, [names[index] for index in columns]
        data = itertools.chain(start[1:], rows)
        for line, cells in self._iter_without_totals(data):
            yield line, self._select_cells(line, cells, columns, len(names))
        if error is not None:
            raise error

    def _drop_titles(self, start: list[TableLine]) -> None:
        """Remove rows of one cell above the names of the columns."""
        widths = [sum(map(bool, map(_to_text, cells))) for _, cells in start]
        if not widths or max(widths) < 2 or not all(width == 1 for width in widths[:1]):
            return
        n_titles = next(number for number, width in enumerate(widths) if width > 1)
        if n_titles <= MAX_TITLE_ROWS:
            self._count_skipped_rows(start[:n_titles], "title_row")
            del start[:n_titles]

    def _drop_extra_header_lines(self, start: list[TableLine]) -> None:
        """Remove the second and third header line that survey tools write."""
        for number, (_, cells) in enumerate(start[1:3], start=1):
            texts = [_to_text(cell).replace(" ", "") for cell in cells]
            if any(text.startswith('{"ImportId"') for text in texts):
                self._count_skipped_rows(start[1 : number + 1], "header_row")
                del start[1 : number + 1]
                return

    def _iter_without_totals(self, rows: Iterator[TableLine]) -> Iterator[TableLine]:
        """Yield the rows, except those of totals at the end."""
        last: deque[TableLine] = deque()
        for row in rows:
            last.append(row)
            if len(last) > MAX_TOTAL_ROWS:
                yield last.popleft()
        totals = 0
        while totals < len(last) and _is_total(last[-1 - totals][1]):
            totals += 1
        ordered = list(last)
        yield from ordered[: len(ordered) - totals]
        self._count_skipped_rows(ordered[len(ordered) - totals :], "total_row")

    def _select_cells(
        self, line: int, cells: Sequence[Any], columns: Sequence[int], width: int
    ) -> Sequence[Any]:
        """Return the cells of the columns; all cells if the row has too few or too many."""
        end = len(cells)
        while end > width and not _to_text(cells[end - 1]):
            end -= 1
        if end > width or len(cells) <= columns[-1]:
            return cells
        if len(columns) == width == len(cells):
            return cells
        named = set(columns)
        if any(_to_text(cells[index]) for index in range(min(end, width)) if index not in named):
            self.extra_records.append(SkippedRecord(line, "unnamed_column"))
        return [cells[index] for index in columns]

    def _count_skipped_rows(self, rows: Sequence[TableLine], reason: str) -> None:
        self.extra_records += [
            SkippedRecord(line, reason, " ".join(map(_to_text, cells)).strip())
            for line, cells in rows
        ]


def _is_total(cells: Sequence[Any]) -> bool:
    """Return whether a row begins like a total and has only numbers behind it."""
    texts = [text for text in map(_to_text, cells) if text]
    return bool(
        len(texts) > 1
        and _TOTAL.fullmatch(texts[0])
        and all(_NUMBER.fullmatch(text) for text in texts[1:])
    )


def _to_text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()
