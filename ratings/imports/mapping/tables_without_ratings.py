"""Detect tables of counts, probabilities or results, and tables without a header row."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from .column_cells import (
    NUMBER_PATTERN,
    ColumnCells,
    TableHead,
    are_counts_of_equal_sums,
    are_probabilities,
    are_row_numbers,
)
from .name_tests import (
    is_agreement_result_name,
    is_count_name,
    is_frequency_name,
    is_index_name,
    rank_name,
    split_numbered_name,
)
from .role_words import RATER_STEMS

MIN_ROWS = 3  # with fewer rows nothing can be told
MIN_ROWS_OF_COUNTS = 5  # of counts whose sums differ
MIN_RATERS_OF_CODES = 4
MIN_ROWS_OF_CODES = 10
MAX_OTHER_ROWS = 10  # one of so many rows may lack the code, or have no answer
MIN_CODE_SHARE = 4  # one of so many cells has a code
MIN_LABELS_WITH_CODE = 3  # 0 beside 1 alone is an answer
_MARKS = " :=.-_/|"  # between a rater and a label
_TOTALS = ("all", "total", "totals", "sum", "summe", "gesamt", "somme", "total general", "合计")


def detect_table_without_ratings(head: TableHead) -> tuple[str, list[int]] | None:
    """Return (key of DOUBTS, columns) of a table of results or without a header row, or None."""
    results = [index for index, name in enumerate(head.names) if is_agreement_result_name(name)]
    if results and all(head.columns[index].is_numeric for index in results):
        return "results", results
    if matrix := _find_agreement_matrix(head):
        return "results_of_pairs", matrix
    if shares := _find_share_columns(head):
        return "frequencies_of_labels", shares
    every_column = list(range(len(head.names)))
    has_rater_names = all(map(_is_rater_number, head.names))
    if len(every_column) > 2 and not has_rater_names and _is_diagonal_largest(head, every_column):
        return "frequencies_of_labels", every_column
    if _are_names_data(head):
        are_numbers = all(map(NUMBER_PATTERN.fullmatch, head.names))
        return "numbers_as_names" if are_numbers else "no_header", every_column
    return None


def _find_agreement_matrix(head: TableHead) -> list[int]:
    """Return the columns of a square table of agreement between raters, with 1 on the diagonal.

    [] for any other table.
    """
    columns = find_crossed_counts(head)
    rows = [[head.columns[index].texts[row] for index in columns] for row in range(len(columns))]
    diagonal = {row[place] for place, row in enumerate(rows)}
    fractions = any("." in text or "," in text for row in rows for text in row)
    return (
        columns
        if diagonal and diagonal <= {"1", "1.0", "1.00", "1.000", "1,00"} and fractions
        else []
    )


def _find_share_columns(head: TableHead) -> list[int]:
    """Return the columns that say how often each label in the first column occurs, or [].

    In each such column, the percentages add up to 100, or the numbers add up to the same sum.
    """
    first, columns = head.columns[0], range(1, len(head.names))
    labels = [text for text in first.filled if not is_total_name(text)]
    if len(labels) < 2 or not first.is_unique or first.is_numeric or len(columns) < 2:
        return []
    cells = [
        [text for label, text in zip(first.texts, head.columns[index].texts, strict=True)
         if label and not is_total_name(label)]
        for index in columns
    ]  # fmt: skip
    has_percents = all(text.endswith("%") for column in cells for text in column)
    numbers = [[text.removesuffix("%").strip() for text in column] for column in cells]
    if not all(NUMBER_PATTERN.fullmatch(text) for column in numbers for text in column):
        return []
    sums = [sum(float(text.replace(",", ".")) for text in column) for column in numbers]
    if has_percents:
        return list(columns) if all(99 <= total <= 101 for total in sums) else []
    is_label_column = rank_name(head.names[0], "label") is not None
    is_same_sum = max(sums) - min(sums) <= 0.01 * max(sums) and max(sums) > 0
    return list(columns) if is_label_column and is_same_sum else []


def _are_names_data(head: TableHead) -> bool:
    """Return whether each column has its own name among its values: the header row is missing."""
    return (
        len(head.names) > 1
        and len(head.sample_rows) >= MIN_ROWS
        and all(
            name in column.values for name, column in zip(head.names, head.columns, strict=True)
        )
    )


def find_crossed_counts(head: TableHead) -> list[int]:
    """Return the columns of counts in a cross table of two raters' labels; [] for other tables."""
    rows = [text for text in head.columns[0].filled if not is_total_name(text)]
    columns = [index for index, name in enumerate(head.names) if index and not is_total_name(name)]
    names = [head.names[index] for index in columns]
    is_numeric = all(head.columns[index].is_numeric for index in columns)
    if len(rows) < 2 or len(rows) != len(set(rows)) or not is_numeric:
        return []
    if rows == [str(number) for number in range(1, len(rows) + 1)]:
        return columns if _is_diagonal_largest(head, columns) else []
    for texts in ((rows, names), (split_rater_prefix(rows)[1], split_rater_prefix(names)[1])):
        row_labels, column_labels = ({text.casefold() for text in group} for group in texts)
        if row_labels == column_labels and len(rows) == len(columns):
            return columns
    return []


def _is_diagonal_largest(head: TableHead, columns: Sequence[int]) -> bool:
    """Return whether each number on the diagonal is the largest of its row and its column.

    So it is in a table of counts if two raters mostly give the same label.
    """
    if len(columns) != len(head.sample_rows) or not all(
        _are_whole(head.columns[i]) for i in columns
    ):
        return False
    rows = list(zip(*(head.columns[index].list_numbers() for index in columns), strict=True))
    return all(
        row[place] > max(n for other, n in enumerate(line) if other != place)
        for place, row in enumerate(rows)
        for line in (row, [other[place] for other in rows])
    )


def is_total_name(name: str) -> bool:
    """Return whether a row or a column of this name has the sums of the others."""
    return name.strip().casefold() in _TOTALS


def split_rater_prefix(texts: Sequence[str]) -> tuple[str, list[str]]:
    """Return (rater, labels) of texts that begin with the same rater: Rater A: yes, Rater A: no.

    The rater of a single text is the whole text. Without a rater, return "" and the texts.
    """
    letters = itertools.takewhile(lambda chars: len(set(chars)) == 1, zip(*texts, strict=False))
    prefix = "".join(chars[0] for chars in letters)
    if len(texts) > 1:
        prefix = prefix[: max((prefix.rfind(mark) + 1 for mark in _MARKS), default=0)]
    rater = prefix.strip(_MARKS)
    number = split_numbered_name(rater)
    if not (number and number[0] in RATER_STEMS) and rank_name(rater, "rater") is None:
        return "", list(texts)
    return rater, [text[len(prefix) :].strip() for text in texts]


def find_frequency(head: TableHead) -> list[int]:
    """Return [column that says how often the combination in the other columns occurs], or []."""
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
        if all(
            any(rank_name(n, role) is not None for n in head.names) for role in ("item", "rater")
        ):
            return []  # rows of one rating each, maybe with a weight
        has_keys = any(column.is_unique for column in combined)
        if len(combined) > 1 and not has_keys and len(rows) == len(head.sample_rows) >= MIN_ROWS:
            return [index]
    return []


def find_named_counts(head: TableHead) -> list[int]:
    """Return the columns of whole numbers that are named like numbers of ratings."""
    return [
        index
        for index, name in enumerate(head.names)
        if (is_frequency_name(name) or is_count_name(name)) and _are_whole(head.columns[index])
    ]


def find_count_columns(head: TableHead, candidates: Sequence[int]) -> list[int]:
    """Return the columns that count the ratings of each label, or [].

    All rows have the same sum or, if some raters did not rate every item, most have the largest.
    """
    columns = [
        index
        for index in candidates
        if head.columns[index].is_numeric and not _is_rater_number(head.names[index])
    ]
    if are_counts_of_equal_sums([head.columns[index] for index in columns]):
        return columns
    if len(columns) < 3 or not all(_are_whole(head.columns[index]) for index in columns):
        return []
    rows = list(zip(*(head.columns[index].list_numbers() for index in columns), strict=True))
    sums = Counter(map(sum, rows))
    largest, n_largest = max(sums), sums[max(sums)]
    has_zeros = sum(0 in row for row in rows) >= 0.8 * len(rows)
    is_cheap_to_parse = 2 * min(sums) >= largest and 2 * n_largest >= len(rows)
    is_count = max(map(max, rows)) > 1 and has_zeros and is_cheap_to_parse
    return columns if is_count and len(rows) >= MIN_ROWS_OF_COUNTS else []


def find_named_counters(head: TableHead) -> list[int]:
    """Return the columns of counts that are fields of objects (label_counter.positive), or [].

    [] for a single one, and if a cell has anything but a whole number.
    """
    columns = [
        index
        for index, name in enumerate(head.names)
        if "." in name and is_count_name(name) and head.columns[index].filled
    ]
    cells = [text for index in columns for text in head.columns[index].filled]
    return columns if len(columns) > 1 and all(map(str.isdecimal, cells)) else []


def find_counts_with_total(head: TableHead) -> list[int]:
    """Return adjacent columns of whole numbers whose sum is in a column such as `count`, or []."""
    integer_columns = [index for index, cells in enumerate(head.columns) if _are_whole(cells)]
    totals = [index for index in integer_columns if is_frequency_name(head.names[index])]
    if not totals or len(head.sample_rows) < MIN_ROWS_OF_COUNTS:
        return []
    numbers = {index: head.columns[index].list_numbers() for index in integer_columns}
    for total, first in itertools.product(totals, integer_columns):
        columns: list[int] = []
        for index in itertools.takewhile(
            integer_columns.__contains__, range(first, len(head.names))
        ):
            if index in totals:
                break
            columns.append(index)
            rows = zip(*(numbers[column] for column in columns), strict=True)
            if len(columns) > 1 and list(map(sum, rows)) == numbers[total]:
                return columns
    return []


def find_codes_in_all_rows(head: TableHead, indexes: Sequence[int]) -> list[str]:
    """Return ["0"] or ["-1"] if that seems to be a code for "did not rate" in the columns, else [].

    Nearly every row has it beside other numbers. An answer that is so frequent would be the only
    one in some rows.
    """
    if len(indexes) < MIN_RATERS_OF_CODES or len(head.sample_rows) < MIN_ROWS_OF_CODES:
        return []
    columns = [head.columns[index] for index in indexes]
    if not all(column.is_numeric for column in columns if column.filled):
        return []
    if len(set.union(*(column.values for column in columns))) < MIN_LABELS_WITH_CODE:
        return []
    rows = list(zip(*(column.texts for column in columns), strict=True))
    n_cells = sum(len(column.filled) for column in columns)
    codes = []
    for code in ("0", "-1"):
        counts = [row.count(code) for row in rows]
        n_others = sum(not 0 < n < len(row) for n, row in zip(counts, rows, strict=True))
        if MIN_CODE_SHARE * sum(counts) >= n_cells and MAX_OTHER_ROWS * n_others <= len(rows):
            codes.append(code)
    return codes[:1]


def find_probability_columns(head: TableHead, candidates: Sequence[int]) -> list[int]:
    """Return the columns of fractions that add up to 1 in every row, or []."""
    columns = [index for index in candidates if head.columns[index].is_numeric]
    fractions = [
        index
        for index in columns
        if all(0 <= number <= 1 for number in head.columns[index].list_numbers())
        and any(0 < number < 1 for number in head.columns[index].list_numbers())
    ]
    for group in (columns, fractions):
        if are_probabilities([head.columns[index] for index in group]):
            return group
    return []


def _are_whole(cells: ColumnCells) -> bool:
    """Return whether every cell is a whole number, 0 or more."""
    return len(cells.filled) == len(cells.texts) > 0 and all(
        text.isascii() and text.isdigit() for text in cells.texts
    )


def _is_rater_number(name: str) -> bool:
    number = split_numbered_name(name)
    return bool(number and number[0] in RATER_STEMS)
