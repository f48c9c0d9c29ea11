"""Ratings from numbers: counts of labels, crossed labels of two raters, combinations of labels.

The items of the latter two have no names, so they are numbered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ratings.imports.mapping.tables_without_ratings import is_total_name, split_rater_prefix
from ratings.imports.records import RatingRecord, ReaderProblem, Record, SkippedRecord

from .cells import clean_cell

MAX_RATERS_OF_COUNTS = 1000  # ratings of one label in one row of a table of counts
MAX_ITEMS_OF_COUNT = 100_000  # items of one cell of a table of two raters
ROW_RATER, COLUMN_RATER = "row rater", "column rater"  # where the table does not name them


def iter_count_ratings(
    line: int,
    cells: Sequence[Any],
    key: str,
    columns: Sequence[tuple[int, str]],
    *,
    label: str = "",
    n_raters: int = 0,
) -> Iterator[Record]:
    """Yield the ratings of anonymous raters in a row of counts; ``columns`` are (index, name).

    ``key`` is the item's. The label is ``label`` if given, else the name of the column.
    ``n_raters`` is the number of raters of the item in earlier rows.
    """
    for index, name in columns:
        count = _parse_count(cells[index], MAX_RATERS_OF_COUNTS)
        if count is None:
            yield _build_problem(line, name, cells[index], MAX_RATERS_OF_COUNTS)
            continue
        text = label or clean_cell(name)
        for number in range(n_raters + 1, n_raters + count + 1):
            yield RatingRecord(line, key, f"anonymous {number}", "", text, column=name)
        n_raters += count


class CountedLabels:
    """Rows that each have an item, a label, and the number of raters who gave it."""

    def __init__(self, columns: Mapping[str, int], names: Sequence[str]) -> None:
        self.label_index = columns["label"]
        self.column = columns["count"], names[columns["count"]]
        self.n_raters: Counter[str] = Counter()  # of each item in the rows above

    def iter_ratings(self, line: int, cells: Sequence[Any], key: str) -> Iterator[Record]:
        """Yield the ratings of a row, each by another anonymous rater of the item."""
        label, n_raters = clean_cell(cells[self.label_index]), self.n_raters[key]
        if not label:
            yield SkippedRecord(line, "no_label_row")
            return
        for record in iter_count_ratings(
            line, cells, key, [self.column], label=label, n_raters=n_raters
        ):
            self.n_raters[key] += isinstance(record, RatingRecord)
            yield record


class CrossedRows:
    """Rows of a table that crosses the labels of two raters: one in the rows, one in the columns.

    ``label_index`` is the column of the row's labels; ``columns`` are (index, name) of the counts.
    """

    def __init__(
        self, names: Sequence[str], label_index: int, columns: Sequence[tuple[int, str]]
    ) -> None:
        self.label_index = label_index
        column_rater, labels = split_rater_prefix([name for _, name in columns])
        self.column_rater = column_rater or COLUMN_RATER
        self.columns = [(index, label) for (index, _), label in zip(columns, labels, strict=True)]
        self.row_rater, _ = split_rater_prefix([names[label_index]])
        self.n_items = 0

    def iter_ratings(self, line: int, cells: Sequence[Any]) -> Iterator[Record]:
        """Yield a rating of each of the two raters for every item that the row counts."""
        text = clean_cell(cells[self.label_index])
        if is_total_name(text):
            yield SkippedRecord(line, "total_row", text)
            return
        rater, row_label = self._split_row_text(text)
        for index, label in self.columns:
            count = _parse_count(cells[index], MAX_ITEMS_OF_COUNT)
            if count is None:
                yield _build_problem(line, label, cells[index], MAX_ITEMS_OF_COUNT)
                continue
            for number in range(self.n_items + 1, self.n_items + count + 1):
                yield RatingRecord(line, str(number), rater, "", row_label)
                yield RatingRecord(line, str(number), self.column_rater, "", label)
            self.n_items += count

    def _split_row_text(self, text: str) -> tuple[str, str]:
        """Return (rater, label) of the text that names a row, such as "Rater A: yes".

        Without a rater in the text, the rater is that of all rows, or ROW_RATER. A text without a
        known label is returned as the label.
        """
        labels = [label for _, label in self.columns]
        if text.isdigit() and text not in labels and 0 < int(text) <= len(labels):
            # Rows that are numbered instead of named have the labels of the columns in order.
            return self.row_rater or ROW_RATER, labels[int(text) - 1]
        for label in sorted(labels, key=len, reverse=True):
            if text.casefold() == label.casefold():
                return self.row_rater or ROW_RATER, label
            rater, _ = split_rater_prefix([text, text[: -len(label)]])
            if rater and text.casefold().endswith(label.casefold()):
                return rater, label
        return self.row_rater or ROW_RATER, text


class CombinationRows:
    """Rows that each stand for all items with the same combination of labels.

    ``count_column`` is (index, name) of the number of items, ``raters`` are (index of the label
    column, rater).
    """

    def __init__(self, count_column: tuple[int, str], raters: Sequence[tuple[int, str]]) -> None:
        self.count_column = count_column
        self.raters = raters
        self.n_items = 0

    def iter_ratings(self, line: int, cells: Sequence[Any]) -> Iterator[Record]:
        """Yield the ratings of every item that the row counts."""
        count_index, name = self.count_column
        count = _parse_count(cells[count_index], MAX_ITEMS_OF_COUNT)
        if count is None:
            yield _build_problem(line, name, cells[count_index], MAX_ITEMS_OF_COUNT)
            return
        labels = [(rater, clean_cell(cells[index])) for index, rater in self.raters]
        for number in range(self.n_items + 1, self.n_items + count + 1):
            for rater, label in labels:
                if label:
                    yield RatingRecord(line, str(number), rater, "", label, column=rater)
        self.n_items += count


def _parse_count(cell: Any, limit: int) -> int | None:
    """Return the whole number in a cell, 0 if it is empty; None if invalid or above the limit."""
    text = clean_cell(cell) or "0"
    count = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    return count if 0 <= count <= limit else None


def _build_problem(line: int, column: str, cell: Any, limit: int) -> ReaderProblem:
    return ReaderProblem(
        line, "count", column, {"value": clean_cell(cell)[:40], "low": 0, "limit": limit}
    )
