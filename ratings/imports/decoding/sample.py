"""The first bytes of a file: its kind, its first records, and whether it is packed with gzip."""

from __future__ import annotations

import codecs
import csv
import gzip
import itertools
import tempfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ratings.imports.problems import UnreadableFileError

from .encodings import PROVISIONAL_ENCODING, detect_encoding
from .json_stream import JsonObject, JsonStream

SIGNATURE_BYTES = 4096  # bytes from which the kind of a file is detected
SAMPLE_BYTES = 1 << 16  # bytes in which the column names are searched
CHUNK_BYTES = 1 << 16  # bytes unpacked at a time
MAX_RECORDS = 5

SIGNATURES = {
    b"%PDF": "pdf",
    b"\xd0\xcf\x11\xe0": "binary",  # older formats of Excel and Word
}
GZIP_SIGNATURE = b"\x1f\x8b"
ZIP_SIGNATURE = b"PK\x03\x04"
PARQUET_SIGNATURE = b"PAR1"
BINARY_KINDS = ("zip", "parquet")
MARKUP_PREFIXES = (b"<!doctype", b"<html", b"<svg", b"<script", b"<!--", b"<table")
XML_PREFIXES = (b"<?xml", b"<annotations")  # CVAT's, with and without a declaration


@dataclass(frozen=True)
class FileSample:
    """The beginning of a file.

    ``kind``: "text", "json", "xml", "zip" or "parquet". ``records`` are the first objects of a JSON
    file; ``names`` are the cells of the first line of a text file, split at commas or tabs.
    """

    path: Path
    kind: str
    head: bytes
    records: list[JsonObject] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def has_fields(self, *fields: str) -> bool:
        """Return whether the first records have all of these fields; False without records."""
        return bool(self.records) and all(set(fields) <= record.keys() for record in self.records)

    def has_any_field(self, fields: Collection[str]) -> bool:
        """Return whether one of the first records has one of these fields."""
        return any(not record.keys().isdisjoint(fields) for record in self.records)


def detect_file_kind(head: bytes) -> str:
    """Return the kind of a file ("text", "json", "xml", "zip" or "parquet") from its first bytes.

    Raises UnreadableFileError, with the apparent kind, if such a file cannot be imported.
    """
    if head.startswith(ZIP_SIGNATURE):
        return "zip"
    if head.startswith(PARQUET_SIGNATURE) and head[4:5] < b" ":  # not a column with this name
        return "parquet"
    for signature, kind in SIGNATURES.items():
        if head.startswith(signature):
            raise UnreadableFileError(kind)
    encoding = detect_encoding(head)
    text = head
    if encoding not in (None, "utf-8-sig"):
        text = head.decode(encoding, "ignore").encode()
    start = text.lstrip(codecs.BOM_UTF8 + b" \t\r\n").lower()
    if start.startswith(MARKUP_PREFIXES):
        raise UnreadableFileError("html")
    if start.startswith(XML_PREFIXES):
        return "xml"
    if start.startswith((b"{", b"[")):
        return "json"
    # A single NUL is reported with its line by the reader; with many of them or other control bytes
    # the file is not text.
    control = sum(head.count(bytes([byte])) for byte in (*range(1, 9), *range(14, 27)))
    if encoding in (None, "utf-8-sig") and (
        head.count(0) > len(head) / 50 + 1 or control > len(head) / 50 + 1
    ):
        raise UnreadableFileError("binary")
    return "text"


def read_sample(path: Path, *, encoding: str) -> FileSample:
    """Return the sample of a stored file. Raises UnreadableFileError.

    ``encoding`` is empty as long as none is selected.
    """
    with path.open("rb") as file:
        head = file.read(SAMPLE_BYTES)
    kind = detect_file_kind(head[:SIGNATURE_BYTES])
    encoding = encoding or PROVISIONAL_ENCODING
    if kind == "json":
        return FileSample(path, kind, head, records=_read_first_records(path, encoding))
    if kind == "text":
        return FileSample(path, kind, head, names=_read_column_names(head, encoding))
    return FileSample(path, kind, head)


def _read_first_records(path: Path, encoding: str) -> list[JsonObject]:
    """Return the first objects of a JSON file.

    An error after the first one is not raised: the check reports every problem. Empty if the file
    is a single object that is too large.
    """
    records: list[JsonObject] = []
    try:
        for _line, record in itertools.islice(JsonStream(path, encoding=encoding), MAX_RECORDS):
            records.append(record)
    except UnreadableFileError as error:
        # The only object of a large file is not read as a whole.
        if not records and error.problem.kind != "json_long":
            raise
    return records


def _read_column_names(head: bytes, encoding: str) -> list[str]:
    """Return the cells of the first line that is not empty.

    Raises UnreadableFileError for a CoNLL file.
    """
    lines = head.decode(encoding, "replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if "\t" in first:
        cells = first.split("\t")
        _reject_conll(lines)
        return [cell.strip() for cell in cells]
    try:
        return [cell.strip() for cell in next(csv.reader([first.lstrip("\ufeff")]), [])]
    except csv.Error:
        return []


def _reject_conll(lines: list[str]) -> None:
    """Raise UnreadableFileError for a CoNLL file: one word and its tag per line."""
    tags = [line.split("\t")[-1].strip() for line in lines[:200] if line.strip()]
    conll_tags = [
        tag for tag in tags if tag == "O" or tag[:2] in ("B-", "I-", "E-", "S-", "L-", "U-")
    ]
    if len(conll_tags) == len(tags) and any(tag != "O" for tag in tags):
        raise UnreadableFileError("marks_in_items", line=1, format="CoNLL")


@contextmanager
def open_unpacked(path: Path) -> Iterator[Path]:
    """Yield the path of the file, or of an unpacked temporary copy if it is packed with gzip.

    The copy is deleted when the context ends. Raises UnreadableFileError.
    """
    with path.open("rb") as source:
        if source.read(2) != GZIP_SIGNATURE:
            yield path
            return
        with tempfile.NamedTemporaryFile() as copy:
            copy.writelines(iter_unpacked_chunks(source))
            copy.flush()
            yield Path(copy.name)


def iter_unpacked_chunks(source: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of a file in chunks, unpacked if it is gzip. Raises UnreadableFileError."""
    source.seek(0)
    is_packed = source.read(2) == GZIP_SIGNATURE
    source.seek(0)
    if not is_packed:
        while chunk := source.read(CHUNK_BYTES):
            yield chunk
        return
    with gzip.GzipFile(fileobj=source, mode="rb") as gzip_file:
        try:
            while chunk := gzip_file.read(CHUNK_BYTES):
                yield chunk
        except (OSError, EOFError, zlib.error):
            raise UnreadableFileError("gzip") from None
