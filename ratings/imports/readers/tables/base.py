"""Base classes of sources whose files are tables; each source provides the lines."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.layout_guess import (
    ColumnGuess,
    TableHead,
    guess_columns,
)
from ratings.imports.mapping.name_tests import validate_column_names
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers.tables.cells import format_cell
from ratings.imports.readers.tables.table_parser import TableParser
from ratings.imports.records import ReaderProblem, Record

from .tidy_lines import TableLines, TidyLines

SAMPLE_ROWS = 500  # rows used for guesses
REQUIRED_ROWS = 20  # first rows that have to be readable at the upload


class CountedLines:
    """Base class of a file's lines if their number is known; ``bytes_read`` is estimated by it.

    ``__iter__`` of a subclass updates ``rows_read`` and ``n_rows``.
    """

    has_blank_lines = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.extra_records: list[Record] = []
        self.rows_read = 0
        self.n_rows = 1

    @property
    def bytes_read(self) -> int:
        if not self.path.is_file():
            return 0
        return int(self.path.stat().st_size * min(1.0, self.rows_read / self.n_rows))


class TableSource:
    """Base of sources of tables; subclasses define ``open_lines`` and the rest of FileSource."""

    has_delimiter = False

    def open_lines(self, path: Path, mapping: ImportMapping) -> TableLines:
        """Return the lines of the file."""
        raise NotImplementedError

    def read_head(self, path: Path, mapping: ImportMapping) -> TableHead:
        """Return the column names and the first rows.

        Raises UnreadableFileError if the names or the first REQUIRED_ROWS rows cannot be read, and
        for a table that is empty or has only names. The check reports an error further down.
        """
        lines = TidyLines(self.open_lines(path, mapping))
        rows = []
        try:
            for row in itertools.islice(lines, SAMPLE_ROWS + 1):
                rows.append(row)
        except UnreadableFileError:
            if len(rows) <= REQUIRED_ROWS:
                raise
        if not rows:
            raise UnreadableFileError("empty")
        line, cells = rows[0]
        names = validate_column_names([format_cell(cell) for cell in cells], line)
        if len(rows) == 1:
            raise UnreadableFileError("only_names", line=line)
        return TableHead(
            "", names, [(line, [format_cell(cell) for cell in cells]) for line, cells in rows[1:]]
        )

    def guess_columns(self, head: TableHead, *, labels: set[str]) -> ColumnGuess:
        return guess_columns(head, labels=labels)

    def open_reader(self, path: Path, mapping: ImportMapping) -> TableReader:
        return TableReader(TidyLines(self.open_lines(path, mapping)), mapping)


class TableReader:
    """Reads the records of a table."""

    def __init__(self, lines: TableLines, mapping: ImportMapping) -> None:
        self.lines = lines
        self.table = TableParser(lines, mapping)
        self.columns: dict[str, str] = {}

    @property
    def bytes_read(self) -> int:
        return self.lines.bytes_read

    def iter_records(self) -> Iterator[Record]:
        try:
            self.columns.update(self.table.read_header())
            for record in self.table.iter_records():
                yield from self._iter_extra_records()
                yield record
            yield from self._iter_extra_records()
        except UnreadableFileError as error:
            yield error.to_record()

    def _iter_extra_records(self) -> Iterator[Record]:
        if self.lines.extra_records:
            yield from self.lines.extra_records
            self.lines.extra_records.clear()

    def find_final_problem(self, labels: Iterable[str], *, is_usable: bool) -> ReaderProblem | None:
        return self.table.find_final_problem(labels, is_usable=is_usable)
