"""CSV: plain text, one record a line, in any encoding and with any usual delimiter."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator
from pathlib import Path

from ratings.importing.columns import Guess, Look, checked_names, guess_columns
from ratings.importing.encodings import marked_encoding
from ratings.importing.judging import Judge, Row
from ratings.importing.mapping import Mapping
from ratings.importing.problems import Unreadable
from ratings.importing.table import Table

from .csv_records import DELIMITERS, Records

SAMPLE_ROWS = 20  # shown and guessed from
# Only to show the columns of a file that is not UTF-8: the lead must choose before anything is read
# in earnest.
PROVISIONAL_ENCODING = "windows-1252"
# Troubles that another delimiter may not have.
BY_DELIMITER = ("cell_long", "columns_many", "quote_open", "quote_wrong")

SIGNATURES = {
    b"PK\x03\x04": "zip",
    b"%PDF": "pdf",
    b"\xd0\xcf\x11\xe0": "binary",  # the older Excel, Word and so on
}
MARKUP = (b"<!doctype", b"<html", b"<?xml", b"<svg", b"<script", b"<!--")


class Csv:
    """The source of CSV files (see Source)."""

    def recognises(self, head: bytes) -> bool:
        refuse_other_formats(head)
        return True

    def look(self, path: Path, mapping: Mapping) -> Look:
        """The line of names and the first rows; the delimiter is guessed where none is chosen."""
        encoding = mapping.encoding or PROVISIONAL_ENCODING
        delimiter = mapping.delimiter or guess_delimiter(path, encoding=encoding)
        records = Records(path, encoding=encoding, delimiter=delimiter)
        rows = list(itertools.islice(records, SAMPLE_ROWS + 1))
        if not rows:
            raise Unreadable("empty")
        line, cells = rows[0]
        names = checked_names(cells, line)
        if len(rows) == 1:
            raise Unreadable("only_names", line=line)
        return Look(delimiter, names, rows[1:])

    def guess(self, look: Look, *, labels: set[str]) -> Guess:
        return guess_columns(look, labels=labels)

    def reader(self, path: Path, mapping: Mapping) -> CsvReader:
        return CsvReader(path, mapping)


class CsvReader:
    def __init__(self, path: Path, mapping: Mapping) -> None:
        self.mapping = mapping
        self.records = Records(path, encoding=mapping.encoding, delimiter=mapping.delimiter)

    @property
    def bytes_read(self) -> int:
        return self.records.bytes_read

    def rows(self, judge: Judge) -> Iterator[Row]:
        return iter(Table(self.records, self.mapping, judge))


def guess_delimiter(path: Path, *, encoding: str) -> str:
    """The delimiter that splits the first rows into most columns, alike in every row."""
    best = (0.0, 0, "")
    trouble: Unreadable | None = None
    for delimiter in DELIMITERS:
        try:
            records = Records(path, encoding=encoding, delimiter=delimiter)
            rows = list(itertools.islice(records, SAMPLE_ROWS + 1))
        except Unreadable as error:
            if error.problem.kind not in BY_DELIMITER:
                raise
            trouble = trouble or error
            continue
        widths = [len(cells) for _line, cells in rows]
        if widths and widths[0] > 1:
            alike = sum(width == widths[0] for width in widths) / len(widths)
            best = max(best, (alike, widths[0], delimiter))
    if best[2]:
        return best[2]
    raise trouble or Unreadable("one_column", line=1)


def refuse_other_formats(head: bytes) -> None:
    """Raises Unreadable, named by what the file seems to be, when it begins as no text does."""
    for signature, kind in SIGNATURES.items():
        if head.startswith(signature):
            raise Unreadable(kind)
    start = head.lstrip(codecs.BOM_UTF8 + b" \t\r\n").lower()
    if start.startswith(MARKUP):
        raise Unreadable("html")
    if start.startswith((b"{", b"[")):
        raise Unreadable("json")
    encoding = marked_encoding(head)
    # A stray NUL is named with its line by the reader; many of them, or other control bytes, are no
    # text at all.
    control = sum(head.count(bytes([byte])) for byte in (*range(1, 9), *range(14, 27)))
    if encoding in (None, "utf-8-sig") and (
        head.count(0) > len(head) / 50 + 1 or control > len(head) / 50 + 1
    ):
        raise Unreadable("binary")
