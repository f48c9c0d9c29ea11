"""Read ratings from a file as an import does, without a database."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Self
from zoneinfo import ZoneInfo

from ratings.imports.decoding.encodings import detect_encoding
from ratings.imports.decoding.sample import SIGNATURE_BYTES, read_sample
from ratings.imports.decoding.table_times import parse_table_time
from ratings.imports.interpretation import FileInterpretation, format_command_doubt
from ratings.imports.mapping.column_options import (
    InvalidImportOptions,
    apply_options,
    parse_column_roles,
)
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.layout_guess import TableHead
from ratings.imports.problems import ProblemList, UnreadableFileError, format_error
from ratings.imports.readers import (
    SOURCES,
    TABLE_SOURCES,
    FileReader,
    detect_source,
    guess_mapping,
)
from ratings.imports.readers.tools.base import MAX_LABEL_LENGTH
from ratings.imports.records import (
    ItemRecord,
    RatingRecord,
    ReaderProblem,
    SkippedRecord,
    SkippedRecordCounts,
)
from ratings.imports.values.label_interpretation import LabelOptions


class RatingFileError(Exception):
    """An error in the file, with its line where there is one."""


class FileRow(NamedTuple):
    """A rating of the file. Its time is read as UTC where the file names no time zone."""

    line: int
    item: str
    rater: str
    label: str
    time: datetime.datetime | None


@dataclass(frozen=True)
class TableOptions:
    """Options for the columns of a table, like those of `manage.py import_file`.

    ``cluster``: the column or item attribute whose value identifies the cluster of an item.
    ``duplicates``: a key of DUPLICATE_POLICIES, or empty.
    """

    columns: Sequence[tuple[str, str]] = ()
    layout: str = ""
    encoding: str = ""
    sheets: str = ""
    cluster: str = ""
    date_order: str = ""
    duplicates: str = ""
    rater: str = ""  # of a file that names none

    @classmethod
    def from_command(cls, options: Mapping[str, Any]) -> Self:
        """Return the options given to `manage.py agreement`.

        Raises InvalidImportOptions for a --map argument that is not ROLE=COLUMN with a known role.
        """
        names = ("layout", "encoding", "sheets", "cluster", "dates", "duplicates", "rater")
        return cls(parse_column_roles(options["map"]), *(options[name] or "" for name in names))


@dataclass
class FileRows:
    """The ratings of one question of a file, and how the file was understood.

    ``clusters``: {item: its cluster} of the items that have one.
    """

    understood: FileInterpretation
    label_options: LabelOptions  # what the file says about its labels
    rows: list[FileRow] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)  # keys of all questions of the file
    clusters: dict[str, str] = field(default_factory=dict)


def read_file_rows(path: Path, question: str | None, options: TableOptions) -> FileRows:
    """Return a question's ratings in a file; those of its only question if ``question`` is None.

    ``path`` is an unpacked file. Raises RatingFileError if it cannot be read, or has several
    questions and ``question`` is None.
    """
    try:
        return _read_rows(path, question, options)
    except UnreadableFileError as error:
        raise RatingFileError(format_error(error)) from None
    except InvalidImportOptions as error:
        raise RatingFileError(f"{error}.") from None


def _read_rows(path: Path, question: str | None, options: TableOptions) -> FileRows:
    if not path.stat().st_size:
        raise UnreadableFileError("empty")
    encoding = options.encoding or _detect_encoding(path)
    mapping = ImportMapping(
        source=detect_source(read_sample(path, encoding=encoding)),
        encoding=encoding,
        sheets=options.sheets,
    )
    head = guess_mapping(mapping, path, labels=set())
    mapping.date_order = options.date_order or mapping.date_order
    mapping.default_rater = options.rater
    if head is not None:
        _apply_options(mapping, head, options)
    file_rows = FileRows(FileInterpretation.from_mapping(mapping, head), mapping.label_options)
    reader = SOURCES[mapping.source].open_reader(path, mapping)
    _read_records(reader, mapping, question, file_rows, cluster=options.cluster)
    if question is None and len(file_rows.questions) > 1:
        raise RatingFileError(
            f"The file has several questions; name one of them by --question: "
            f"{', '.join(file_rows.questions)}."
        )
    return file_rows


def _read_records(
    reader: FileReader,
    mapping: ImportMapping,
    question: str | None,
    file_rows: FileRows,
    *,
    cluster: str,
) -> None:
    """Read a file into ``file_rows``: the question's ratings, clusters, and keys of all questions.

    Skipped records are counted. Raises RatingFileError if a record is not valid, or no item has a
    cluster although ``cluster`` names an attribute.
    """
    skipped, problems = SkippedRecordCounts(), ProblemList()
    questions: dict[str, None] = {}
    for record in reader.iter_records():
        if isinstance(record, ReaderProblem):
            problems.add(record.kind, record.line, record.column, **record.values)
        elif isinstance(record, SkippedRecord):
            skipped.add(record.line, record.reason, record.value)
        elif isinstance(record, ItemRecord) and cluster:
            _add_cluster(file_rows.clusters, record, cluster)
        elif isinstance(record, RatingRecord) and record.label is not None:
            questions[record.question] = None
            if question in (None, record.question):
                row = _build_row(record, mapping, reader.columns, problems)
                file_rows.rows.extend([row] if row else [])
    labels = {row.label for row in file_rows.rows}
    if final := reader.find_final_problem(labels, is_usable=bool(questions or skipped.counts)):
        problems.add(final.kind, final.line, final.column, **final.values)
    raise_if_problems(problems)
    file_rows.questions = list(questions)
    if cluster and not file_rows.clusters:
        raise RatingFileError(f"--cluster: no item of the file has a value of {cluster!r}.")
    file_rows.understood.add_skipped_records(skipped.to_json())


def raise_if_problems(problems: ProblemList) -> None:
    """Raise RatingFileError with a sentence for each kind of problem, if there is any."""
    if problems:
        raise RatingFileError("\n".join(group.format() for group in problems.list_groups()))


def _apply_options(mapping: ImportMapping, head: TableHead, options: TableOptions) -> None:
    """Apply the options to the guessed columns of a table.

    Raises RatingFileError if the columns are still in doubt, or the cluster has no column.
    """
    apply_options(
        mapping,
        head,
        columns=options.columns,
        layout=options.layout,
        rater=options.rater,
        duplicates=options.duplicates,
    )
    if mapping.doubt:
        doubt = format_command_doubt(mapping, head)
        raise RatingFileError(f"{doubt} The columns are {', '.join(head.names)}.")
    if options.cluster:
        _add_attribute_column(mapping, head, options.cluster)


def _add_attribute_column(mapping: ImportMapping, head: TableHead, name: str) -> None:
    """Read a column as an attribute of the items.

    Raises RatingFileError if there is no such column, or it has another role.
    """
    if name not in head.names:
        raise RatingFileError(
            f"--cluster: there is no column {name!r}; one of {', '.join(head.names)}."
        )
    index = head.names.index(name)
    if index in mapping.columns.values():
        raise RatingFileError(f"--cluster: the column {name!r} has another role.")
    mapping.excluded_columns = [column for column in mapping.excluded_columns if column != index]
    mapping.content_columns = [column for column in mapping.content_columns if column != index]
    mapping.value_columns.pop(str(index), None)
    if index not in mapping.attribute_columns:
        mapping.attribute_columns.append(index)


def _add_cluster(clusters: dict[str, str], item: ItemRecord, name: str) -> None:
    """Add the cluster of an item, unless it is empty.

    Raises RatingFileError if the item already has another cluster.
    """
    value = str((item.attributes or {}).get(name) or "").strip()
    if value and clusters.setdefault(item.key, value) != value:
        raise RatingFileError(
            f"Line {item.line}: The item {item.key!r} has two values of {name!r}: "
            f"{clusters[item.key]!r} and {value!r}."
        )


def _detect_encoding(path: Path) -> str:
    with path.open("rb") as file:
        return detect_encoding(file.read(SIGNATURE_BYTES)) or "utf-8-sig"


def _build_row(
    record: RatingRecord,
    mapping: ImportMapping,
    columns: Mapping[str, str],
    problems: ProblemList,
) -> FileRow | None:
    """Return a rating's row; None after adding a problem. Raises RatingFileError without raters."""
    # An empty label is a missing value.
    is_table = mapping.source in TABLE_SOURCES
    for role, text in (("item", record.item), ("rater", record.rater)):
        if not text and role == "rater" and is_table and "rater" not in mapping.columns:
            raise RatingFileError(
                "The file names no raters: all its ratings are by one person, and agreement needs "
                "two or more. If a column has the raters, name it by --map rater=COLUMN."
            )
        if not text and role == "rater" and not is_table:
            raise RatingFileError(
                f"Line {record.line}: The rating has no rater. Exports of one person name "
                "none, and agreement needs two or more: import each with a --rater of its own, or "
                "compute the numbers of one by --rater NAME."
            )
        if not text:
            problems.add("key_empty", record.line, columns.get(role, role))
            return None
    label = record.label or ""
    if len(label) > MAX_LABEL_LENGTH:
        values = {"value": label[:40], "found": len(label), "limit": MAX_LABEL_LENGTH}
        problems.add("key_long", record.line, columns.get("label", "label"), **values)
        return None
    time = record.rated_at or None
    if isinstance(time, str):
        time = parse_table_time(time, zone=ZoneInfo("UTC"), date_order=mapping.date_order)
    if isinstance(time, str):
        column = columns.get("rated_at", "")
        problems.add("time", record.line, column, why="shape", time=time)
        return None
    if time is not None and time.tzinfo is None:
        time = time.replace(tzinfo=datetime.UTC)
    return FileRow(record.line, record.item, record.rater, label, time)


def select_ratings(rows: Sequence[FileRow], duplicates: str) -> list[FileRow]:
    """Return one rating of each item and rater, in the order in which these first occur.

    It is the last one if ``duplicates`` is "last" or empty, else the first one. Their order is that
    of time if all of them have a time, else that of the rows.
    """
    is_last = duplicates in ("", "last")
    groups: dict[tuple[str, str], list[FileRow]] = {}
    for row in rows:
        groups.setdefault((row.item, row.rater), []).append(row)
    return [_sort_by_time(group)[-1 if is_last else 0] for group in groups.values()]


def _sort_by_time(group: Sequence[FileRow]) -> Sequence[FileRow]:
    """Return the rows sorted by time, or unchanged if any has no time."""
    times = [row.time for row in group if row.time is not None]
    return sorted(group, key=attrgetter("time")) if len(times) == len(group) > 1 else group


def iter_repeats(rows: Sequence[FileRow]) -> Iterator[tuple[FileRow, FileRow]]:
    """Yield the pairs of an earlier and a later row of the same item and rater."""
    earlier: dict[tuple[str, str], FileRow] = {}
    for row in rows:
        if (row.item, row.rater) in earlier:
            yield earlier[row.item, row.rater], row
        earlier[row.item, row.rater] = row
