"""JSON as a table: a list of records, or JSON Lines.

A field is a column, and fields of a nested object are columns named like `meta.source`. An item's
list of answers becomes a row for each, as in {"text": ..., "annotations": [{"annotator": "a",
"fluency": 4}, ...]}. The fields of an answer are columns beside those of the item, so that
everything that is known about tables applies.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ratings.imports.decoding.encodings import PROVISIONAL_ENCODING
from ratings.imports.decoding.json_stream import JsonObject, JsonStream
from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.column_cells import MAX_LABEL_LENGTH
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.name_tests import (
    is_answer_name,
    is_criterion_name,
    is_derived_name,
    is_descriptive_name,
    is_grader_list_name,
    rank_name,
)
from ratings.imports.problems import UnreadableFileError
from ratings.imports.records import Record, SkippedRecord

from .base import TableSource
from .csv import MAX_COLUMNS
from .table_end import TableLine

MAX_DEPTH = 4  # levels of objects that become columns; deeper objects stay one cell
SAMPLE_RECORDS = 20  # first records in which lists of answers are searched
RATER_COLUMN = "rater"  # of answers whose raters are known by their places alone
GRADER_FIELDS = ("name", "key", "metric", "id")  # of a grader in a list of results
# Fields of marks in a text or an image, which are no answers about the item.
PLACE_FIELDS = {
    "start", "end", "begin", "offset", "start_offset", "end_offset", "x", "y", "points", "bbox",
    "region", "shape",
}  # fmt: skip


def iter_flat_fields(
    record: JsonObject, prefix: str = "", levels: int = MAX_DEPTH
) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of the fields; a field of a nested object has a path as its name.

    A list of a single object is treated as that object. At most ``levels`` of objects are
    flattened. ``prefix`` is the path to the record, with a final dot, "" for the outermost.
    """
    for name, value in record.items():
        path = f"{prefix}{name}".strip()
        is_single = isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)
        inner = value[0] if is_single else value
        if isinstance(inner, dict) and inner and levels > 1:
            yield from iter_flat_fields(inner, f"{path}.", levels - 1)
        else:
            yield path, value


class AnswerLists:
    """The fields of records that are lists of answers, found in the first records of a file."""

    def __init__(self, records: Sequence[JsonObject]) -> None:
        elements: dict[str, list[JsonObject]] = {}
        self.names: set[str] = set()  # of the other fields
        for record in records:
            for name, value in _iter_fields_and_lists(record):
                if is_list_of_objects(value):
                    elements.setdefault(name, []).extend(value)
                else:
                    self.names.add(name)
        self.have_people = {
            name: has_people
            for name, answers in elements.items()
            if (has_people := _contain_people(answers) or _contain_graders(name, answers))
            or _are_anonymous_answers(answers)
        }

    def iter_rows(self, record: JsonObject) -> Iterator[JsonObject]:
        """Yield a row for each answer, with the record's fields; one row if it has no answers."""
        if not self.have_people:
            yield dict(iter_flat_fields(record))
            return
        fields = dict(_iter_fields_and_lists(record))
        lists = {
            name: fields.pop(name)
            for name in self.have_people
            if isinstance(fields.get(name), list)
        }
        item = dict(iter_flat_fields(fields))
        is_empty = True
        for name, answers in lists.items():
            for row in self._iter_answer_rows(name, answers):
                is_empty = False
                yield item | row
        if is_empty:
            yield item

    def _iter_answer_rows(self, name: str, answers: Iterable[Any]) -> Iterator[JsonObject]:
        objects = [answer for answer in answers if isinstance(answer, dict)]
        for number, answer in enumerate(objects, 1):
            rater = f"{name} {number}" if len(self.have_people) > 1 else f"rater {number}"
            people = {} if self.have_people[name] else {RATER_COLUMN: rater}
            for row in _split_answer(answer):
                yield people | {
                    # `results.name`: the name of a grader or a criterion, not that of the item.
                    f"{name}.{column}"
                    if column in self.names or column in GRADER_FIELDS
                    else column: value
                    for column, value in row.items()
                }


def _split_answer(answer: JsonObject) -> Iterator[JsonObject]:
    """Yield an answer as one row, or as a row for each person if several people gave it."""
    people = {
        name: value
        for name, value in answer.items()
        if is_list_of_objects(value) and _contain_people(value)
    }
    item = dict(iter_flat_fields({name: v for name, v in answer.items() if name not in people}))
    if not people:
        yield item
    for value in people.values():
        for person in value:
            yield item | dict(iter_flat_fields(person))


def _iter_fields_and_lists(
    record: JsonObject, prefix: str = "", levels: int = MAX_DEPTH
) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of the fields of nested objects; a list stays one value."""
    for name, value in record.items():
        path = f"{prefix}{name}".strip()
        if isinstance(value, dict) and value and levels > 1:
            yield from _iter_fields_and_lists(value, f"{path}.", levels - 1)
        else:
            yield path, value


def is_list_of_objects(value: Any) -> bool:
    """Return whether a value is a list of one or more JSON objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _contain_people(answers: Sequence[JsonObject]) -> bool:
    """Return whether each answer names its rater, and some field is short enough for a label."""
    rows = [row for answer in answers for row in _split_answer(answer)] if answers else []
    if any(PLACE_FIELDS & answer.keys() for answer in answers):
        return False
    has_people = all(any(_is_person(*field) for field in row.items()) for row in rows)
    return has_people and any(
        _may_be_label(name, value) for row in rows for name, value in row.items()
    )


def _contain_graders(name: str, answers: Sequence[JsonObject]) -> bool:
    """Return whether a list such as `results` has answers with names of graders or criteria.

    The file does not show which of the two they are, so the user has to choose.
    """
    keys = [key for key in GRADER_FIELDS if all(isinstance(a.get(key), str) for a in answers)]
    return (
        is_grader_list_name(name.rpartition(".")[2])
        and bool(keys)
        and not any(PLACE_FIELDS & answer.keys() for answer in answers)
        and all(
            any(
                field not in keys and _may_be_label(field, value) for field, value in answer.items()
            )
            for answer in answers
        )
    )


def _is_person(name: str, value: Any) -> bool:
    is_named = any(rank_name(part, "rater") is not None for part in (name, *name.split(".")))
    return is_named and isinstance(value, str | int) and value != ""


def _may_be_label(name: str, value: Any) -> bool:
    is_short = isinstance(value, int | float) or (
        isinstance(value, str) and 0 < len(value) <= MAX_LABEL_LENGTH
    )
    last = name.rpartition(".")[2]
    is_other = any(rank_name(last, role) is not None for role in ("rater", "rated_at", "seconds"))
    return (
        is_short and not is_other and last != "id" and not is_derived_name(name)
        and not is_descriptive_name(name)
    )  # fmt: skip


def _are_anonymous_answers(answers: Sequence[JsonObject]) -> bool:
    """Return whether all answers have the same criteria and only numbers, without a rater."""
    names = answers[0].keys()
    return (
        len(answers) > 1
        and len(names) > 0
        and all(answer.keys() == names for answer in answers)
        and all(isinstance(v, int | float) for answer in answers for v in answer.values())
        and any(is_criterion_name(name) or is_answer_name(name) for name in names)
    )


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
    """Records as lines of cells; columns are in the order in which the fields first occur."""

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
        """Return the first records; an error ends them and is reported by the next pass."""
        records: list[JsonObject] = []
        with contextlib.suppress(UnreadableFileError):
            stream = JsonStream(self.path, encoding=self.encoding)
            for _line, record in itertools.islice(iter_rows(stream), SAMPLE_RECORDS):
                records.append(record)
        return records

    def _read_names(self, answer_lists: AnswerLists) -> tuple[int, dict[str, int]]:
        """Return (line of the first record, field name -> column index).

        Raises UnreadableFileError if the first record is unreadable or there are too many fields.
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
    """Yield (line, record) of the file; if it is a single object, of the table inside it."""
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
    """Return the records of a table that was written as one object, or None for any other object.

    It may be {"data": [record, ...]}, {key: record, ...}, {column: [cell, ...]}, {column: {row
    number: cell}}, or the form that pandas calls split: {"columns": [...], "data": [[...], ...]}.
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
    """Return the rows of columns that are lists of equal length, or of a single list of records.

    None for other columns.
    """
    if len(columns) == 1:
        (rows,) = columns.values()
        return rows if is_list_of_objects(rows) else None
    has_rows = any(map(is_list_of_objects, columns.values()))
    is_table = len({len(column) for column in columns.values()}) == 1
    return _transpose(columns) if is_table and not has_rows else None


def _split_objects(record: dict[str, JsonObject]) -> list[JsonObject] | None:
    """Return the rows of columns keyed by row number, or of records keyed by name; else None."""
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
