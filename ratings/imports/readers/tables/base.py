"""What sources have in common whose files are tables: a source says what the lines are."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from ratings.imports.mapping.columns import Guess, Look, checked_names, guess_columns
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.problems import Unreadable
from ratings.imports.readers.tables.rows import Line, Table, text_of
from ratings.imports.records import Record, Wrong

SAMPLE_ROWS = 20  # shown and guessed from


class Lines(Protocol):
    """Iterates over (line, cells), the names first; raises Unreadable. ``aside`` are records of
    what the lines cannot say; the reader takes them away."""

    aside: list[Record]

    @property
    def bytes_read(self) -> int: ...

    def __iter__(self) -> Iterator[Line]: ...


class CountedLines:
    """The rows of a file that tells how many it has: what was read of it follows from their number.
    The base of Lines; ``__iter__`` keeps ``rows`` and ``n_rows``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.aside: list[Record] = []
        self.rows = 0
        self.n_rows = 1

    @property
    def bytes_read(self) -> int:
        if not self.path.is_file():
            return 0
        return int(self.path.stat().st_size * min(1.0, self.rows / self.n_rows))


class TableSource:
    """A source of tables; a subclass has the other attributes of Source, and ``lines``."""

    delimiters = False

    def lines(self, path: Path, chosen: Mapping) -> Lines:
        raise NotImplementedError

    def look(self, path: Path, chosen: Mapping) -> Look:
        """The line of names and the first rows."""
        rows = list(itertools.islice(self.lines(path, chosen), SAMPLE_ROWS + 1))
        if not rows:
            raise Unreadable("empty")
        line, cells = rows[0]
        names = checked_names([text_of(cell) for cell in cells], line)
        if len(rows) == 1:
            raise Unreadable("only_names", line=line)
        return Look("", names, rows[1:])

    def guess(self, look: Look, *, labels: set[str]) -> Guess:
        return guess_columns(look, labels=labels)

    def reader(self, path: Path, chosen: Mapping) -> TableReader:
        return TableReader(self.lines(path, chosen), chosen)


class TableReader:
    def __init__(self, lines: Lines, chosen: Mapping) -> None:
        self.lines = lines
        self.table = Table(lines, chosen)
        self.columns: dict[str, str] = {}

    @property
    def bytes_read(self) -> int:
        return self.lines.bytes_read

    def records(self) -> Iterator[Record]:
        try:
            self.columns.update(self.table.read_names())
            for record in self.table.records():
                yield from self._aside()
                yield record
            yield from self._aside()
        except Unreadable as error:
            yield error.as_record()

    def _aside(self) -> Iterator[Record]:
        if self.lines.aside:
            yield from self.lines.aside
            self.lines.aside.clear()

    def trouble(self, labels: Iterable[str], *, usable: bool) -> Wrong | None:
        return self.table.trouble(labels, usable=usable)
