"""Files of known tools that have no ratings of people or models: rejected with the next step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.records import ReaderProblem, Record

from .tools.base import ToolReader, ToolSource


class RejectedSource(ToolSource):
    """Base of sources whose files are rejected; ``problem`` is a key of MESSAGES."""

    problem = ""

    def open_reader(self, path: Path, mapping: ImportMapping) -> ToolReader:
        return _RejectingReader(self, path, mapping)


class _RejectingReader(ToolReader):
    tool: RejectedSource

    def iter_records(self) -> Iterator[Record]:
        yield ReaderProblem(1, self.tool.problem, fatal=True)


class ProlificSource(RejectedSource):
    """Source of the list of submissions of a study, which has participants alone."""

    name = "Prolific"
    extensions = (".csv",)
    problem = "prolific"
    submission_columns = {"submission id", "participant id", "status"}

    def can_read(self, sample: FileSample) -> bool:
        names = {name.casefold().replace("_", " ") for name in sample.names}
        return sample.kind == "text" and names >= self.submission_columns


class PromptfooTableSource(RejectedSource):
    """Source of promptfoo's table, which has outputs instead of the answers of graders."""

    name = "promptfoo (CSV)"
    extensions = (".csv",)
    problem = "promptfoo_table"

    def can_read(self, sample: FileSample) -> bool:
        head = sample.head.decode("utf-8", "ignore")
        has_outputs = any(name.startswith("[") and "] " in name for name in sample.names)
        return sample.kind == "text" and has_outputs and ("[PASS]" in head or "[FAIL]" in head)


class LmEvalResultsSource(RejectedSource):
    """Source of the results of lm-evaluation-harness, which are means."""

    name = "lm-evaluation-harness (results)"
    extensions = (".json",)
    problem = "lm_eval_results"

    def can_read(self, sample: FileSample) -> bool:
        return sample.has_fields("results", "versions", "n-shot")


class WebAnnoSource(RejectedSource):
    """Source of WebAnno TSV, which has labels of words and spans."""

    name = "WebAnno TSV"
    extensions = (".tsv",)
    problem = "webanno"

    def can_read(self, sample: FileSample) -> bool:
        return sample.head.lstrip(b"\xef\xbb\xbf").startswith(b"#FORMAT=WebAnno")


class ScaleSource(RejectedSource):
    """Source of tasks of Scale AI, whose responses are the results of several workers."""

    name = "Scale AI"
    extensions = (".json",)
    problem = "merged_labels"

    def can_read(self, sample: FileSample) -> bool:
        tasks = [task for record in sample.records for task in record.get("docs") or [record]]
        names = {"task_id", "params", "response"}
        return bool(tasks) and all(isinstance(t, dict) and names <= t.keys() for t in tasks)


class YamlSource(RejectedSource):
    """Source of YAML, which is not read."""

    name = "YAML"
    extensions = (".yaml", ".yml")
    problem = "yaml"

    def can_read(self, sample: FileSample) -> bool:
        lines = [line for line in sample.head.splitlines()[:20] if line.strip()]
        is_list = all(line.startswith((b"- ", b"  ", b"#", b"---")) for line in lines)
        return sample.kind == "text" and is_list and any(b": " in line for line in lines)
