"""Read rows of files with their lines, and write lists to files that can be resumed."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ._client import Pages
from ._errors import ConcordError
from ._parsing import to_json

# Columns of a CSV file whose texts are JSON, numbers or truth values of the API.
JSON_COLUMNS = ("body", "attributes", "gold", "withdrawn")
# Columns of a pulled file that the site sets itself, so that it can be pushed again.
READ_ONLY_COLUMNS = {
    "ratings": ("changed_at", "guidelines", "item_version", "model", "prompt_version"),
    "items": ("ratings", "version", "has_content", "created_at", "changed_at"),
    "raters": ("paused",),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file, and the line on which it begins."""

    line: int
    values: dict[str, Any]


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a CSV file (.csv) or of JSON Lines (.jsonl, .ndjson).

    Empty cells of CSV are left out, except an empty label, which withdraws a rating. Raises
    ConcordError that names the line.
    """
    readers = {".csv": _read_csv, ".jsonl": _read_json_lines, ".ndjson": _read_json_lines}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ConcordError(f"{path}: the name must end with {', '.join(readers)}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from reader(file, path)
    except UnicodeDecodeError as error:
        raise ConcordError(f"{path} is not UTF-8: {error.reason}") from None
    except OSError as error:
        raise ConcordError(f"{path}: {error.strerror}") from None


def _read_csv(file: TextIO, path: Path) -> Iterator[Row]:
    reader = csv.reader(file, strict=True)
    try:
        names = next(reader, [])
        if len(set(names)) != len(names) or not all(names):
            raise ConcordError(f"{path}, line 1: each column needs a name of its own")
        line = reader.line_num + 1
        for cells in reader:
            if cells and len(cells) != len(names):
                raise ConcordError(f"{path}, line {line}: {len(cells)} cells, not {len(names)}")
            if cells:
                yield Row(line, _parse_cells(dict(zip(names, cells, strict=True)), path, line))
            line = reader.line_num + 1
    except csv.Error as error:
        raise ConcordError(f"{path}, line {reader.line_num}: {error}") from None


def _parse_cells(cells: dict[str, str], path: Path, line: int) -> dict[str, Any]:
    values: dict[str, Any] = {name: text for name, text in cells.items() if text}
    if cells.get("label") == "":
        values["label"] = None
    for name in JSON_COLUMNS:
        if name in values:
            try:
                values[name] = json.loads(values[name])
            except ValueError:
                raise ConcordError(f"{path}, line {line}: {name!r} must be JSON") from None
    return values


def _read_json_lines(file: TextIO, path: Path) -> Iterator[Row]:
    for line, text in enumerate(file, 1):
        if not text.strip():
            continue
        try:
            values = json.loads(text)
        except ValueError as error:
            raise ConcordError(f"{path}, line {line}: {error}") from None
        if not isinstance(values, dict):
            raise ConcordError(f"{path}, line {line}: an object is needed")
        yield Row(line, values)


class ResumableFile:
    """A file of rows that is written page by page.

    After each page, FILE.resume holds the length of FILE.part and the query of the next page. So
    an interrupted pull goes on where it stopped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.part = path.with_name(path.name + ".part")
        self.state = path.with_name(path.name + ".resume")
        self.is_csv = path.suffix.lower() == ".csv"
        if not self.is_csv and path.suffix.lower() not in (".jsonl", ".ndjson"):
            raise ConcordError(f"{path}: the name must end with .csv, .jsonl or .parquet")

    def write_pages(self, pages: Pages[Any], *, source: str) -> int:
        """Write all rows, and return how many this call has written.

        ``source`` says what is written: another pull does not go on with the file of this one.
        """
        state = self._read_state(source)
        n_rows = 0
        with self.part.open("r+b" if state else "wb") as file:
            if state:
                file.truncate(state["length"])
                file.seek(0, os.SEEK_END)
            for page in pages.iter_pages(state["query"] if state else None):
                file.write(self._format_rows(page.results, with_header=file.tell() == 0))
                file.flush()
                os.fsync(file.fileno())
                n_rows += len(page.results)
                if page.next_query is not None:
                    self._write_state(source, file.tell(), page.next_query)
        self.part.replace(self.path)
        self.state.unlink(missing_ok=True)
        return n_rows

    def _format_rows(self, rows: list[Any], *, with_header: bool) -> bytes:
        objects = [to_json(row) for row in rows]
        if not self.is_csv:
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in objects]
            return "".join(lines).encode()
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        if with_header and objects:
            writer.writerow(objects[0])
        writer.writerows([format_cell(value) for value in row.values()] for row in objects)
        return text.getvalue().encode()

    def _read_state(self, source: str) -> dict[str, Any] | None:
        try:
            state = json.loads(self.state.read_text(encoding="utf-8"))
            is_usable = state["source"] == source and self.part.stat().st_size >= state["length"]
        except (OSError, ValueError, KeyError):
            return None
        return state if is_usable else None

    def _write_state(self, source: str, length: int, query: dict[str, str]) -> None:
        temporary = self.state.with_name(self.state.name + ".new")
        state = {"source": source, "length": length, "query": query}
        temporary.write_text(json.dumps(state), encoding="utf-8")
        temporary.replace(self.state)


def format_cell(value: Any) -> Any:
    """Return the value of a CSV cell: JSON for objects and lists, an empty text for None."""
    if value is None:
        return ""
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    return value if is_text else json.dumps(value, ensure_ascii=False)
