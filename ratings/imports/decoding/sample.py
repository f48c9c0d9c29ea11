"""The beginning of a file: what it is by its first bytes, and its first records, so that the
sources can say which of them it belongs to."""

from __future__ import annotations

import codecs
import csv
import itertools
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ratings.imports.problems import Unreadable

from .encodings import PROVISIONAL_ENCODING, marked_encoding
from .json_stream import JsonStream

HEAD = 4096  # bytes that tell what a file is
TEXT = 1 << 16  # bytes in which names of columns are looked for
RECORDS = 5

SIGNATURES = {
    b"%PDF": "pdf",
    b"\xd0\xcf\x11\xe0": "binary",  # the older Excel, Word and so on
}
ZIP = b"PK\x03\x04"
PARQUET = b"PAR1"
NO_TEXT = ("zip", "parquet")
MARKUP = (b"<!doctype", b"<html", b"<svg", b"<script", b"<!--")
XML = b"<?xml"


@dataclass(frozen=True)
class Sample:
    """``kind``: "text", "json", "xml", "zip" or "parquet". ``records`` are the first objects of a
    JSON file, ``names`` the cells of a text's first line, parted by commas or tabs."""

    path: Path
    kind: str
    head: bytes
    records: list[dict[str, Any]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def has(self, *fields: str) -> bool:
        """Whether each of the first records has all of these fields."""
        return bool(self.records) and all(set(fields) <= record.keys() for record in self.records)

    def any_has(self, fields: Collection[str]) -> bool:
        """Whether one of the first records has one of these fields."""
        return any(not record.keys().isdisjoint(fields) for record in self.records)


def kind_of(head: bytes) -> str:
    """What a file is by its first bytes. Raises Unreadable, named by what it seems to be, when it
    is nothing that can be imported."""
    if head.startswith(ZIP):
        return "zip"
    if head.startswith(PARQUET) and head[4:5] < b" ":  # and not a column of this name
        return "parquet"
    for signature, kind in SIGNATURES.items():
        if head.startswith(signature):
            raise Unreadable(kind)
    encoding = marked_encoding(head)
    text = head
    if encoding not in (None, "utf-8-sig"):
        text = head.decode(encoding, "ignore").encode()
    start = text.lstrip(codecs.BOM_UTF8 + b" \t\r\n").lower()
    if start.startswith(MARKUP):
        raise Unreadable("html")
    if start.startswith(XML):
        return "xml"
    if start.startswith((b"{", b"[")):
        return "json"
    # A stray NUL is named with its line by the reader; many of them, or other control bytes, are no
    # text at all.
    control = sum(head.count(bytes([byte])) for byte in (*range(1, 9), *range(14, 27)))
    if encoding in (None, "utf-8-sig") and (
        head.count(0) > len(head) / 50 + 1 or control > len(head) / 50 + 1
    ):
        raise Unreadable("binary")
    return "text"


def look_at(path: Path, *, encoding: str) -> Sample:
    """The sample of a stored file. Raises Unreadable."""
    with path.open("rb") as file:
        head = file.read(TEXT)
    kind = kind_of(head[:HEAD])
    encoding = encoding or PROVISIONAL_ENCODING
    if kind == "json":
        return Sample(path, kind, head, records=_first_records(path, encoding))
    if kind == "text":
        return Sample(path, kind, head, names=_names(head, encoding))
    return Sample(path, kind, head)


def _first_records(path: Path, encoding: str) -> list[dict[str, Any]]:
    """The first objects; an error behind the first one is left to the check, which names all."""
    found: list[dict[str, Any]] = []
    try:
        for _line, record in itertools.islice(JsonStream(path, encoding=encoding), RECORDS):
            found.append(record)
    except Unreadable:
        if not found:
            raise
    return found


def _names(head: bytes, encoding: str) -> list[str]:
    lines = head.decode(encoding, "replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if "\t" in first:
        cells = first.split("\t")
        _refuse_conll(lines)
        return [cell.strip() for cell in cells]
    try:
        return [cell.strip() for cell in next(csv.reader([first.lstrip("\ufeff")]), [])]
    except csv.Error:
        return []


def _refuse_conll(lines: list[str]) -> None:
    """A word and its tag a line, sentences parted by blank lines."""
    tags = [line.split("\t")[-1].strip() for line in lines[:200] if line.strip()]
    tagged = [tag for tag in tags if tag == "O" or tag[:2] in ("B-", "I-", "E-", "S-", "L-", "U-")]
    if len(tagged) == len(tags) and any(tag != "O" for tag in tags):
        raise Unreadable("conll", line=1)
