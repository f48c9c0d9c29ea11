"""CSV: plain text with one record per line, in any encoding and with any usual delimiter.

Records are streamed: memory stays flat, and each record has its line. Limits: MAX_CELL_LENGTH
characters a cell, MAX_LINE_LENGTH characters a line, MAX_COLUMNS columns. A file that exceeds one
is rejected with its line, without loading the oversized part.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ratings.imports.decoding.encodings import PROVISIONAL_ENCODING, TextChunks
from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.layout_guess import TableHead
from ratings.imports.problems import UnreadableFileError
from ratings.imports.records import Record

from .base import TableSource
from .tidy_lines import NAMES_MARK, are_remarks, is_frame_line, is_line_above_print

MAX_CELL_LENGTH = 1 << 20  # characters
MAX_LINE_LENGTH = 4 << 20  # characters
MAX_COLUMNS = 10_000

csv.field_size_limit(MAX_CELL_LENGTH)  # the csv module has one limit for the whole process

DELIMITERS = (",", ";", "\t", "|")
# The line by which spreadsheet programs state the delimiter of a file.
SEPARATOR_LINE = re.compile(r"\"?sep=(.)\"?[\s,;|]*", re.IGNORECASE)
SPACE = " "  # several stand for one, as in the tables that R prints


class CsvRecords:
    """Iterable of (line, cells) of a file without empty rows; ``bytes_read`` is the progress.

    ``line`` is the line on which the record begins, from 1, even if quoted cells span several
    lines. Iterating may raise UnreadableFileError.
    """

    has_blank_lines = True

    def __init__(self, path: Path, *, encoding: str, delimiter: str) -> None:
        self.chunks = TextChunks(path, encoding=encoding)
        self.delimiter = delimiter
        self.extra_records: list[Record] = []

    @property
    def bytes_read(self) -> int:
        return self.chunks.bytes_read

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(
            self._iter_lines(),
            delimiter=self.delimiter,
            strict=True,
            skipinitialspace=self.delimiter == SPACE,
        )
        line = 1
        try:
            for cells in reader:
                if any(cells) and not (line == 1 and self._is_separator_line(cells)):
                    if len(cells) > MAX_COLUMNS:
                        raise UnreadableFileError(
                            "columns_many", line=line, found=len(cells), limit=MAX_COLUMNS
                        )
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as error:
            raise _build_error(error, line, spans_lines=reader.line_num > line) from None

    def _is_separator_line(self, cells: list[str]) -> bool:
        return SEPARATOR_LINE.fullmatch(self.delimiter.join(cells)) is not None

    def _iter_lines(self) -> Iterator[str]:
        """Yield lines with their ends: \\n, \\r\\n, or \\r alone as in old spreadsheets.

        Raises UnreadableFileError for a line that is too long.
        """
        line = 1  # line of the next character
        unfinished: list[str] = []  # chunks of an unfinished line
        for text in self.chunks:
            if "\n" not in text and "\r" not in text:
                unfinished.append(text)
            else:
                lines = list(io.StringIO("".join([*unfinished, text]), newline=""))
                unfinished = [] if lines[-1].endswith(("\n", "\r")) else [lines.pop()]
                line += len(lines)
                yield from lines
            if sum(map(len, unfinished)) > MAX_LINE_LENGTH:
                raise UnreadableFileError("line_long", line=line, limit=MAX_LINE_LENGTH)
        if last_line := "".join(unfinished):
            yield last_line


def _build_error(error: csv.Error, line: int, *, spans_lines: bool) -> UnreadableFileError:
    """Return the import's error for an error of the csv module, which is identified by its text.

    ``spans_lines``: the record continues on further lines.
    """
    text = str(error)
    if "field limit" in text and not spans_lines:
        return UnreadableFileError("cell_long", line=line, limit=MAX_CELL_LENGTH)
    if "field limit" in text or "unexpected end" in text:
        return UnreadableFileError("quote_open", line=line)
    return UnreadableFileError("invalid_quote", line=line)


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
        """Return the head of the table; the delimiter is guessed if none is selected.

        Raises UnreadableFileError, also for a table of a single column.
        """
        encoding = mapping.encoding or PROVISIONAL_ENCODING
        delimiter = mapping.delimiter or guess_delimiter(path, encoding=encoding)
        head = super().read_head(path, dataclasses.replace(mapping, delimiter=delimiter))
        if len(head.names) == 1:
            raise UnreadableFileError("one_column", line=1)
        return dataclasses.replace(head, delimiter=delimiter)


def guess_delimiter(path: Path, *, encoding: str) -> str:
    """Return the delimiter that the file states, or else one guessed from the first rows.

    The guess splits most of these rows into the same number of columns; at a tie, into the most.
    Spaces are tried last. Raises UnreadableFileError.
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
    """Return whether each of the first rows has as many words as the header, or one more.

    One more is the row name that R writes. Sentences would differ in their numbers of words.
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
    """Return the delimiter that a first line such as `sep=;` states.

    "" without such a line, and if it states another character than those of DELIMITERS.
    Raises UnreadableFileError if the file is missing.
    """
    try:
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            match = SEPARATOR_LINE.fullmatch(file.readline(20).rstrip("\r\n"))
    except FileNotFoundError:
        raise UnreadableFileError("file_missing") from None
    return match[1] if match and match[1] in (*DELIMITERS, "\t") else ""
