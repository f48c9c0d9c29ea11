"""Exports of labeling platforms: Labelbox, and Amazon SageMaker Ground Truth with A2I."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tools.answers import iter_answers
from ratings.imports.readers.tools.base import (
    Fields,
    ToolReader,
    ToolSource,
    build_body,
    build_rating,
    get_item_key,
    get_object,
    list_objects,
    parse_json,
    parse_seconds,
    parse_time,
    to_text,
)
from ratings.imports.records import ItemRecord, RatingRecord, ReaderProblem, Record, SkippedRecord

LABELBOX_KEY_FIELDS = ("external_id", "global_key", "id")
LABELBOX_COLUMNS = {"DataRow ID", "Labeled Data", "Label", "Created By"}


class LabelboxSource(ToolSource):
    """Source of Labelbox: NDJSON with a data row per line and labels by project; older exports."""

    name = "Labelbox"
    extensions = (".ndjson", ".json")
    columns = {"item": "data_row", "rater": "created_by", "label": "radio_answer"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "text":
            return set(sample.names) >= LABELBOX_COLUMNS
        return sample.has_fields("data_row", "projects") or sample.has_fields(*LABELBOX_COLUMNS)

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        if "Label" in fields:
            yield from _parse_label_row(line, fields, mapping)
            return
        data_row = fields["data_row"] if isinstance(fields["data_row"], dict) else {}
        content = data_row.get("row_data")
        body = build_body(content if isinstance(content, dict) else {"row_data": content})
        if set(body) == {"row_data"}:
            body = {"text": to_text(body["row_data"])}
        tool_key = next(
            (data_row[name] for name in LABELBOX_KEY_FIELDS if data_row.get(name)), None
        )
        key = get_item_key(tool_key, body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        yield ItemRecord(line, key, body or None)
        projects = fields["projects"] if isinstance(fields["projects"], dict) else {}
        for project in projects.values():
            labels = project.get("labels") if isinstance(project, dict) else None
            for label in list_objects(labels):
                yield from _parse_label(line, key, label, mapping)


def _parse_label_row(line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
    """Yield the item and the answers of a row of an older export."""
    body = build_body({"text": fields["Labeled Data"]})
    key = to_text(fields.get("External ID")) or get_item_key(fields["DataRow ID"], body)
    yield ItemRecord(line, key, body or None)
    details = {"created_by": fields["Created By"], "created_at": fields.get("Created At")}
    performance = {"seconds_to_create": fields.get("Seconds to Label")}
    performance["skipped"] = to_text(fields["Label"]).casefold() == "skip"
    label = {"label_details": details, "performance_details": performance}
    label["annotations"] = parse_json(fields["Label"])
    yield from _parse_label(line, key, label, mapping)


def _parse_label(line: int, key: str, label: Fields, mapping: ImportMapping) -> Iterator[Record]:
    details = get_object(label, "label_details")
    performance = get_object(label, "performance_details")
    annotations = get_object(label, "annotations")
    rater = to_text(details.get("created_by")) or mapping.default_rater
    rated_at = parse_time(details.get("created_at"))
    seconds = parse_seconds(performance.get("seconds_to_create"))
    if performance.get("skipped") is True:
        yield RatingRecord(line, key, rater, "", None, rated_at, None, seconds)
        return
    if annotations.get("objects") or annotations.get("segments") or annotations.get("frames"):
        yield SkippedRecord(line, "boxes")
    if annotations.get("relationships"):
        yield SkippedRecord(line, "relations")
    for question, answer in _iter_classification_answers(annotations.get("classifications")):
        yield build_rating(
            line, key, rater, answer, question=question, rated_at=rated_at, seconds=seconds
        )


def _iter_classification_answers(classifications: Any) -> Iterator[tuple[str, Any]]:
    """Yield (question, answer) of classifications, including those nested in answers."""
    for classification in list_objects(classifications):
        get = classification.get
        question = _get_name(classification)
        choices = list_objects(get("checklist_answers") or get("answers"))
        answer = get("radio_answer") or get("answer")
        if isinstance(answer, dict):
            choices = [answer]
        text = get("text_answer", answer)
        if "text_answer" in classification or isinstance(answer, str):
            yield question, text.get("content") if isinstance(text, dict) else text
        else:
            yield question, list(map(_get_name, choices))
        for choice in choices:
            yield from _iter_classification_answers(choice.get("classifications"))


def _get_name(fields: Fields) -> str:
    """Return the name of a question or an option."""
    return to_text(fields.get("name") or fields.get("title") or fields.get("value"))


METADATA_SUFFIX = "-metadata"
SOURCE_FIELDS = ("source-ref", "source")
WORKER_ANSWERS = "annotationsFromAllWorkers"


class GroundTruthSource(ToolSource):
    """Source of output of SageMaker Ground Truth and Augmented AI (A2I).

    The answers of single workers are ratings: in the output of a human loop, in a request to
    consolidate, and in a manifest whose labels list all workers. Labels that the service has merged
    from several workers are no rater's answer.
    """

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
