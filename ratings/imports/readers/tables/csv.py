"""CSV: plain text with one record per line, in any encoding and with any usual delimiter."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from pathlib import Path

from ratings.imports.decoding.encodings import PROVISIONAL_ENCODING
from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.layout_guess import TableHead
from ratings.imports.problems import UnreadableFileError

from .base import TableSource
from .csv_records import DELIMITERS, SEPARATOR_LINE, SPACE, CsvRecords
from .tidy_lines import NAMES_MARK, are_remarks, is_frame_line, is_line_above_print

GUESS_ROWS = 20  # rows from which the delimiter is guessed
MIN_SPACED_ROWS = 3  # fewer rows may have the same number of words by chance
# Problems that may disappear with another delimiter.
DELIMITER_PROBLEMS = ("cell_long", "columns_many", "quote_open", "invalid_quote")


class CsvSource(TableSource):
    """Source of CSV files (see FileSource)."""

    name = "CSV"
    extensions = (".csv", ".tsv", ".txt")
    has_encoding = True
    has_delimiter = True

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "text"

    def open_lines(self, path: Path, mapping: ImportMapping) -> CsvRecords:
        encoding = mapping.encoding or PROVISIONAL_ENCODING
        return CsvRecords(path, encoding=encoding, delimiter=mapping.delimiter)

    def read_head(self, path: Path, mapping: ImportMapping) -> TableHead:
        """Return the head of the table; the delimiter is guessed if none is selected."""
        encoding = mapping.encoding or PROVISIONAL_ENCODING
        delimiter = mapping.delimiter or guess_delimiter(path, encoding=encoding)
        head = super().read_head(path, dataclasses.replace(mapping, delimiter=delimiter))
        if len(head.names) == 1:
            raise UnreadableFileError("one_column", line=1)
        return dataclasses.replace(head, delimiter=delimiter)


def guess_delimiter(path: Path, *, encoding: str) -> str:
    """Return the delimiter that the file states, or else one guessed from the first rows.

    It splits most of these rows into the same number of columns, and if several do, into the most.
    Spaces are tried if no other does. Raises UnreadableFileError.
    """
    if stated := read_stated_delimiter(path, encoding=encoding):
        return stated
    best_score = (0.0, 0, "")
    first_error: UnreadableFileError | None = None
    for delimiter in DELIMITERS:
        try:
            records = CsvRecords(path, encoding=encoding, delimiter=delimiter)
            rows = list(itertools.islice(records, GUESS_ROWS + 1))
        except UnreadableFileError as error:
            if error.problem.kind not in DELIMITER_PROBLEMS:
                raise
            first_error = first_error or error
            continue
        # Titles above the names and notes below the rows have another width.
        widths = Counter(len(cells) for _line, cells in rows if not is_frame_line(cells))
        if widths and (most_common := widths.most_common(1)[0])[0] > 1:
            width, count = most_common
            best_score = max(best_score, (count / len(rows), width, delimiter))
    if best_score[2]:
        return best_score[2]
    if _is_separated_by_spaces(path, encoding=encoding):
        return SPACE
    raise first_error or UnreadableFileError("one_column", line=1)


def _is_separated_by_spaces(path: Path, *, encoding: str) -> bool:
    """Return whether all first rows have as many words as the names, or one more: row names of R.

    A column of other texts does not have the same number of words in several rows.
    """
    records = CsvRecords(path, encoding=encoding, delimiter=SPACE)
    try:
        rows = list(itertools.islice(records, GUESS_ROWS + 1))
    except UnreadableFileError:
        return False
    if rows and is_line_above_print(rows[0][1]):
        rows = [row for row in rows[1:] if not are_remarks(row[1])]
    if not rows:
        return False
    n_names, *widths = [sum(map(bool, cells)) for _line, cells in rows]
    n_names -= rows[0][1][0] == NAMES_MARK
    return (
        n_names > 1 and len(widths) >= MIN_SPACED_ROWS and set(widths) in ({n_names}, {n_names + 1})
    )


def read_stated_delimiter(path: Path, *, encoding: str) -> str:
    """Return the delimiter of a first line like `sep=;`, or an empty text."""
    try:
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            match = SEPARATOR_LINE.fullmatch(file.readline(20).rstrip("\r\n"))
    except FileNotFoundError:
        raise UnreadableFileError("file_missing") from None
    return match[1] if match and match[1] in (*DELIMITERS, "\t") else ""
