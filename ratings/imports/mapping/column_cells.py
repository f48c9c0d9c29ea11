"""The first rows of a table, tests of what its columns contain, and the guess of their roles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

MAX_LABELS = 50  # different labels that a column of texts may have
MAX_LABEL_LENGTH = 60  # characters of a text that looks like a label
MIN_RELIABLE_ROWS = 10  # fewer rows are a poor sample
MIN_COMPUTED_ROWS = 6  # rows in which a column may not equal a computed number by chance
MAX_SHORT_LABEL = 20  # characters that a label may have in a poor sample
MEDIA_FILE_PATTERN = re.compile(
    r"(https?://|/)?[^\s]*\.(png|jpe?g|gif|webp|avif|mp3|ogg|wav|flac|m4a|mp4|webm)(\?[^\s]*)?",
    re.IGNORECASE,
)
NUMBER_PATTERN = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
# Roles that ratings of a wide table do not have.
LONG_ROLES = ("rated_at", "comment", "question", "seconds", "guidelines", "label", "rater", "count")
_TIME_PATTERN = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]+\d{1,2}:\d{2}.*)?")


@dataclass(frozen=True)
class TableHead:
    """Column names and first rows of a table.

    ``delimiter`` is empty if it has none; ``sample_rows`` are the first rows as (line, cells).
    ``sheet_titles`` are the sheets of a workbook that have these columns.
    """

    delimiter: str
    names: list[str]
    sample_rows: list[tuple[int, Sequence[Any]]]
    sheet_titles: list[str] = field(default_factory=list)

    @cached_property
    def columns(self) -> list[ColumnCells]:
        """Return the cells of each column in the first rows."""
        return [
            ColumnCells([get_cell_text(cells, index) for _line, cells in self.sample_rows])
            for index in range(len(self.names))
        ]

    @property
    def shown_rows(self) -> list[tuple[int, Sequence[Any]]]:
        """Return the first rows, which the page shows to the lead."""
        return self.sample_rows[:20]


@dataclass(frozen=True)
class ColumnCells:
    """The cells of one column in the first rows, as stripped texts; an empty cell is ""."""

    texts: list[str]

    @cached_property
    def filled(self) -> list[str]:
        """Return the texts that are not empty."""
        return [text for text in self.texts if text]

    @cached_property
    def values(self) -> set[str]:
        """Return the different texts, without the empty one."""
        return set(self.filled)

    @cached_property
    def is_unique(self) -> bool:
        """Return whether no cell is empty and no two cells have the same text."""
        return len(self.values) == len(self.texts)

    @cached_property
    def has_repeats(self) -> bool:
        """Return whether a text occurs twice."""
        return len(self.values) < len(self.filled)

    @cached_property
    def is_numeric(self) -> bool:
        """Return whether all texts are numbers."""
        return bool(self.filled) and all(map(NUMBER_PATTERN.fullmatch, self.filled))

    @cached_property
    def has_fractions(self) -> bool:
        """Return whether any number is not whole. The column must be numeric."""
        return any(not number.is_integer() for number in self.list_numbers())

    @cached_property
    def has_times(self) -> bool:
        """Return whether all texts begin with a date; a time may follow, but not stand alone."""
        return bool(self.filled) and all(map(_TIME_PATTERN.match, self.filled))

    @cached_property
    def is_constant(self) -> bool:
        """Return whether more than three cells are filled, all with the same text."""
        return len(self.filled) > 3 and len(self.values) == 1

    @cached_property
    def has_short_texts(self) -> bool:
        """Return whether the texts, other than JSON objects, are short enough for labels.

        False for times.
        """
        lengths = [len(text) for text in self.filled if not is_object_text(text)]
        return bool(lengths) and not self.has_times and max(lengths) <= MAX_LABEL_LENGTH

    @cached_property
    def is_label_like(self) -> bool:
        """Return whether the texts may be labels: short, no times, and repeated.

        At most three of four texts differ. Of few texts, one repeat suffices, and very short ones
        need none.
        """
        if not self.has_short_texts:
            return False
        if len(self.filled) < MIN_RELIABLE_ROWS:
            return all(len(text) <= MAX_SHORT_LABEL for text in self.filled) or self.has_repeats
        return self.has_repeats and 4 * len(self.values) <= 3 * len(self.filled)

    def list_numbers(self) -> list[float]:
        """Return the numbers in the filled cells. The column must be numeric."""
        return [_to_number(text) for text in self.filled]

    def is_determined_by(self, other: ColumnCells) -> bool:
        """Return whether rows with the same text in ``other`` always have the same text here.

        False if ``other`` repeats no text, because then there are no rows to compare.
        """
        value_by_key: dict[str, str] = {}
        return other.has_repeats and all(
            value_by_key.setdefault(key, text) == text
            for key, text in zip(other.texts, self.texts, strict=True)
        )


@dataclass
class ColumnGuess:
    """Guessed layout and column roles of a table; the fields are those of `ImportMapping`.

    ``reasons`` maps the index of a column to the reason for its role (a key of COLUMN_REASONS).
    ``doubt`` is a key of DOUBTS, which says what the user has to decide before anything is stored,
    or empty.
    """

    layout: str = "long"
    columns: dict[str, int] = field(default_factory=dict)  # role -> column index
    # Columns of the wide layout that are not raters.
    excluded_columns: list[int] = field(default_factory=list)
    content_columns: list[int] = field(default_factory=list)
    attribute_columns: list[int] = field(default_factory=list)
    label_columns: list[int] = field(default_factory=list)
    value_columns: dict[str, list[str]] = field(default_factory=dict)
    rows_are_items: bool = False
    key_columns: list[int] = field(default_factory=list)
    key_separator: str = ""
    reasons: dict[int, str] = field(default_factory=dict)
    doubt: str = ""
    doubtful_columns: list[int] = field(default_factory=list)
    suspected_codes: list[str] = field(default_factory=list)
    has_exact_labels: bool = False  # the columns are those of this program's own exports


def is_object_text(text: str) -> bool:
    """Return whether a text looks like a JSON object or Python dictionary, such as {"a": 1}."""
    return text.startswith("{") and ":" in text


def _to_number(text: str) -> float:
    return float(text.replace(",", "."))


def get_cell_text(cells: Sequence[Any], index: int) -> str:
    """Return a cell as stripped text, empty if the row has no such cell."""
    if index >= len(cells) or cells[index] is None:
        return ""
    return str(cells[index]).strip()


def find_computed_column(columns: Mapping[int, ColumnCells]) -> int | None:
    """Return the index of a column that was computed from all other given columns, or None.

    It says whether they are equal, or has their difference, sum, mean or range. If several columns
    qualify, the last one is returned, because results are usually written to the right of their
    inputs.
    """
    for index in sorted(columns, reverse=True):
        others = [column for other, column in columns.items() if other != index]
        if len(others) >= 2 and _is_computed_from(columns[index], others):
            return index
    return None


def _is_computed_from(column: ColumnCells, others: Sequence[ColumnCells]) -> bool:
    rows = [
        (text, texts)
        for text, *texts in zip(column.texts, *(other.texts for other in others), strict=True)
        if text and all(texts)
    ]
    if len(rows) < MIN_COMPUTED_ROWS or len(column.values) < 2:
        return False
    by_equality: dict[bool, set[str]] = {True: set(), False: set()}
    for text, texts in rows:
        by_equality[len(set(texts)) == 1].add(text)
    if all(len(values) == 1 for values in by_equality.values()):
        return by_equality[True] != by_equality[False]
    if not all(cells.is_numeric for cells in [column, *others]):
        return False
    numbers = [(_to_number(text), [_to_number(other) for other in texts]) for text, texts in rows]
    return any(
        all(abs(formula(values) - number) < 0.01 for number, values in numbers)
        for formula in (sum, _get_mean, _get_difference, _get_range)
    )


def _get_mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _get_difference(values: Sequence[float]) -> float:
    return values[0] - sum(values[1:])


def _get_range(values: Sequence[float]) -> float:
    return max(values) - min(values)


def are_row_numbers(column: ColumnCells) -> bool:
    """Return whether the cells count the rows, from 0 or 1."""
    expected = [str(number) for number in range(len(column.texts) + 1)]
    return column.texts in (expected[:-1], expected[1:])


def are_counts_of_equal_sums(columns: Sequence[ColumnCells]) -> bool:
    """Return whether the columns have whole numbers, also 0, with the same sum in every row."""
    rows = _list_rows_of_numbers(columns)
    numbers = [number for row in rows for number in row]
    is_count = all(number.is_integer() for number in numbers) and 0 in numbers
    return is_count and len({sum(row) for row in rows}) == 1 and sum(rows[0]) >= 2


def are_probabilities(columns: Sequence[ColumnCells]) -> bool:
    """Return whether the columns have numbers, also fractions, that add up to 1 in every row."""
    rows = _list_rows_of_numbers(columns)
    has_fractions = any(not number.is_integer() for row in rows for number in row)
    return has_fractions and all(abs(sum(row) - 1) < 0.02 for row in rows)


def _list_rows_of_numbers(columns: Sequence[ColumnCells]) -> list[tuple[float, ...]]:
    """Return the rows of two or more columns as numbers if every cell is a number >= 0; else [].

    Also [] if there are fewer than three rows, or if all rows are equal.
    """
    if len(columns) < 2 or len(columns[0].texts) < 3:
        return []
    if not all(column.is_numeric and len(column.filled) == len(column.texts) for column in columns):
        return []
    rows = list(zip(*(column.list_numbers() for column in columns), strict=True))
    return rows if min(map(min, rows)) >= 0 and len(set(rows)) > 1 else []
