"""JSON as a table: a list of records, or a record a line (JSON Lines). A field is a column, and the
fields of an object inside a record are columns named like `meta.source`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratings.imports.decoding.encodings import PROVISIONAL_ENCODING
from ratings.imports.decoding.json_stream import JsonStream
from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.problems import Unreadable
from ratings.imports.readers.tables.rows import Line
from ratings.imports.records import LeftOut, Record

from .base import TableSource
from .csv_records import MAX_COLUMNS

NAMES_FROM = 1000  # records whose fields are the columns
DEEPEST = 4  # levels of objects that become columns; what is deeper stays one cell


class JsonRecords(TableSource):
    """The source of JSON tables (see Source)."""

    name = _("table: JSON")
    endings = (".json", ".jsonl", ".ndjson")
    encodings = True

    def recognises(self, sample: Sample) -> bool:
        return sample.kind == "json"

    def lines(self, path: Path, chosen: Mapping) -> JsonLines:
        return JsonLines(path, chosen.encoding or PROVISIONAL_ENCODING)


class JsonLines:
    """The records as lines of cells, in the order in which the fields came first."""

    def __init__(self, path: Path, encoding: str) -> None:
        self.path = path
        self.encoding = encoding
        self.stream = JsonStream(path, encoding=encoding)
        self.aside: list[Record] = []

    @property
    def bytes_read(self) -> int:
        return self.stream.bytes_read

    def __iter__(self) -> Iterator[Line]:
        first_line, names = self._names()
        if not names:
            raise Unreadable("columns_differ" if first_line else "empty", line=first_line or None)
        yield first_line, list(names)
        for line, record in self.stream:
            cells: list[Any] = [None] * len(names)
            for name, value in flat(record):
                place = names.get(name)
                if place is None:
                    self.aside.append(LeftOut(line, "late_fields", name))
                else:
                    cells[place] = value
            yield line, cells

    def _names(self) -> tuple[int, dict[str, int]]:
        """(the first record's line, name -> its place). An error behind the first record is left
        to the second reading, which has its turn to name it."""
        names: dict[str, int] = {}
        first_line = 0
        beginning = JsonStream(self.path, encoding=self.encoding)
        try:
            for line, record in itertools.islice(beginning, NAMES_FROM):
                first_line = first_line or line
                for name, _value in flat(record):
                    names.setdefault(name, len(names))
                if len(names) > MAX_COLUMNS:
                    raise Unreadable("columns_many", line=line, found=len(names), limit=MAX_COLUMNS)
        except Unreadable as error:
            if not names or error.problem.kind == "columns_many":
                raise
        return first_line, names


def flat(record: dict[str, Any], prefix: str = "", levels: int = DEEPEST) -> Iterator[Any]:
    """(name, value) of the fields, those of objects inside with their path."""
    for name, value in record.items():
        path = f"{prefix}{name}".strip()
        if isinstance(value, dict) and value and levels > 1:
            yield from flat(value, f"{path}.", levels - 1)
        else:
            yield path, value
