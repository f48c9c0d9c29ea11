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

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from .problems import Unreadable

MAX_CELL = 1 << 20
MAX_LINE = 4 << 20
MAX_COLUMNS = 10_000
CHUNK = 1 << 16  # bytes read at a time

csv.field_size_limit(MAX_CELL)  # the csv module has one limit for the process

# Name in Python -> name for people. UTF-8 is tried with and without a byte-order mark.
ENCODINGS = {
    "utf-8-sig": "UTF-8",
    "windows-1252": "Windows-1252",
    "iso-8859-1": "ISO 8859-1",
    "iso-8859-15": "ISO 8859-15",
    "windows-1250": "Windows-1250",
    "windows-1251": "Windows-1251",
    "mac-roman": "Mac Roman",
    "gb18030": "GB 18030",
    "big5": "Big5",
    "shift_jis": "Shift JIS",
    "euc-kr": "EUC-KR",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "utf-32": "UTF-32",
}
REGIONS: dict[str, str | Promise] = {
    "windows-1252": _("Western Europe"),
    "iso-8859-1": "Latin-1",
    "iso-8859-15": "Latin-9",
    "windows-1250": _("Central Europe"),
    "windows-1251": _("Cyrillic"),
    "gb18030": _("Simplified Chinese"),
    "big5": _("Traditional Chinese"),
    "shift_jis": _("Japanese"),
    "euc-kr": _("Korean"),
}
DELIMITERS = (",", ";", "\t", "|")


class Reader:
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


def wrong_byte(error: UnicodeDecodeError, encoding: str, *, line: int) -> Unreadable:
    byte = f"0x{error.object[error.start]:02X}"
    return Unreadable("bytes", line=line, byte=byte, encoding=ENCODINGS[encoding])


def _named(error: csv.Error, line: int, *, spans_lines: bool) -> Unreadable:
    """The csv module's errors by our names; their texts are all that tells them apart."""
    text = str(error)
    if "field limit" in text and not spans_lines:
        return Unreadable("cell_long", line=line, limit=MAX_CELL)
    if "field limit" in text or "unexpected end" in text:
        return Unreadable("quote_open", line=line)
    return Unreadable("quote_wrong", line=line)


def marked_encoding(head: bytes) -> str | None:
    """The encoding that the file's first bytes give away: by a byte-order mark, or by UTF-16's
    zeros; else None."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    even, odd, half = head[0::2].count(0), head[1::2].count(0), len(head) // 2
    if half and odd > 0.4 * half and even < 0.05 * half:
        return "utf-16-le"
    if half and even > 0.4 * half and odd < 0.05 * half:
        return "utf-16-be"
    return None
