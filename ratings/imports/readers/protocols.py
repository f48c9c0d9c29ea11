"""Protocols of a source (a file format) and its reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from django.utils.functional import Promise

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping import import_mapping
from ratings.imports.mapping.layout_guess import ColumnGuess, TableHead
from ratings.imports.records import ReaderProblem, Record


class FileReader(Protocol):
    """Reads one file from beginning to end."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Role -> name of the column or field in the file, for messages about problems.

        Complete once the first record has been yielded.
        """

    @property
    def bytes_read(self) -> int:
        """Number of bytes read so far, shown as progress."""

    def iter_records(self) -> Iterator[Record]:
        """Yield everything in the file as records.

        Raises nothing: problems are yielded as records, too, even one after which the file cannot
        be read further.
        """

    def find_final_problem(self, labels: Iterable[str], *, is_usable: bool) -> ReaderProblem | None:
        """Return a problem that shows only after the whole file has been read, or None.

        ``labels`` are the labels found; ``is_usable``: the file has something to import.
        """


class FileSource(Protocol):
    """A file format. ``path`` is a stored file, unpacked and within IMPORT_MAX_BYTES."""

    @property
    def name(self) -> str | Promise:
        """Display name."""

    @property
    def extensions(self) -> tuple[str, ...]:
        """Extensions of its files, like ".csv"."""

    @property
    def has_encoding(self) -> bool:
        """True if the lead can select the encoding."""

    @property
    def has_delimiter(self) -> bool:
        """True if the lead can select the delimiter of the columns."""

    def can_read(self, sample: FileSample) -> bool:
        """Return whether a file that begins like this has this format."""

    def read_head(self, path: Path, mapping: import_mapping.ImportMapping) -> TableHead | None:
        """Return the column names and the first rows, or None if there are no columns to map.

        Raises UnreadableFileError.
        """

    def guess_columns(self, head: TableHead, *, labels: set[str]) -> ColumnGuess:
        """Return the guessed roles of the columns.

        ``labels`` are those of the project's questions.
        """

    def open_reader(self, path: Path, mapping: import_mapping.ImportMapping) -> FileReader:
        """Return a reader of the file, configured by the lead's choices."""
