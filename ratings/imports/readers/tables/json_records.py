"""JSON as a table: a list of records, or JSON Lines.

A field is a column, and fields of a nested object are columns named like `meta.source`. Answers in
a list are rows (see `answer_lists`).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ratings.imports.decoding.encodings import PROVISIONAL_ENCODING
from ratings.imports.decoding.json_stream import JsonObject, JsonStream
from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import UnreadableFileError
from ratings.imports.records import Record, SkippedRecord

from .answer_lists import SAMPLE_RECORDS, AnswerLists, is_list_of_objects
from .base import TableSource
from .csv_records import MAX_COLUMNS
from .table_end import TableLine

HEADER_RECORDS = 1000  # first records, whose fields are the columns


class JsonSource(TableSource):
    """Source of JSON tables (see FileSource)."""

    name = "JSON"
    extensions = (".json", ".jsonl", ".ndjson")
    has_encoding = True

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "json"

    def open_lines(self, path: Path, mapping: ImportMapping) -> JsonTableLines:
        return JsonTableLines(path, mapping.encoding or PROVISIONAL_ENCODING)


class JsonTableLines:
    """Records as lines of cells, in the order in which the fields first occur."""

    has_blank_lines = False

    def __init__(self, path: Path, encoding: str) -> None:
        self.path = path
        self.encoding = encoding
        self.stream = JsonStream(path, encoding=encoding)
        self.extra_records: list[Record] = []

    @property
    def bytes_read(self) -> int:
        return self.stream.bytes_read

    def __iter__(self) -> Iterator[TableLine]:
        answer_lists = AnswerLists(self._read_first_records())
        first_line, names = self._read_names(answer_lists)
        if not names:
            raise UnreadableFileError(
                "columns_differ" if first_line else "empty", line=first_line or None
            )
        yield first_line, list(names)
        for line, record in iter_rows(self.stream):
            for row in answer_lists.iter_rows(record):
                cells: list[Any] = [None] * len(names)
                for name, value in row.items():
                    index = names.get(name)
                    if index is None:
                        self.extra_records.append(SkippedRecord(line, "unknown_fields", name))
                    else:
                        cells[index] = value
                yield line, cells

    def _read_first_records(self) -> list[JsonObject]:
        """Return the first records; an error is left to the next pass."""
        records: list[JsonObject] = []
        with contextlib.suppress(UnreadableFileError):
            stream = JsonStream(self.path, encoding=self.encoding)
            for _line, record in itertools.islice(iter_rows(stream), SAMPLE_RECORDS):
                records.append(record)
        return records

    def _read_names(self, answer_lists: AnswerLists) -> tuple[int, dict[str, int]]:
        """Return (line of the first record, field name -> column index).

        An error after the first record is left to the second pass, which reports it.
        """
        names: dict[str, int] = {}
        first_line = 0
        first_pass = JsonStream(self.path, encoding=self.encoding)
        try:
            for line, record in itertools.islice(iter_rows(first_pass), HEADER_RECORDS):
                first_line = first_line or line
                for name in itertools.chain.from_iterable(answer_lists.iter_rows(record)):
                    names.setdefault(name, len(names))
                if len(names) > MAX_COLUMNS:
                    raise UnreadableFileError(
                        "columns_many", line=line, found=len(names), limit=MAX_COLUMNS
                    )
        except UnreadableFileError as error:
            if not names or error.problem.kind == "columns_many":
                raise
        return first_line, names


def iter_rows(stream: JsonStream) -> Iterator[tuple[int, JsonObject]]:
    """Yield (line, record); those inside of the object if the file is one object."""
    records = iter(stream)
    first = next(records, None)
    if first is None:
        return
    second = next(records, None)
    line, record = first
    inner = split_object(record) if second is None else None
    if inner is None:
        yield first
    else:
        yield from ((line, row) for row in inner)
    if second is not None:
        yield second
        yield from records


def split_object(record: JsonObject) -> list[JsonObject] | None:
    """Return the records of a table that was written as one object, or None.

    It may be {"data": [record, ...]}, {key: record, ...}, the columns as lists or as objects of row
    numbers, or what pandas calls split: {"columns": [...], "data": [[...], ...]}.
    """
    names, rows = record.get("columns"), record.get("data")
    if isinstance(names, list) and isinstance(rows, list):
        return [
            dict(zip(map(str, names), row, strict=True))
            for row in rows
            if isinstance(row, list) and len(row) == len(names)
        ]
    if record and all(isinstance(value, list) and value for value in record.values()):
        return _split_lists(record)
    if len(record) > 1 and all(isinstance(value, dict) and value for value in record.values()):
        return _split_objects(record)
    of_objects = [name for name, value in record.items() if is_list_of_objects(value)]
    if len(of_objects) == 1:
        common_fields = {name: value for name, value in record.items() if name != of_objects[0]}
        return [{**row, **common_fields} for row in record[of_objects[0]]]
    return None


def _split_lists(columns: dict[str, list[Any]]) -> list[JsonObject] | None:
    """Return the rows of columns that are lists, or the only list if it has records."""
    if len(columns) == 1:
        (rows,) = columns.values()
        return rows if is_list_of_objects(rows) else None
    has_rows = any(map(is_list_of_objects, columns.values()))
    is_table = len({len(column) for column in columns.values()}) == 1
    return _transpose(columns) if is_table and not has_rows else None


def _split_objects(record: dict[str, JsonObject]) -> list[JsonObject] | None:
    """Return the rows of columns by row number, or of records by key."""
    objects = list(record.values())
    keys = objects[0].keys()
    if all(value.keys() == keys for value in objects):
        numbers = list(map(str, range(len(keys))))
        if keys == set(numbers):
            return _transpose({name: [value[n] for n in numbers] for name, value in record.items()})
    if any(keys.isdisjoint(value) for value in objects):
        return None
    return [{"key": name, **value} for name, value in record.items()]


def _transpose(columns: dict[str, list[Any]]) -> list[JsonObject]:
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
