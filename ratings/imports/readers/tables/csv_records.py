"""Records of a CSV file, streamed: memory stays flat, and each record has its line.

Limits: MAX_CELL_LENGTH characters a cell, MAX_LINE_LENGTH characters a line, MAX_COLUMNS columns.
A file that exceeds one is rejected with its line, without loading the oversized part.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from ratings.imports.decoding.text_chunks import TextChunks
from ratings.imports.problems import UnreadableFileError
from ratings.imports.records import Record

MAX_CELL_LENGTH = 1 << 20  # characters
MAX_LINE_LENGTH = 4 << 20  # characters
MAX_COLUMNS = 10_000

csv.field_size_limit(MAX_CELL_LENGTH)  # the csv module has one limit for the whole process

DELIMITERS = (",", ";", "\t", "|")
# The line by which spreadsheet programs state the delimiter of a file.
SEPARATOR_LINE = re.compile(r"\"?sep=(.)\"?[\s,;|]*", re.IGNORECASE)
SPACE = " "  # several stand for one, as in the tables that R prints


class CsvRecords:
    """Iterates over (line, cells) of a file, ignoring blank lines; ``bytes_read`` is the progress.

    ``line`` is where the record begins, counted from 1, also if quoted cells span several lines.
    Raises UnreadableFileError.
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
        """Yield lines with their ends: \\n, \\r\\n, or \\r alone as in old spreadsheets."""
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
    """Return the error of an import for an error of the csv module, identified by its text."""
    text = str(error)
    if "field limit" in text and not spans_lines:
        return UnreadableFileError("cell_long", line=line, limit=MAX_CELL_LENGTH)
    if "field limit" in text or "unexpected end" in text:
        return UnreadableFileError("quote_open", line=line)
    return UnreadableFileError("invalid_quote", line=line)
