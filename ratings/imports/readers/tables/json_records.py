"""JSON as a table: a list of records, or JSON Lines.

A field is a column, and fields of a nested object are columns named like `meta.source`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratings.imports.decoding.encodings import PROVISIONAL_ENCODING
from ratings.imports.decoding.json_stream import JsonStream
from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers.tables.rows import TableLine
from ratings.imports.records import Record, SkippedRecord

from .base import TableSource
from .csv_records import MAX_COLUMNS

HEADER_RECORDS = 1000  # first records, whose fields are the columns
MAX_DEPTH = 4  # levels of objects that become columns; deeper objects stay one cell


class JsonSource(TableSource):
    """Source of JSON tables (see FileSource)."""

    name = _("table: JSON")
    extensions = (".json", ".jsonl", ".ndjson")
    has_encoding = True

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "json"

    def open_lines(self, path: Path, mapping: ImportMapping) -> JsonTableLines:
        return JsonTableLines(path, mapping.encoding or PROVISIONAL_ENCODING)


class JsonTableLines:
    """Records as lines of cells, in the order in which the fields first occur."""

    def __init__(self, path: Path, encoding: str) -> None:
        self.path = path
        self.encoding = encoding
        self.stream = JsonStream(path, encoding=encoding)
        self.extra_records: list[Record] = []

    @property
    def bytes_read(self) -> int:
        return self.stream.bytes_read

    def __iter__(self) -> Iterator[TableLine]:
        first_line, names = self._read_names()
        if not names:
            raise UnreadableFileError(
                "columns_differ" if first_line else "empty", line=first_line or None
            )
        yield first_line, list(names)
        for line, record in self.stream:
            cells: list[Any] = [None] * len(names)
            for name, value in iter_flat_fields(record):
                index = names.get(name)
                if index is None:
                    self.extra_records.append(SkippedRecord(line, "unknown_fields", name))
                else:
                    cells[index] = value
            yield line, cells

    def _read_names(self) -> tuple[int, dict[str, int]]:
        """Return (line of the first record, field name -> column index).

        An error after the first record is left to the second pass, which reports it.
        """
        names: dict[str, int] = {}
        first_line = 0
        first_pass = JsonStream(self.path, encoding=self.encoding)
        try:
            for line, record in itertools.islice(first_pass, HEADER_RECORDS):
                first_line = first_line or line
                for name, _value in iter_flat_fields(record):
                    names.setdefault(name, len(names))
                if len(names) > MAX_COLUMNS:
                    raise UnreadableFileError(
                        "columns_many", line=line, found=len(names), limit=MAX_COLUMNS
                    )
        except UnreadableFileError as error:
            if not names or error.problem.kind == "columns_many":
                raise
        return first_line, names


def iter_flat_fields(
    record: dict[str, Any], prefix: str = "", levels: int = MAX_DEPTH
) -> Iterator[Any]:
    """Yield (name, value) of the fields; names of nested fields are paths."""
    for name, value in record.items():
        path = f"{prefix}{name}".strip()
        if isinstance(value, dict) and value and levels > 1:
            yield from iter_flat_fields(value, f"{path}.", levels - 1)
        else:
            yield path, value
