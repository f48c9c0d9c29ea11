"""The kinds of files that can be imported: SOURCES, a reader for each.

A new tool is one module here and its line in SOURCES. All that comes after reading is the same for
every source: the judge says what is wrong (judging.py), what is right is staged (staging.py), and
written (writing.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from ratings.importing.columns import Guess, Look
from ratings.importing.judging import Judge, Row
from ratings.importing.mapping import Mapping

from .csv import Csv


class Reader(Protocol):
    """One file being read, from its beginning to its end."""

    @property
    def bytes_read(self) -> int:
        """How far it has come; the progress that the lead sees."""

    def rows(self, judge: Judge) -> Iterator[Row]:
        """The ratings that are right, each as numbers from ``judge.items``, ``raters`` and
        ``labels``.

        What is wrong is told to ``judge.found``, also where the file cannot be read further: this
        raises nothing.
        """


class Source(Protocol):
    """A kind of files. ``path`` is a stored file, unpacked and within IMPORT_MAX_BYTES."""

    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins with these bytes (4096, or all) is of this kind."""

    def look(self, path: Path, mapping: Mapping) -> Look:
        """The names of the columns and the first rows, for the lead. Raises Unreadable."""

    def guess(self, look: Look, *, labels: set[str]) -> Guess:
        """What the columns probably mean. ``labels`` are those that the project knows."""

    def reader(self, path: Path, mapping: Mapping) -> Reader:
        """Reads the file as the lead has decided."""


# In the order in which a file is offered to them. CSV comes last: it takes every text, and raises
# Unreadable with the name of what is none.
SOURCES: dict[str, Source] = {"csv": Csv()}


def source_of(head: bytes) -> str:
    """The name of the source for a file that begins with these bytes. Raises Unreadable."""
    for name, source in SOURCES.items():
        if source.recognises(head):
            return name
    raise AssertionError("CSV takes or refuses every file")
