"""SOURCES: the file formats that can be imported, with a reader each.

To add a tool, add its source to the module of its kind, or add a module, and add its line to
SOURCES. A reader knows its tool and yields the neutral records of `ratings.imports.records`. All
that follows is the same for every source: validation, staging, writing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from django.utils.functional import Promise

from ratings.imports.decoding.sample import FileSample
from ratings.imports.decoding.table_times import guess_date_order
from ratings.imports.mapping.column_cells import ColumnGuess, TableHead
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import UnreadableFileError
from ratings.imports.records import ReaderProblem, Record

from .crowd_platforms import (
    AppenSource,
    MturkSource,
    TolokaSource,
    ZooniverseSource,
)
from .evaluation_logs import (
    BraintrustSource,
    DeepEvalSource,
    InspectSource,
    LmEvalSource,
    OpenaiEvalsSource,
    PromptfooSource,
)
from .evaluation_scores import (
    LangfuseSource,
    LangsmithSource,
    LlmJudgeSource,
    PhoenixSource,
)
from .label_lists import LabelListsSource, LewidiSource
from .labeling_platforms import GroundTruthSource, LabelboxSource
from .rejected_files import REJECTED_SOURCES
from .surveys import QualtricsSource, RayyanSource
from .tables.csv import CsvSource
from .tables.json_records import JsonSource
from .tables.parquet import ParquetSource
from .tables.xlsx import XlsxSource
from .tools.argilla import ArgillaSource
from .tools.concord import ConcordSource
from .tools.image_annotation import CvatSource, ViaSource
from .tools.label_studio import LabelStudioSource
from .tools.text_annotation import (
    DoccanoSource,
    InceptionSource,
    PotatoSource,
    ProdigySource,
)

__all__ = [
    "SOURCES",
    "TABLE_SOURCES",
    "FileReader",
    "FileSource",
    "detect_source",
    "guess_mapping",
    "list_extensions",
]


class FileReader(Protocol):
    """Reads one file from beginning to end."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Return role -> name of the column or field in the file, for messages about problems.

        Complete once the first record has been yielded.
        """

    @property
    def bytes_read(self) -> int:
        """Return the number of bytes read so far, shown as progress."""

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
        """Return the name that the pages show."""

    @property
    def extensions(self) -> tuple[str, ...]:
        """Return the extensions of its files, like ".csv"."""

    @property
    def has_encoding(self) -> bool:
        """Return whether the lead can select the encoding."""

    @property
    def has_delimiter(self) -> bool:
        """Return whether the lead can select the delimiter of the columns."""

    def can_read(self, sample: FileSample) -> bool:
        """Return whether a file that begins like this has this format."""

    def read_head(self, path: Path, mapping: ImportMapping) -> TableHead | None:
        """Return the column names and the first rows, or None if there are no columns to map.

        Raises UnreadableFileError.
        """

    def guess_columns(self, head: TableHead, *, labels: set[str]) -> ColumnGuess:
        """Return the guessed roles of the columns.

        ``labels`` are those of the project's questions.
        """

    def open_reader(self, path: Path, mapping: ImportMapping) -> FileReader:
        """Return a reader of the file, configured by the lead's choices."""


# In the order in which they are tried on a file: tools first, each recognised by fields that only
# it has, then tables, which accept everything.
SOURCES: dict[str, FileSource] = {
    "concord": ConcordSource(),
    "label_studio": LabelStudioSource(),
    "prodigy": ProdigySource(),
    "argilla": ArgillaSource(),
    "potato": PotatoSource(),
    "zooniverse": ZooniverseSource(),
    "inception": InceptionSource(),
    "cvat": CvatSource(),
    "via": ViaSource(),
    "mturk": MturkSource(),
    "toloka": TolokaSource(),
    "appen": AppenSource(),
    **REJECTED_SOURCES,
    "labelbox": LabelboxSource(),
    "ground_truth": GroundTruthSource(),
    "promptfoo": PromptfooSource(),
    "inspect": InspectSource(),
    "openai_evals": OpenaiEvalsSource(),
    "braintrust": BraintrustSource(),
    "langfuse": LangfuseSource(),
    "langsmith": LangsmithSource(),
    "phoenix": PhoenixSource(),
    "deepeval": DeepEvalSource(),
    "lm_eval": LmEvalSource(),
    "qualtrics": QualtricsSource(),
    "rayyan": RayyanSource(),
    "lewidi": LewidiSource(),
    "label_lists": LabelListsSource(),
    "judge": LlmJudgeSource(),
    "doccano": DoccanoSource(),
    "xlsx": XlsxSource(),
    "parquet": ParquetSource(),
    "json": JsonSource(),
    "csv": CsvSource(),
}
# Generic tables, which do not come from a specific tool.
TABLE_SOURCES = ("xlsx", "parquet", "json", "csv")


def detect_source(sample: FileSample) -> str:
    """Return the name of the source for a file that begins like this.

    Raises UnreadableFileError if no source can read it.
    """
    for name, source in SOURCES.items():
        if source.can_read(sample):
            return name
    raise UnreadableFileError({"zip": "zip", "xml": "html"}.get(sample.kind, "binary"))


def guess_mapping(mapping: ImportMapping, path: Path, *, labels: set[str]) -> TableHead | None:
    """Add the guessed roles of the columns to the mapping; return the head of a table.

    None: the file is a tool's export without columns to map. ``labels`` are those of the project's
    questions. Raises UnreadableFileError.
    """
    source = SOURCES[mapping.source]
    head = source.read_head(path, mapping)
    if head is None:
        mapping.use_file_questions = True
        return None
    guess = source.guess_columns(head, labels=labels)
    mapping.delimiter = head.delimiter
    for name, value in vars(guess).items():
        setattr(mapping, name, value)
    mapping.reasons = {str(index): reason for index, reason in guess.reasons.items()}
    mapping.use_file_questions = mapping.has_column_questions
    mapping.sheet_titles = head.sheet_titles
    if len(head.sheet_titles) > 1 and not mapping.sheets:
        has_raters = "rater" in mapping.columns or mapping.layout == "wide"
        mapping.doubt = "sheets" if has_raters else "sheets_of_raters"
    time_index = mapping.columns.get("rated_at")
    if time_index is not None:
        mapping.date_order = guess_date_order(head.columns[time_index].filled)
    return head


def list_extensions() -> list[str]:
    """Return the extensions of all files that can be imported."""
    extensions = {extension: None for source in SOURCES.values() for extension in source.extensions}
    return [*extensions, ".zip", ".gz"]
