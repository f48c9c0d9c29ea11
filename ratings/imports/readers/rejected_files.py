"""Files of known tools without ratings of people or models; they are rejected with advice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.records import ReaderProblem, Record

from .tools.base import ToolReader, ToolSource


class _RejectedFormat(NamedTuple):
    """A format without ratings; ``problem`` is a key of MESSAGES."""

    name: str
    extensions: tuple[str, ...]
    problem: str
    can_read: Callable[[FileSample], bool]


class RejectedSource(ToolSource):
    """Source of files of known formats that have no ratings; reading them yields a problem."""

    def __init__(self, rejected_format: _RejectedFormat) -> None:
        self.name, self.extensions, self.problem, self._can_read = rejected_format

    def can_read(self, sample: FileSample) -> bool:
        return self._can_read(sample)

    def open_reader(self, path: Path, mapping: ImportMapping) -> ToolReader:
        return _RejectingReader(self, path, mapping)


class _RejectingReader(ToolReader):
    tool: RejectedSource

    def iter_records(self) -> Iterator[Record]:
        yield ReaderProblem(1, self.tool.problem, "", {"format": self.tool.name}, fatal=True)


def _is_list_of_submissions(sample: FileSample) -> bool:
    """Return whether the file only lists the participants of a study."""
    names = {name.casefold().replace("_", " ") for name in sample.names}
    return sample.kind == "text" and names >= {"submission id", "participant id", "status"}


def _is_table_of_outputs(sample: FileSample) -> bool:
    """Return whether the file has outputs of models instead of graders' answers."""
    head = sample.head.decode("utf-8", "ignore")
    has_outputs = any(name.startswith("[") and "] " in name for name in sample.names)
    return sample.kind == "text" and has_outputs and ("[PASS]" in head or "[FAIL]" in head)


def _is_list_of_tasks(sample: FileSample) -> bool:
    """Return whether the file has tasks with responses merged from several workers."""
    tasks = [task for record in sample.records for task in record.get("docs") or [record]]
    names = {"task_id", "params", "response"}
    return bool(tasks) and all(isinstance(task, dict) and names <= task.keys() for task in tasks)


def _is_yaml(sample: FileSample) -> bool:
    lines = [line for line in sample.head.splitlines()[:20] if line.strip()]
    is_list = all(line.startswith((b"- ", b"  ", b"#", b"---")) for line in lines)
    return sample.kind == "text" and is_list and any(b": " in line for line in lines)


REJECTED_SOURCES = {
    key: RejectedSource(_RejectedFormat(*values))
    for key, values in {
        "prolific": ("Prolific", (".csv",), "prolific", _is_list_of_submissions),
        "promptfoo_table": ("promptfoo (CSV)", (".csv",), "promptfoo_table", _is_table_of_outputs),
        "lm_eval_results": (
            "lm-evaluation-harness (results)", (".json",), "lm_eval_results",
            lambda sample: sample.has_fields("results", "versions", "n-shot"),
        ),
        "webanno": (
            "WebAnno TSV", (".tsv",), "webanno",
            lambda sample: sample.head.lstrip(b"\xef\xbb\xbf").startswith(b"#FORMAT=WebAnno"),
        ),
        "coco": (
            "COCO", (".json",), "marks_in_items",
            lambda sample: sample.has_fields("images", "annotations", "categories"),
        ),
        "brat": (
            "brat", (".ann",), "marks_in_items",
            lambda sample: re.match(rb"T\d+\t\S+ \d+ \d+[\t;]", sample.head) is not None,
        ),
        "scale_ai": ("Scale AI", (".json",), "merged_labels", _is_list_of_tasks),
        "yaml": ("YAML", (".yaml", ".yml"), "yaml", _is_yaml),
    }.items()
}  # fmt: skip
