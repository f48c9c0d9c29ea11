"""The end of a table: totals, results and notes below its rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

TableLine = tuple[int, Sequence[Any]]

MAX_END_ROWS = 25
MAX_TOTAL_ROWS = 5
MIN_ROWS_ABOVE = 3  # rows above results and notes
NUMBER = re.compile(r"[+-]?[\d.,\s]+%?")
_TOTAL = re.compile(
    r"((grand|overall|percent|observed|raw|cohen'?s|fleiss'?|weighted|krippendorff'?s|%) ?|sub)?"
    r"(totals?|sum|mean|average|avg|count|median|std|stdev|sd|percent(age)?|agreement"
    r"|kappa|alpha|icc|ac1|variance|accuracy|summe|gesamt|mittelwert|anzahl|somme|moyenne|suma|promedio|media|合计|总计|平均)\b.*",
    re.IGNORECASE,
)


class TableEnd:
    """The last rows of a table; `remove_totals_and_notes` moves what is no data to `removed`.

    ``rows_above`` are rows of the same table above the last ones.
    """

    def __init__(
        self, rows_above: Sequence[TableLine], rows: list[TableLine], n_columns: int
    ) -> None:
        self.rows_above = rows_above
        self.rows = rows
        self.n_columns = n_columns
        self.removed: dict[str, list[TableLine]] = {}  # reason -> rows

    def remove_totals_and_notes(self, *, has_blank_lines: bool) -> None:
        """Move totals and notes from ``rows`` to ``removed``.

        Notes stand below a total or, if ``has_blank_lines``, below a blank line.
        """
        self._remove_totals()
        if "total_row" not in self.removed:
            self._remove_totals_with_remarks()
        if has_blank_lines and (n_notes := self._count_notes()):
            self._remove_last(n_notes, "note_row")
            self._remove_totals()

    def _remove_last(self, count: int, reason: str) -> None:
        if count:
            self.removed[reason] = [*self.rows[-count:], *self.removed.get(reason, [])]
            del self.rows[-count:]

    def _remove_totals(self) -> None:
        totals = _count_results([*self.rows_above, *self.rows], MAX_TOTAL_ROWS)
        if not totals:
            limit = min(MAX_TOTAL_ROWS, len(self.rows))
            while totals < limit and _is_total(self.rows[-1 - totals][1]):
                totals += 1
        self._remove_last(totals, "total_row")

    def _remove_totals_with_remarks(self) -> None:
        """Remove totals that have rows of a single cell below them, and these rows."""
        n_remarks = 0
        while n_remarks < len(self.rows) - 1:
            first, *others = map(get_text, self.rows[-1 - n_remarks][1])
            if not first or any(others) or self.n_columns < 2:
                break
            n_remarks += 1
        if n_remarks and _is_total(self.rows[-1 - n_remarks][1]):
            self._remove_last(n_remarks, "note_row")
            self._remove_totals()

    def _count_notes(self) -> int:
        """Return the number of rows below a blank line that are notes, such as a legend."""
        n_notes = self._count_short_rows_below_blank_line()
        n_data = len(self.rows) - n_notes
        above = [*self.rows_above, *self.rows[:n_data]]
        if len(above) < MIN_ROWS_ABOVE or all(self._is_note(row) for _, row in above):
            return 0
        return 0 if _continue_columns(above, self.rows[n_data:]) else n_notes

    def _count_short_rows_below_blank_line(self) -> int:
        """Return the number of rows below the first blank line after which all rows are short."""
        n_notes = 0
        for start in range(len(self.rows) - 1, 0, -1):
            if not self._is_note(self.rows[start][1]):
                break
            if _has_blank_line(self.rows[start - 1], self.rows[start]):
                n_notes = len(self.rows) - start
        return n_notes

    def _is_note(self, cells: Sequence[Any]) -> bool:
        """Return whether only the first cells of a row are filled, fewer than there are columns."""
        filled = [index for index, cell in enumerate(cells) if get_text(cell)]
        return 0 < len(filled) < self.n_columns and filled == list(range(len(filled)))


def _continue_columns(above: Sequence[TableLine], below: Sequence[TableLine]) -> bool:
    """Return whether the rows below seem to continue the data above.

    They do if a column other than the first repeats one of its texts, or if a numeric column has a
    further number.
    """
    values = _list_cells(above) - _list_cells(above, columns=1)
    texts = {(index, text) for index, text in _list_cells(below) if text}
    numeric = {i for i, _ in values} - {i for i, text in values if not _is_number(text)}
    return bool(values & texts) or any(i in numeric and _is_number(text) for i, text in texts)


def _list_cells(rows: Sequence[TableLine], columns: int | None = None) -> set[tuple[int, str]]:
    """Return the distinct (column, text) of the first ``columns`` cells (None: all) of the rows."""
    return {(i, get_text(cell)) for _, cells in rows for i, cell in enumerate(cells[:columns])}


def get_text(cell: Any) -> str:
    """Return a cell as stripped text; "" for None."""
    return "" if cell is None else str(cell).strip()


def _is_number(text: str) -> bool:
    return not text or NUMBER.fullmatch(text) is not None


def _has_blank_line(row: TableLine, next_row: TableLine) -> bool:
    """Return whether a blank line separates the rows, judging by their line numbers."""
    n_line_breaks = sum(cell.count("\n") for cell in row[1] if isinstance(cell, str))
    return next_row[0] - row[0] > 1 + n_line_breaks


def _is_total(cells: Sequence[Any]) -> bool:
    """Return whether a row begins with a word such as "Total" and has only numbers after it."""
    texts = [text for text in map(get_text, cells) if text]
    return bool(
        len(texts) > 1
        and _TOTAL.fullmatch(texts[0])
        and all(NUMBER.fullmatch(text) for text in texts[1:])
    )


def _count_results(rows: Sequence[TableLine], limit: int) -> int:
    """Return the number of result rows, such as `Kappa, 0.42`, at the end of a table.

    They have a name and numbers, in columns that have no number in any row above.
    """
    n_results = 0
    for _, cells in reversed(rows[-limit:]):
        name, *others = [get_text(cell) for cell in cells] or [""]
        filled = [text for text in others if text]
        if not filled or not name or NUMBER.fullmatch(name):
            break
        if not all(map(NUMBER.fullmatch, filled)):
            break
        n_results += 1
    above = rows[: len(rows) - n_results]
    columns = {
        index
        for _, cells in rows[len(above) :]
        for index, cell in enumerate(cells)
        if index and get_text(cell)
    }
    has_numbers = any(
        NUMBER.fullmatch(get_text(cells[index]))
        for _, cells in above
        for index in columns
        if index < len(cells)
    )
    return 0 if has_numbers or len(above) < MIN_ROWS_ABOVE else n_results
