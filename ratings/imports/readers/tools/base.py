"""What the readers of other tools' files have in common: a file of records, JSON or CSV, and a
method that says what one record says."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from core.text import has_control
from ratings.imports.decoding.encodings import PROVISIONAL_ENCODING
from ratings.imports.decoding.json_stream import JsonStream
from ratings.imports.decoding.sample import HEAD, kind_of
from ratings.imports.mapping import import_mapping
from ratings.imports.mapping.columns import MEDIA, MEDIA_FILE, Guess, Look
from ratings.imports.problems import Unreadable
from ratings.imports.readers.tables.csv import guess_delimiter
from ratings.imports.readers.tables.csv_records import Records
from ratings.imports.readers.tables.rows import is_empty, key_of, text_of
from ratings.imports.records import Record, Time, Wrong

LONGEST_LABEL = 200  # a longer answer is a text, not a label
NO_KEY = re.compile(r"[^A-Za-z0-9_.-]+")
SOUND = (".mp3", ".ogg", ".wav", ".flac", ".m4a")
FILM = (".mp4", ".webm")

Fields = dict[str, Any]


class Rows(Protocol):
    """Iterates over (line, record); raises Unreadable."""

    @property
    def bytes_read(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[int, Fields]]: ...


class Tool:
    """A source of one tool's records; a subclass has ``name``, ``recognises`` and ``records``."""

    endings: tuple[str, ...] = (".json", ".jsonl")
    encodings = True
    delimiters = False
    # what the tool calls item, rater, label and so on, for problems
    columns: Mapping[str, str] = {}

    def look(self, path: Path, chosen: import_mapping.Mapping) -> Look | None:
        return None

    def guess(self, look: Look, *, labels: set[str]) -> Guess:
        raise AssertionError("a tool's file has no columns to guess")

    def records(
        self, line: int, fields: Fields, chosen: import_mapping.Mapping
    ) -> Iterator[Record]:
        """What one record of the file says."""
        raise NotImplementedError

    def reader(self, path: Path, chosen: import_mapping.Mapping) -> ToolReader:
        return ToolReader(self, path, chosen)


class ToolReader:
    def __init__(self, tool: Tool, path: Path, chosen: import_mapping.Mapping) -> None:
        self.tool = tool
        self.path = path
        self.chosen = chosen
        self.columns = tool.columns
        self.rows: Rows | None = None

    @property
    def bytes_read(self) -> int:
        return self.rows.bytes_read if self.rows else 0

    def records(self) -> Iterator[Record]:
        try:
            self.rows = rows_of(self.path, self.chosen)
            for line, fields in self.rows:
                yield from self.tool.records(line, fields, self.chosen)
        except Unreadable as error:
            yield error.as_record()

    def trouble(self, labels: Iterable[str], *, usable: bool) -> Wrong | None:
        return None


def rows_of(path: Path, chosen: import_mapping.Mapping) -> Rows:
    """The records of a file, whether JSON or CSV. Raises Unreadable."""
    encoding = chosen.encoding or PROVISIONAL_ENCODING
    try:
        with path.open("rb") as file:
            kind = kind_of(file.read(HEAD))
    except FileNotFoundError:
        raise Unreadable("lost") from None
    if kind == "json":
        return JsonStream(path, encoding=encoding)
    return CsvRows(path, encoding)


class CsvRows:
    """The lines of a CSV file as records by the names of the columns."""

    def __init__(self, path: Path, encoding: str) -> None:
        delimiter = guess_delimiter(path, encoding=encoding)
        self.lines = Records(path, encoding=encoding, delimiter=delimiter)

    @property
    def bytes_read(self) -> int:
        return self.lines.bytes_read

    def __iter__(self) -> Iterator[tuple[int, Fields]]:
        names: list[str] = []
        for line, cells in self.lines:
            if not names:
                names = [cell.strip() for cell in cells]
            elif len(cells) != len(names):
                raise Unreadable("cells", line=line, found=len(cells), wanted=len(names))
            else:
                yield line, dict(zip(names, cells, strict=True))


# --- parts of records


def text(value: Any) -> str:
    """A key, name or label as text."""
    return text_of(value).strip()


def objects(value: Any) -> list[Fields]:
    """The objects of a list; what is none of them a tool does not write."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def question_key(name: str) -> str:
    """A tool's name of a question as a key that a question may have."""
    key = NO_KEY.sub("_", name.strip()).strip("_.-")
    return key[:64] or "label"


def one_answer(value: Any) -> tuple[str | None, str]:
    """(label, "") of a value that is one answer; (None, the reason) of one that is not: a key of
    left_out.REASONS."""
    if isinstance(value, list | tuple):
        if len(value) == 1 and not isinstance(value[0], list | tuple | dict):
            return one_answer(value[0])
        if not value:
            return None, "no_label"
        return None, _why_several(value)
    label = "" if isinstance(value, dict) else text(value)
    if not label:
        return None, "ignored" if value else "no_label"
    if len(label) > LONGEST_LABEL or has_control(label):
        return None, "free_text"
    return label, ""


def _why_several(values: Any) -> str:
    first = values[0]
    if isinstance(first, dict):
        if {"x", "y", "points", "rle"} & first.keys():
            return "boxes"
        if {"rank"} & first.keys():
            return "ranking"
        return "spans"
    if isinstance(first, list | tuple):
        return "spans"
    return "several_labels"


def moment(value: Any) -> Time:
    """A time as the judge takes it: seconds or milliseconds since 1970, or a text whose zone is
    UTC where it names none, as tools write it."""
    if value is None or value == "" or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        seconds = value / 1000 if value > 1e11 else value
        try:
            return datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
        except (OverflowError, ValueError, OSError):
            return str(value)
    written = str(value).strip().removesuffix(" UTC")
    try:
        found = datetime.datetime.fromisoformat(written)
    except ValueError:
        return written
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)


def seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def as_json(value: Any) -> Any:
    """A cell of a CSV file that holds JSON; None where it does not."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def body_of(fields: Mapping[str, Any]) -> Fields:
    """A tool's fields as an item's body: pictures, sound and film by their addresses, all else
    under its name."""
    body: Fields = {}
    for name, value in fields.items():
        if is_empty(value):
            continue
        kind = _medium(value)
        if kind and kind not in body:
            body[kind] = _name_of_upload(value)
        elif name in MEDIA and not isinstance(value, str):
            body[f"{name}_data"] = value
        elif name in ("text", "html") and not isinstance(value, str):
            body[f"{name}_data"] = value if isinstance(value, list | dict) else text(value)
        else:
            body[name] = value
    return body


def _medium(value: Any) -> str:
    if not isinstance(value, str) or not MEDIA_FILE.fullmatch(value.strip()):
        return ""
    path = value.strip().split("?")[0].lower()
    if path.endswith(SOUND):
        return "audio"
    return "video" if path.endswith(FILM) else "image"


def _name_of_upload(address: str) -> str:
    """An address on the tool's own server is of no use here: what remains is the file's name."""
    address = address.strip()
    if address.startswith("/"):
        return re.sub(r"^[0-9a-f]{8}-", "", address.rsplit("/", 1)[-1])
    return address


def attributes_of(fields: Mapping[str, Any], prefix: str = "") -> Fields:
    """A tool's metadata as attributes: single values, those of objects under their path."""
    found: Fields = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            found |= attributes_of(value, f"{prefix}{name}.")
        elif not is_empty(value) and not isinstance(value, list):
            found[f"{prefix}{name}"] = value
    return found


def item_key(given: Any, body: Fields) -> str:
    """The tool's own key of an item, or one made from the content; empty where there is neither."""
    key = "" if given is None else text(given)
    return key or (key_of(body) if body else "")
