"""Amazon SageMaker Ground Truth and Augmented AI (A2I).

The answers of single workers are ratings: in the output of a human loop, in a request to
consolidate, and in a manifest whose labels list all workers. Labels that the service has merged
from several workers are no rater's answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.crowds.form_answers import iter_answers
from ratings.imports.readers.tools.base import (
    Fields,
    ToolReader,
    ToolSource,
    build_body,
    build_rating,
    get_item_key,
    list_objects,
    parse_json,
    parse_seconds,
    parse_time,
    to_text,
)
from ratings.imports.records import ItemRecord, ReaderProblem, Record, SkippedRecord

METADATA_SUFFIX = "-metadata"
SOURCE_FIELDS = ("source-ref", "source")
WORKER_ANSWERS = "annotationsFromAllWorkers"


class GroundTruthSource(ToolSource):
    """Source of output of SageMaker Ground Truth and A2I."""

    name = "SageMaker Ground Truth / A2I"
    extensions = (".manifest", ".jsonl", ".json")
    columns = {"item": "source-ref", "rater": "workerId", "label": "answerContent"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.has_any_field({"humanAnswers"}) and sample.has_any_field({"humanLoopName"}):
            return True
        if sample.has_fields("datasetObjectId", "annotations"):
            return True
        return sample.has_any_field(SOURCE_FIELDS) and any(
            name.endswith(METADATA_SUFFIX) for record in sample.records for name in record
        )

    def open_reader(self, path: Path, mapping: ImportMapping) -> ToolReader:
        return _GroundTruthReader(self, path, mapping)

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        if "humanAnswers" in fields:
            content = fields.get("inputContent")
            body = build_body(content if isinstance(content, dict) else {})
            key = get_item_key(fields.get("humanLoopName"), body)
            yield ItemRecord(line, key, body or None)
            yield from _parse_worker_answers(line, key, "", fields["humanAnswers"])
        elif "datasetObjectId" in fields:
            data = fields.get("dataObject")
            body = build_body(data if isinstance(data, dict) else {})
            key = get_item_key(fields["datasetObjectId"], body)
            yield ItemRecord(line, key, body or None)
            yield from _parse_worker_answers(line, key, "", fields.get("annotations"))
        else:
            yield from _parse_manifest_line(line, fields)


class _GroundTruthReader(ToolReader):
    def find_final_problem(self, labels: Iterable[str], *, is_usable: bool) -> ReaderProblem | None:
        """Return a problem if the file has no labels of individual workers, else None."""
        return (
            None
            if any(labels)
            else ReaderProblem(None, "merged_labels", "", {"format": "Ground Truth"})
        )


def _parse_manifest_line(line: int, fields: Fields) -> Iterator[Record]:
    source = next((fields[name] for name in SOURCE_FIELDS if fields.get(name)), None)
    body = build_body({"image" if "source-ref" in fields else "text": source} if source else {})
    key = to_text(source).rsplit("/", 1)[-1] if "source-ref" in fields else get_item_key("", body)
    if not key:
        yield SkippedRecord(line, "no_content")
        return
    yield ItemRecord(line, key, body or None)
    for name, value in fields.items():
        if f"{name}{METADATA_SUFFIX}" not in fields:
            continue
        if isinstance(value, dict) and WORKER_ANSWERS in value:
            yield from _parse_worker_answers(line, key, name, value[WORKER_ANSWERS])
        else:
            yield SkippedRecord(line, "merged")


def _parse_worker_answers(line: int, key: str, job: str, answers: Any) -> Iterator[Record]:
    """Yield the ratings of individual workers about one item; ``job`` is the labeling job."""
    for answer in list_objects(answers):
        content: Any = answer.get("answerContent")
        if content is None and isinstance(answer.get("annotationData"), dict):
            content = parse_json(answer["annotationData"].get("content"))
        rated_at = parse_time(answer.get("submissionTime"))
        seconds = parse_seconds(answer.get("timeSpentInSeconds"))
        rater = to_text(answer.get("workerId"))
        pairs = list(iter_answers(content))
        for question, value in pairs:
            name = job if job and len(pairs) == 1 else question
            yield build_rating(
                line, key, rater, value, question=name, rated_at=rated_at, seconds=seconds
            )
