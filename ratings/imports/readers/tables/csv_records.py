"""The records of a CSV file, streamed: memory stays flat whatever the file holds, and each record
knows its line.

Bounds: a cell of MAX_CELL characters, a line of MAX_LINE, MAX_COLUMNS columns. A file that breaks
one is refused by name and line, without its monster having been loaded.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from ratings.imports.decoding.text_chunks import TextChunks
from ratings.imports.problems import Unreadable
from ratings.imports.records import Record

MAX_CELL = 1 << 20  # characters
MAX_LINE = 4 << 20  # characters
MAX_COLUMNS = 10_000

csv.field_size_limit(MAX_CELL)  # the csv module has one limit for the process

DELIMITERS = (",", ";", "\t", "|")


class Records:
    """Iterates over (line, cells) of a file; blank lines are passed over. ``bytes_read`` tells how
    far it has come.

    ``line`` is where the record begins, from 1, also where quoted cells span lines. Raises
    Unreadable.
    """

    def __init__(self, path: Path, *, encoding: str, delimiter: str) -> None:
        self.chunks = TextChunks(path, encoding=encoding)
        self.delimiter = delimiter
        self.aside: list[Record] = []

    @property
    def bytes_read(self) -> int:
        return self.chunks.bytes_read

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(self._lines(), delimiter=self.delimiter, strict=True)
        line = 1
        try:
            for cells in reader:
                if any(cells):
                    if len(cells) > MAX_COLUMNS:
                        raise Unreadable(
                            "columns_many", line=line, found=len(cells), limit=MAX_COLUMNS
                        )
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as error:
            raise _named(error, line, spans_lines=reader.line_num > line) from None

    def _lines(self) -> Iterator[str]:
        """Lines with their ends: \\n, \\r\\n or \\r alone, as old spreadsheets write it."""
        line = 1  # the one that the next character belongs to
        begun: list[str] = []  # pieces of a line that goes on
        for text in self.chunks:
            if "\n" not in text and "\r" not in text:
                begun.append(text)
            else:
                lines = list(io.StringIO("".join([*begun, text]), newline=""))
                begun = [] if lines[-1].endswith(("\n", "\r")) else [lines.pop()]
                line += len(lines)
                yield from lines
            if sum(map(len, begun)) > MAX_LINE:
                raise Unreadable("line_long", line=line, limit=MAX_LINE)
        if last := "".join(begun):
            yield last


def _named(error: csv.Error, line: int, *, spans_lines: bool) -> Unreadable:
    """The csv module's errors by our names; their texts are all that tells them apart."""
    text = str(error)
    if "field limit" in text and not spans_lines:
        return Unreadable("cell_long", line=line, limit=MAX_CELL)
    if "field limit" in text or "unexpected end" in text:
        return Unreadable("quote_open", line=line)
    return Unreadable("quote_wrong", line=line)
