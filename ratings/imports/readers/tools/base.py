"""Base of the readers of other tools' exports: JSON or CSV records, parsed one at a time."""

from __future__ import annotations

import ast
import datetime
import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from core.text import has_control_character
from ratings.files.media_types import MEDIA_TYPES
from ratings.imports.decoding.encodings import PROVISIONAL_ENCODING
from ratings.imports.decoding.json_stream import JsonStream
from ratings.imports.decoding.sample import SIGNATURE_BYTES, detect_file_kind
from ratings.imports.mapping import import_mapping
from ratings.imports.mapping.layout_guess import (
    MEDIA_FILE_PATTERN,
    MEDIA_ROLES,
    ColumnGuess,
    TableHead,
)
from ratings.imports.mapping.name_tests import compact_name
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers.tables.cells import (
    build_question_key,
    compute_item_key,
    format_cell,
    is_empty_cell,
)
from ratings.imports.readers.tables.csv import CsvRecords, guess_delimiter
from ratings.imports.records import (
    RaterRecord,
    RatingRecord,
    ReaderProblem,
    Record,
    RecordTime,
    SkippedRecord,
)

# Names of questions whose answers are no labels.
COMMENT_NAMES = ("comment", "comments", "remarks", "kommentar", "commentaire", "comentario")
MAX_LABEL_LENGTH = 200  # a longer answer is a free text, not a label

Fields = dict[str, Any]


class ToolRecords(Protocol):
    """Iterable of (line number, record); iterating may raise UnreadableFileError."""

    @property
    def bytes_read(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[int, Fields]]: ...


class ToolSource:
    """Base of sources of one tool's records.

    A subclass defines ``name``, ``can_read`` and ``parse_record``.
    """

    extensions: tuple[str, ...] = (".json", ".jsonl")
    has_encoding = True
    has_delimiter = False
    # The tool's names of item, rater, label and so on, for problem messages.
    columns: Mapping[str, str] = {}

    def read_head(self, path: Path, mapping: import_mapping.ImportMapping) -> TableHead | None:
        return None

    def guess_columns(self, head: TableHead, *, labels: set[str]) -> ColumnGuess:
        raise AssertionError("a tool's export has no columns to guess")

    def parse_record(
        self, line: int, fields: Fields, mapping: import_mapping.ImportMapping
    ) -> Iterator[Record]:
        """Yield the items, raters, questions and ratings of one record of the file."""
        raise NotImplementedError

    def open_records(self, path: Path, mapping: import_mapping.ImportMapping) -> ToolRecords:
        """Return the records of a file. Raises UnreadableFileError."""
        return open_records(path, mapping)

    def open_reader(self, path: Path, mapping: import_mapping.ImportMapping) -> ToolReader:
        return ToolReader(self, path, mapping)


class ToolReader:
    """Reads the export of a tool."""

    def __init__(self, tool: ToolSource, path: Path, mapping: import_mapping.ImportMapping) -> None:
        self.tool = tool
        self.path = path
        self.mapping = mapping
        self.columns = tool.columns
        self.rows: ToolRecords | None = None

    @property
    def bytes_read(self) -> int:
        return self.rows.bytes_read if self.rows else 0

    def iter_records(self) -> Iterator[Record]:
        try:
            self.rows = self.tool.open_records(self.path, self.mapping)
            for line, fields in self.rows:
                yield from self.tool.parse_record(line, fields, self.mapping)
        except UnreadableFileError as error:
            yield error.to_record()

    def find_final_problem(self, labels: Iterable[str], *, is_usable: bool) -> ReaderProblem | None:
        return None


def open_records(path: Path, mapping: import_mapping.ImportMapping) -> ToolRecords:
    """Return the records of a JSON or CSV file. Raises UnreadableFileError."""
    encoding = mapping.encoding or PROVISIONAL_ENCODING
    try:
        with path.open("rb") as file:
            kind = detect_file_kind(file.read(SIGNATURE_BYTES))
    except FileNotFoundError:
        raise UnreadableFileError("file_missing") from None
    if kind == "json":
        return JsonStream(path, encoding=encoding)
    return CsvToolRecords(path, encoding)


class CsvToolRecords:
    """Iterable of (line number, cells by column name) of a CSV file.

    Iterating raises UnreadableFileError, also if a line has another number of cells than the first.
    """

    def __init__(self, path: Path, encoding: str) -> None:
        delimiter = guess_delimiter(path, encoding=encoding)
        self.lines = CsvRecords(path, encoding=encoding, delimiter=delimiter)

    @property
    def bytes_read(self) -> int:
        return self.lines.bytes_read

    def __iter__(self) -> Iterator[tuple[int, Fields]]:
        names: list[str] = []
        for line, cells in self.lines:
            if not names:
                names = [cell.strip() for cell in cells]
            elif len(cells) != len(names):
                raise UnreadableFileError("cells", line=line, found=len(cells), wanted=len(names))
            else:
                yield line, dict(zip(names, cells, strict=True))


# --- fields of records


def to_text(value: Any) -> str:
    """Return a key, name or label as stripped text."""
    return format_cell(value).strip()


def list_objects(value: Any) -> list[Fields]:
    """Return the objects in a list, ignoring its other elements; [] for any other value."""
    return (
        [element for element in value if isinstance(element, dict)]
        if isinstance(value, list)
        else []
    )


def get_object(fields: Fields, name: str) -> Fields:
    """Return the field's value if it is an object, else an empty one."""
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def list_rows(record: Fields) -> list[Fields]:
    """Return the rows of an API response or an exported object; else the record itself."""
    for name in ("events", "data", "rows"):
        if rows := list_objects(record.get(name)):
            return rows
    return [record]


def parse_single_answer(value: Any) -> tuple[str | None, str]:
    """Return (label, "") of a single answer, else (None, reason).

    The reason is a key of `records.SKIPPED_RECORD_REASONS`.
    """
    if isinstance(value, list | tuple):
        if len(value) == 1 and not isinstance(value[0], list | tuple | dict):
            return parse_single_answer(value[0])
        if not value:
            return None, "no_label"
        return None, _explain_multiple_values(value)
    if isinstance(value, str):
        return _parse_answer_text(value)
    label = "" if isinstance(value, dict) else to_text(value)
    if not label:
        return None, "ignored" if value else "no_label"
    return _parse_answer_text(label)


def build_rating(
    line: int, key: str, rater: str, answer: Any, *, question: str = "", **details: Any
) -> RatingRecord | SkippedRecord:
    """Return the rating of a single answer, or a skipped record with the reason.

    ``details`` are further fields of a RatingRecord.
    """
    label, reason = parse_single_answer(answer)
    if label is None:
        return SkippedRecord(line, reason)
    if compact_name(question) in COMMENT_NAMES:
        return SkippedRecord(line, "free_text")
    question_key = build_question_key(question) if question else ""
    return RatingRecord(line, key, rater, question_key, label, **details)


def build_model_rater(line: int, name: str, *, model: str = "") -> RaterRecord:
    """Return the record of a rater that is a model, with ``name`` as its key.

    ``model`` is the name of the model, by default ``name``.
    """
    return RaterRecord(line, name, kind="model", name=name, model=model or name)


@functools.lru_cache(maxsize=10_000)  # the same labels occur again and again
def _parse_answer_text(text: str) -> tuple[str | None, str]:
    label = text.strip()
    if not label:
        return None, "ignored" if text else "no_label"
    if len(label) > MAX_LABEL_LENGTH or has_control_character(label):
        return None, "free_text"
    return label, ""


def _explain_multiple_values(values: Any) -> str:
    """Return the reason to skip a list of several values, which is no single answer."""
    first_value = values[0]
    if isinstance(first_value, dict):
        if {"x", "y", "points", "rle"} & first_value.keys():
            return "boxes"
        if {"rank"} & first_value.keys():
            return "ranking"
        return "spans"
    if isinstance(first_value, list | tuple):
        return "spans"
    return "several_labels"


def parse_time(value: Any) -> RecordTime:
    """Return a time for a RatingRecord: None if there is none, the text if it cannot be parsed.

    ``value`` is a number of seconds or milliseconds since 1970, or a text. A text without a time
    zone is read as UTC.
    """
    if value is None or value == "" or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        seconds = value / 1000 if value > 1e11 else value
        try:
            return datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
        except (OverflowError, ValueError, OSError):
            return str(value)
    time_text = str(value).strip().removesuffix(" UTC")
    try:
        parsed = datetime.datetime.fromisoformat(time_text)
    except ValueError:
        return time_text
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.UTC)


def parse_seconds(value: Any) -> float | None:
    """Return a duration in seconds, or None if the value is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def parse_json(value: Any) -> Any:
    """Return the value of a CSV cell that contains JSON, or None if it does not.

    A value that is no text is returned unchanged.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def parse_list(value: Any) -> list[Any]:
    """Return a list, also one written as text in JSON, Python or NumPy; [] for any other value."""
    if isinstance(value, str) and value[:1] == "[":
        parsed = parse_json(value)
        if parsed is None:
            # NumPy prints texts without commas, which Python would join.
            text = re.sub(r"(?<=['\"])\s+(?=['\"])", ", ", value)
            try:
                parsed = ast.literal_eval(text)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                parsed = value.strip("[] \n").split()  # as NumPy prints a list
        value = parsed
    return list(value) if isinstance(value, list) else []


def build_body(fields: Mapping[str, Any]) -> Fields:
    """Return a tool's fields as the body of an item.

    The first image, audio and video are recognized by their URLs. All other fields keep their
    names, with `_data` behind those of text, HTML and media that have another type of value. Empty
    values are left out.
    """
    body: Fields = {}
    for name, value in fields.items():
        if is_empty_cell(value):
            continue
        kind = _detect_media_kind(value)
        if kind and kind not in body:
            body[kind] = _strip_server_path(value)
        elif name in MEDIA_ROLES and not isinstance(value, str):
            body[f"{name}_data"] = value
        elif name in ("text", "html") and not isinstance(value, str):
            body[f"{name}_data"] = value if isinstance(value, list | dict) else to_text(value)
        else:
            body[name] = value
    return body


def _detect_media_kind(value: Any) -> str:
    if not isinstance(value, str) or not MEDIA_FILE_PATTERN.fullmatch(value.strip()):
        return ""
    extension = value.strip().split("?")[0].lower().rpartition(".")[2]
    return MEDIA_TYPES.get(extension, ("image",))[0]


def _strip_server_path(url: str) -> str:
    """Return a URL unchanged; of a path on the tool's own server, only the file name."""
    url = url.strip()
    if url.startswith("/"):
        return re.sub(r"^[0-9a-f]{8}-", "", url.rsplit("/", 1)[-1])
    return url


def build_attributes(fields: Mapping[str, Any], prefix: str = "") -> Fields:
    """Return a tool's metadata as attributes: single values, with paths for nested objects.

    ``prefix`` is put before the names. Empty values and lists are left out.
    """
    attributes: Fields = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            attributes |= build_attributes(value, f"{prefix}{name}.")
        elif not is_empty_cell(value) and not isinstance(value, list):
            attributes[f"{prefix}{name}"] = value
    return attributes


def get_item_key(tool_key: Any, body: Fields) -> str:
    """Return the tool's key of an item, else a digest of its content; "" if it has neither."""
    key = "" if tool_key is None else to_text(tool_key)
    return key or (compute_item_key(body) if body else "")
