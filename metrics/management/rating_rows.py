"""Read ratings from a file like an import does, without a database."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from zoneinfo import ZoneInfo

from ratings.imports.decoding.encodings import detect_encoding
from ratings.imports.decoding.sample import SIGNATURE_BYTES, read_sample
from ratings.imports.decoding.table_times import guess_date_order, parse_table_time
from ratings.imports.interpretation import FileInterpretation, format_doubt
from ratings.imports.mapping.column_options import InvalidImportOptions, apply_column_options
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import UnreadableFileError, format_problem
from ratings.imports.readers import SOURCES, TABLE_SOURCES, detect_source
from ratings.imports.records import RatingRecord, ReaderProblem, SkippedRecord
from ratings.imports.skipped_rows import SkippedRecordCounts


class RatingFileError(Exception):
    """An error in the file, with its line where there is one."""


@dataclass(frozen=True)
class FileRow:
    """A rating of the file; its time is in UTC where the file names no zone."""

    line: int
    item: str
    rater: str
    label: str
    time: datetime.datetime | None


@dataclass(frozen=True)
class TableOptions:
    """Options for the columns of a table, as those of `manage.py import_file`."""

    columns: Sequence[tuple[str, str]] = ()
    layout: str = ""
    encoding: str = ""


@dataclass
class FileRows:
    """The ratings of one question of a file, and what was understood of the file."""

    understood: FileInterpretation
    has_exact_labels: bool
    rows: list[FileRow] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)  # keys of all questions of the file


def read_file_rows(path: Path, question: str | None, options: TableOptions) -> FileRows:
    """Read the ratings of a question, or of the only one. Raises RatingFileError.

    ``path`` is an unpacked file.
    """
    try:
        return _read_rows(path, question, options)
    except UnreadableFileError as error:
        problem = error.problem
        raise RatingFileError(
            format_message(problem.line, format_problem(problem.to_json()))
        ) from None
    except InvalidImportOptions as error:
        raise RatingFileError(f"{error}.") from None


def _read_rows(path: Path, question: str | None, options: TableOptions) -> FileRows:
    encoding = options.encoding or _detect_encoding(path)
    mapping = ImportMapping(
        source=detect_source(read_sample(path, encoding=encoding)), encoding=encoding
    )
    source = SOURCES[mapping.source]
    head = source.read_head(path, mapping)
    if head is not None:
        guess = source.guess_columns(head, labels=set())
        mapping = replace(mapping, delimiter=head.delimiter, **vars(guess))
        mapping.reasons = {str(index): reason for index, reason in guess.reasons.items()}
        apply_column_options(mapping, head, columns=options.columns, layout=options.layout)
        if mapping.doubt:
            names = [head.names[index] for index in mapping.doubtful_columns]
            text, advice = format_doubt(mapping.doubt, names)
            raise RatingFileError(f"{text} ({advice}) The columns are {', '.join(head.names)}.")
        time_index = mapping.columns.get("rated_at")
        if time_index is not None:
            mapping.date_order = guess_date_order(head.columns[time_index].filled)
    file_rows = FileRows(
        FileInterpretation.from_mapping(mapping, head), mapping.label_options.is_exact
    )
    reader = source.open_reader(path, mapping)
    skipped = SkippedRecordCounts()
    questions: dict[str, None] = {}
    for record in reader.iter_records():
        if isinstance(record, ReaderProblem):
            values = {"kind": record.kind, "line": record.line, "values": record.values}
            raise RatingFileError(format_message(record.line, format_problem(values)))
        if isinstance(record, SkippedRecord):
            skipped.add(record.line, record.reason, record.value)
        elif isinstance(record, RatingRecord) and record.label is not None:
            questions[record.question] = None
            if question in (None, record.question):
                file_rows.rows.append(_build_row(record, record.label, mapping))
    file_rows.questions = list(questions)
    if question is None and len(questions) > 1:
        raise RatingFileError(
            f"The file has several questions; name one of them by --question: "
            f"{', '.join(questions)}."
        )
    file_rows.understood.add_skipped_records(skipped.to_json())
    return file_rows


def _detect_encoding(path: Path) -> str:
    with path.open("rb") as file:
        return detect_encoding(file.read(SIGNATURE_BYTES)) or "utf-8-sig"


def _build_row(record: RatingRecord, label: str, mapping: ImportMapping) -> FileRow:
    """Return the row of a rating. Raises RatingFileError."""
    line = record.line
    # An empty label is a missing value.
    for name, text in (("item", record.item), ("rater", record.rater)):
        is_table = mapping.source in TABLE_SOURCES
        if not text and name == "rater" and is_table and "rater" not in mapping.columns:
            raise RatingFileError(
                "The file names no raters: all its ratings are by one person, and agreement needs "
                "two or more. If a column has the raters, name it by --map rater=COLUMN."
            )
        if not text:
            raise RatingFileError(format_message(line, f"The {name} is empty."))
    time = record.rated_at or None
    if isinstance(time, str):
        time = parse_table_time(time, zone=ZoneInfo("UTC"), date_order=mapping.date_order)
    if isinstance(time, str):
        raise RatingFileError(
            format_message(
                line,
                f"{time!r} is no time such as 2026-03-01T12:30:00Z. To leave the column of times "
                "away, use --map rated_at=",
            )
        )
    if time is not None and time.tzinfo is None:
        time = time.replace(tzinfo=datetime.UTC)
    return FileRow(line, record.item, record.rater, label, time)


def select_latest(rows: Sequence[FileRow]) -> list[FileRow]:
    """Return one rating of each item and rater, in the order in which they first occur.

    The latest one by time where all of them have one, else the last one of the file.
    """
    groups: dict[tuple[str, str], list[FileRow]] = {}
    for row in rows:
        groups.setdefault((row.item, row.rater), []).append(row)
    return [_find_latest(group) for group in groups.values()]


def _find_latest(group: Sequence[FileRow]) -> FileRow:
    latest = group[-1]
    if all(row.time is not None for row in group):
        for row in group:
            if row.time and latest.time and row.time > latest.time:
                latest = row
    return latest


def list_repeats(rows: Sequence[FileRow]) -> Iterator[tuple[FileRow, FileRow]]:
    """Yield the pairs of an earlier and a later row of the same item and rater."""
    earlier: dict[tuple[str, str], FileRow] = {}
    for row in rows:
        if (row.item, row.rater) in earlier:
            yield earlier[row.item, row.rater], row
        earlier[row.item, row.rater] = row


def format_message(line: int | None, text: str) -> str:
    """Return a message with its line, where there is one."""
    return text if line is None else f"Line {line}: {text}"
