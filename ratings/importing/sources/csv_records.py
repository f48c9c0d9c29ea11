"""The records of a CSV file, streamed: memory stays flat whatever the file holds, and each record
knows its line.

Bounds: a cell of MAX_CELL characters, a line of MAX_LINE, MAX_COLUMNS columns. A file that breaks
one is refused by name and line, without its monster having been loaded.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ratings.importing.encodings import wrong_byte
from ratings.importing.problems import Unreadable

MAX_CELL = 1 << 20  # characters
MAX_LINE = 4 << 20  # characters
MAX_COLUMNS = 10_000
CHUNK = 1 << 16  # bytes read at a time

csv.field_size_limit(MAX_CELL)  # the csv module has one limit for the process

DELIMITERS = (",", ";", "\t", "|")


class Records:
    """Iterates over (line, cells) of a file; blank lines are passed over. ``bytes_read`` tells how
    far it has come.

    ``line`` is where the record begins, from 1, also where quoted cells span lines. Raises
    Unreadable.
    """

    def __init__(self, path: Path, *, encoding: str, delimiter: str) -> None:
        self.path = path
        self.encoding = encoding
        self.delimiter = delimiter
        self.bytes_read = 0

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            raise Unreadable("lost") from None
        with file:
            reader = csv.reader(self._lines(file), delimiter=self.delimiter, strict=True)
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

    def _lines(self, file: BinaryIO) -> Iterator[str]:
        """Lines with their ends: \\n, \\r\\n or \\r alone, as old spreadsheets write it."""
        decoder = io.IncrementalNewlineDecoder(
            codecs.getincrementaldecoder(self.encoding)("strict"), translate=False
        )
        line = 1  # the one that the next character belongs to
        begun: list[str] = []  # pieces of a line that goes on
        while True:
            chunk = file.read(CHUNK)
            self.bytes_read += len(chunk)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(self.encoding, "replace")
                raise wrong_byte(error, self.encoding, line=line + line_ends(before)) from None
            if "\0" in text:
                raise Unreadable("nul", line=line + line_ends(text[: text.index("\0")]))
            if chunk and "\n" not in text and "\r" not in text:
                begun.append(text)
            else:
                lines = list(io.StringIO("".join([*begun, text]), newline=""))
                begun = [lines.pop()] if chunk and not lines[-1].endswith(("\n", "\r")) else []
                line += len(lines)
                yield from lines
            if not chunk:
                return
            if sum(map(len, begun)) > MAX_LINE:
                raise Unreadable("line_long", line=line, limit=MAX_LINE)


def line_ends(text: str) -> int:
    """How many lines end in the text."""
    return sum(1 for line in io.StringIO(text, newline="") if line.endswith(("\n", "\r")))


def _named(error: csv.Error, line: int, *, spans_lines: bool) -> Unreadable:
    """The csv module's errors by our names; their texts are all that tells them apart."""
    text = str(error)
    if "field limit" in text and not spans_lines:
        return Unreadable("cell_long", line=line, limit=MAX_CELL)
    if "field limit" in text or "unexpected end" in text:
        return Unreadable("quote_open", line=line)
    return Unreadable("quote_wrong", line=line)
