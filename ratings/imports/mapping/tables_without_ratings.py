"""Detect tables whose cells are no ratings: counts, probabilities, results, no line of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from .column_cells import ColumnCells, TableHead, are_row_numbers, have_equal_sums
from .column_names import (
    RATER_STEMS,
    is_agreement_result_name,
    is_frequency_name,
    is_index_name,
    split_numbered_name,
)

MIN_ROWS = 3  # with fewer rows nothing can be told
MIN_ROWS_OF_COUNTS = 5  # of counts whose sums differ
_TOTALS = ("all", "total", "totals", "sum", "summe", "gesamt", "somme", "total general", "合计")


def detect_table_without_ratings(head: TableHead) -> tuple[str, list[int]] | None:
    """Return (key of DOUBTS, columns) of a table whose cells are no ratings, or None.

    Such as a table of results or of the counts of two raters, or one whose first line is no line of
    column names.
    """
    results = [index for index, name in enumerate(head.names) if is_agreement_result_name(name)]
    if results and all(head.columns[index].is_numeric for index in results):
        return "results", results
    if _are_names_data(head):
        return "no_header", list(range(len(head.names)))
    if crossed := _find_crossed_counts(head):
        return "crossed_counts", crossed
    if frequency := _find_frequency(head):
        return "frequencies", frequency
    return None


def _are_names_data(head: TableHead) -> bool:
    """Return whether each name is also a value of its column: the line of names is missing."""
    return (
        len(head.names) > 1
        and len(head.sample_rows) >= MIN_ROWS
        and all(
            name in column.values for name, column in zip(head.names, head.columns, strict=True)
        )
    )


def _find_crossed_counts(head: TableHead) -> list[int]:
    """Return the columns of a table of two raters: rows and columns are the labels of each."""
    labels = {text.casefold() for text in head.columns[0].filled} - set(_TOTALS)
    columns = [
        index for index, name in enumerate(head.names) if index and name.casefold() not in _TOTALS
    ]
    names = {head.names[index].casefold() for index in columns}
    is_numeric = all(head.columns[index].is_numeric for index in columns)
    return columns if len(labels) > 1 and labels == names and is_numeric else []


def _find_frequency(head: TableHead) -> list[int]:
    """Return the column that says how often each combination of the other columns occurs."""
    for index, name in enumerate(head.names):
        cells = head.columns[index]
        if not is_frequency_name(name) or not _are_whole(cells):
            continue
        combined = [
            column
            for place, column in enumerate(head.columns)
            if place != index and not (are_row_numbers(column) and is_index_name(head.names[place]))
        ]
        rows = set(zip(*(column.texts for column in combined), strict=True))
        has_keys = any(column.is_unique for column in combined)
        if len(combined) > 1 and not has_keys and len(rows) == len(head.sample_rows) >= MIN_ROWS:
            return [index]
    return []


def find_count_columns(head: TableHead, candidates: Sequence[int]) -> list[int]:
    """Return the columns that count the ratings of each category: rows with the same sum.

    Where some raters did not rate every item, most rows have the same sum, and none has more.
    """
    columns = [
        index
        for index in candidates
        if head.columns[index].is_numeric and not _is_rater_number(head.names[index])
    ]
    if _have_sums(head, columns, are_counts=True):
        return columns
    if len(columns) < 3 or not all(_are_whole(head.columns[index]) for index in columns):
        return []
    rows = list(zip(*(head.columns[index].list_numbers() for index in columns), strict=True))
    sums = Counter(map(sum, rows))
    largest, n_largest = max(sums), sums[max(sums)]
    has_zeros = sum(0 in row for row in rows) >= 0.8 * len(rows)
    is_bounded = 2 * min(sums) >= largest and 2 * n_largest >= len(rows)
    is_count = max(map(max, rows)) > 1 and has_zeros and is_bounded
    return columns if is_count and len(rows) >= MIN_ROWS_OF_COUNTS else []


def find_probability_columns(head: TableHead, candidates: Sequence[int]) -> list[int]:
    """Return the columns of fractions that add up to 1 in every row."""
    columns = [index for index in candidates if head.columns[index].is_numeric]
    fractions = [
        index
        for index in columns
        if all(0 <= number <= 1 for number in head.columns[index].list_numbers())
        and any(0 < number < 1 for number in head.columns[index].list_numbers())
    ]
    return next(
        (group for group in (columns, fractions) if _have_sums(head, group, are_counts=False)), []
    )


def _are_whole(cells: ColumnCells) -> bool:
    """Return whether every cell is a whole number, 0 or more."""
    return len(cells.filled) == len(cells.texts) > 0 and all(
        text.isascii() and text.isdigit() for text in cells.texts
    )


def _have_sums(head: TableHead, indexes: Collection[int], *, are_counts: bool) -> bool:
    return have_equal_sums([head.columns[index] for index in indexes], are_counts=are_counts)


def _is_rater_number(name: str) -> bool:
    number = split_numbered_name(name)
    return bool(number and number[0] in RATER_STEMS)
