"""Prolific: the list of submissions of a study, which has participants and no ratings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tools.base import ToolReader, ToolSource
from ratings.imports.records import ReaderProblem, Record

SUBMISSION_COLUMNS = {"submission id", "participant id", "status"}


class ProlificSource(ToolSource):
    """Source of lists of submissions of Prolific; they are rejected with the next step."""

    name = "Prolific"
    extensions = (".csv",)

    def can_read(self, sample: FileSample) -> bool:
        names = {name.casefold().replace("_", " ") for name in sample.names}
        return sample.kind == "text" and names >= SUBMISSION_COLUMNS

    def open_reader(self, path: Path, mapping: ImportMapping) -> ToolReader:
        return _ProlificReader(self, path, mapping)


class _ProlificReader(ToolReader):
    def iter_records(self) -> Iterator[Record]:
        yield ReaderProblem(1, "prolific", fatal=True)
