"""What a source is: a kind of files, and a reader of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from django.utils.functional import Promise

from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping import import_mapping
from ratings.imports.mapping.columns import Guess, Look
from ratings.imports.records import Record, Wrong


class Reader(Protocol):
    """One file being read, from its beginning to its end."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Role -> what the file calls it, for problems; filled at the latest when the first record
        comes."""

    @property
    def bytes_read(self) -> int:
        """How far it has come; the progress that the lead sees."""

    def records(self) -> Iterator[Record]:
        """Everything that the file says. What is wrong is a record, too, also where the file cannot
        be read further: this raises nothing."""

    def trouble(self, labels: Iterable[str], *, usable: bool) -> Wrong | None:
        """What can be said only after the last line. ``labels`` are those that were found;
        ``usable``: whether there was anything."""


class Source(Protocol):
    """A kind of files. ``path`` is a stored file, unpacked and within IMPORT_MAX_BYTES."""

    @property
    def name(self) -> str | Promise:
        """For the lead."""

    @property
    def endings(self) -> tuple[str, ...]:
        """Of its files' names, like ".csv"."""

    @property
    def encodings(self) -> bool:
        """Whether the lead may choose how bytes become text."""

    @property
    def delimiters(self) -> bool:
        """Whether the lead may choose what parts the columns."""

    def recognises(self, sample: Sample) -> bool:
        """Whether a file that begins like this is of this kind."""

    def look(self, path: Path, chosen: import_mapping.Mapping) -> Look | None:
        """The names of the columns and the first rows, for the lead; None where there are no
        columns to choose. Raises Unreadable."""

    def guess(self, look: Look, *, labels: set[str]) -> Guess:
        """What the columns probably mean. ``labels`` are those that the project knows."""

    def reader(self, path: Path, chosen: import_mapping.Mapping) -> Reader:
        """Reads the file as the lead has decided."""
