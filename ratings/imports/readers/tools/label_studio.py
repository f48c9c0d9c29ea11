"""Label Studio: JSON, JSON-MIN and CSV.

JSON has tasks with annotations and predictions, JSON-MIN and CSV have one annotation per record.

`completed_by` is the rater, `model_version` of a prediction a model, `ground_truth` a gold answer,
`was_cancelled` a skip, `lead_time` the seconds. Single choices, ratings, the leaf of a taxonomy and
pairwise choices are answers to the question that `from_name` names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.readers.tools.answers import find_answer_columns
from ratings.imports.records import (
    GoldRecord,
    ItemRecord,
    QuestionRecord,
    RaterRecord,
    RatingRecord,
    Record,
    SkippedRecord,
    build_model_key,
)

from .base import (
    Fields,
    ToolReader,
    ToolSource,
    build_attributes,
    build_body,
    build_rating,
    get_item_key,
    list_objects,
    open_records,
    parse_json,
    parse_seconds,
    parse_single_answer,
    parse_time,
    to_text,
)

ANNOTATION_FIELDS = ("annotations", "completions")  # "completions" in exports until 2021
# Fields that JSON-MIN and CSV add to a task's data and its labels.
MIN_FIELDS = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time")
REGION_FIELDS = {"x", "y", "start", "end", "points", "rle", "globalOffsets", "startOffset"}
SPAN_FIELDS = {"start", "globalOffsets", "startOffset"}
# Type -> field of the answer.
ANSWER_FIELDS = {
    "choices": "choices",
    "rating": "rating",
    "number": "number",
    "pairwise": "selected",
}
SKIPPED_TYPES = {"relation": "relations", "textarea": "free_text", "ranker": "ranking"}


class LabelStudioSource(ToolSource):
    """Source of Label Studio's exports."""

    name = "Label Studio"
    extensions = (".json", ".csv", ".tsv")
    columns = {"item": "id", "rater": "completed_by", "label": "result", "rated_at": "created_at"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "json":
            has_tasks = sample.has_fields("id") and sample.has_any_field(ANNOTATION_FIELDS)
            has_nested_fields = sample.has_any_field({"data", "predictions", "completions"})
            return (has_tasks and has_nested_fields) or sample.has_fields(*MIN_FIELDS)
        return sample.kind == "text" and {"id", *MIN_FIELDS} <= set(sample.names)

    def open_reader(self, path: Path, mapping: ImportMapping) -> ToolReader:
        return _LabelStudioReader(self, path, mapping)

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        data = fields.get("data")
        body = build_body(data) if isinstance(data, dict) else {}
        key = get_item_key(fields.get("id"), body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        key = mapping.key_prefix + key
        meta = fields.get("meta")
        attributes = build_attributes(meta) if isinstance(meta, dict) else {}
        yield ItemRecord(line, key, body or None, attributes or None)
        for name in ANNOTATION_FIELDS:
            for annotation in list_objects(fields.get(name)):
                yield from _parse_annotation(line, key, annotation, mapping)
        for prediction in list_objects(fields.get("predictions")):
            yield from _parse_prediction(line, key, prediction)
        if fields.get("drafts"):
            yield SkippedRecord(line, "draft")


def _parse_annotation(
    line: int, key: str, annotation: Fields, mapping: ImportMapping
) -> Iterator[Record]:
    """Yield the rater, the skip or the ratings of an annotation, with earlier answers first."""
    rater, rater_name = _get_rater(annotation)
    rater = rater or mapping.default_rater
    if not rater:
        yield SkippedRecord(line, "no_rater")
        return
    if rater_name:
        yield RaterRecord(line, rater, name=rater_name)
    created_at = parse_time(annotation.get("created_at"))
    spent_seconds = parse_seconds(annotation.get("lead_time"))
    if annotation.get("was_cancelled") or annotation.get("skipped"):
        yield RatingRecord(line, key, rater, "", None, created_at, None, spent_seconds)
        return
    if annotation.get("reviews"):
        yield SkippedRecord(line, "review")
    answers, skip_reasons = _parse_result(annotation.get("result"))
    yield from (SkippedRecord(line, reason) for reason in skip_reasons)
    history = _list_history(annotation)
    for question, label in answers.items():
        states = _list_answers(history, question)
        for earlier_label, earlier_time in _iter_earlier_answers(states, label):
            yield RatingRecord(line, key, rater, question, earlier_label, earlier_time)
        rated_at = _get_answer_time(states, created_at)
        yield RatingRecord(line, key, rater, question, label, rated_at, None, spent_seconds)
        if annotation.get("ground_truth"):
            yield GoldRecord(line, key, question, label)


def _parse_prediction(line: int, key: str, prediction: Fields) -> Iterator[Record]:
    version = to_text(prediction.get("model_version")) or "prediction"
    model = build_model_key(version)
    answers, skip_reasons = _parse_result(prediction.get("result"))
    yield from (SkippedRecord(line, reason) for reason in skip_reasons)
    if answers:
        yield RaterRecord(line, model, kind="model", name=version, model=version)
    for question, label in answers.items():
        rated_at = parse_time(prediction.get("created_at"))
        yield RatingRecord(line, key, model, question, label, rated_at)


def _parse_result(result: Any) -> tuple[dict[str, str], list[str]]:
    """Return the labels by question, and the distinct reasons why parts are skipped."""
    parts = []
    for part in result if isinstance(result, list) else []:
        parts += part if isinstance(part, list) else [part]
    labels: dict[str, str | None] = {}
    reasons: dict[str, None] = {}
    for part in parts:
        if not isinstance(part, dict):
            continue
        label, reason = _parse_result_part(part)
        question = build_question_key(to_text(part.get("from_name")))
        if label is None:
            reasons[reason] = None
        elif question in labels and labels[question] != label:
            labels[question] = None
            reasons["several_labels"] = None
        else:
            labels[question] = label
    if not parts:
        reasons["no_label"] = None
    answers = {question: label for question, label in labels.items() if label is not None}
    return answers, list(reasons)


def _parse_result_part(part: Fields) -> tuple[str | None, str]:
    """Return (label, "") of a part of a result, or (None, reason why it is skipped)."""
    kind = to_text(part.get("type")).lower()
    value = part.get("value")
    if kind in SKIPPED_TYPES or not isinstance(value, dict):
        return None, SKIPPED_TYPES.get(kind, "ignored")
    if REGION_FIELDS & value.keys() or kind.endswith("labels"):
        is_span = SPAN_FIELDS & value.keys() or kind in ("labels", "hypertextlabels")
        return None, "spans" if is_span and "x" not in value else "boxes"
    if kind == "taxonomy":
        return _parse_taxonomy(value.get("taxonomy"))
    if kind in ANSWER_FIELDS:
        return parse_single_answer(value.get(ANSWER_FIELDS[kind]))
    return None, "ignored"


def _parse_taxonomy(paths: Any) -> tuple[str | None, str]:
    """Return (leaf, "") of the only path selected in a taxonomy, else (None, reason)."""
    if isinstance(paths, list) and len(paths) == 1 and isinstance(paths[0], list):
        return parse_single_answer(paths[0][-1:])
    return None, "several_labels" if paths else "no_label"


# --- earlier answers of an annotation


def _list_history(annotation: Fields) -> list[Fields]:
    """Return earlier states of the annotation by its annotator, oldest first."""
    if not annotation.get("history"):
        return []
    completed_by = annotation.get("completed_by")
    annotator = completed_by.get("id") if isinstance(completed_by, dict) else completed_by
    states = [
        state
        for state in list_objects(annotation.get("history"))
        if state.get("created_by") in (annotator, None) and state.get("result")
    ]
    return sorted(states, key=lambda state: to_text(state.get("created_at")))


def _list_answers(history: list[Fields], question: str) -> list[tuple[str, Any]]:
    """Return (label, time) of each state in ``history`` that answers the question."""
    answer_times = []
    for state in history:
        answers, _skip_reasons = _parse_result(state.get("result"))
        if question in answers:
            answer_times.append((answers[question], parse_time(state.get("created_at"))))
    return answer_times


def _iter_earlier_answers(states: list[tuple[str, Any]], label: str) -> Iterator[tuple[str, Any]]:
    """Yield (label, time) of the answers before the current ``label``, each change once."""
    all_states = [*states, (label, None)]
    for (current, rated_at), (following, _following_time) in itertools.pairwise(all_states):
        if current != following:
            yield current, rated_at


def _get_answer_time(states: list[tuple[str, Any]], created_at: Any) -> Any:
    """Return the time of the current answer: of its last change, else ``created_at``."""
    rated_at = created_at
    for (previous, _previous_time), (following, following_time) in itertools.pairwise(states):
        if previous != following:
            rated_at = following_time
    return rated_at


# --- raters


def _get_rater(annotation: Fields) -> tuple[str, str]:
    """Return (key, name) of the annotator, each "" if it is unknown or there are several."""
    completed_by = annotation.get("completed_by")
    if isinstance(completed_by, list):
        completed_by = completed_by[0] if len(completed_by) == 1 else None
    if completed_by is None:
        annotators = annotation.get("aggregated_completed_by")
        completed_by = (
            annotators[0] if isinstance(annotators, list) and len(annotators) == 1 else None
        )
    if not isinstance(completed_by, dict):
        return to_text(completed_by), ""
    names = (to_text(completed_by.get("first_name")), to_text(completed_by.get("last_name")))
    key = (
        to_text(completed_by.get("email"))
        or to_text(completed_by.get("username"))
        or to_text(completed_by.get("id"))
    )
    return key, " ".join(name for name in names if name)


# --- JSON-MIN and CSV


class _LabelStudioReader(ToolReader):
    """Reads tasks with annotations, or the flat records of JSON-MIN and CSV."""

    def iter_records(self) -> Iterator[Record]:
        answers: list[str] | None = None
        for question, labels in self.mapping.declared_labels.items():
            yield QuestionRecord(1, question, labels=labels)
        try:
            self.rows = open_records(self.path, self.mapping)
            for line, fields in self.rows:
                if any(name in fields for name in ANNOTATION_FIELDS):
                    yield from self.tool.parse_record(line, fields, self.mapping)
                    continue
                if answers is None:
                    answers = self._find_label_fields(fields)
                yield from _parse_min_record(line, fields, self.mapping, answers)
        except UnreadableFileError as error:
            yield error.to_record()

    def _find_label_fields(self, fields: Fields) -> list[str]:
        """Return the fields that hold labels.

        A record has the fields of the task, then its id, then the labels. If the task's data have
        an id of their own, the id stands among these fields, and content may follow it.
        """
        names = list(fields)
        after_id = names[names.index("id") + 1 :] if "id" in names else names
        candidates = [
            name for name in after_id if name not in (*MIN_FIELDS, "history", "agreement")
        ]
        if any(name in MIN_FIELDS for name in names[: len(names) - len(after_id) - 1]):
            # The columns were sorted, and content stands between labels.
            others = (*MIN_FIELDS, "id", "history", "agreement")
            candidates = [name for name in names if name not in others]
        elif names[:1] != ["id"]:
            return candidates
        records = open_records(self.path, self.mapping)
        return find_answer_columns(records, item_field="id", candidates=candidates) or candidates


def _get_min_answer(value: Any) -> Any:
    """Return the answer in a field of JSON-MIN, such as {"choices": ["x", "y"]} or [{"rating": 4}].

    A plain value, and an object with several kinds of answers, are returned unchanged.
    """
    parts = list_objects(value) or [value]
    if len(parts) == 1 and isinstance(parts[0], dict):
        fields = parts[0].keys() & ANSWER_FIELDS.values()
        return parts[0][fields.pop()] if len(fields) == 1 else value
    return value


def _parse_min_record(
    line: int, fields: Fields, mapping: ImportMapping, answers: Sequence[str]
) -> Iterator[Record]:
    """Yield the records of a JSON-MIN or CSV record."""
    other_fields = (*MIN_FIELDS, "id", "history", "agreement")
    data = {
        name: value
        for name, value in fields.items()
        if name not in answers and name not in other_fields
    }
    body = build_body(data)
    key = get_item_key(fields.get("id"), body)
    if not key:
        yield SkippedRecord(line, "no_content")
        return
    yield ItemRecord(line, key, body or None)
    rater = to_text(fields.get("annotator")) or mapping.default_rater
    for name in answers:
        value = fields.get(name)
        if isinstance(value, str) and value[:1] in ("[", "{"):
            value = parse_json(value)
        yield build_rating(
            line,
            key,
            rater,
            _get_min_answer(value),
            question=name,
            rated_at=parse_time(fields.get("created_at")),
            seconds=parse_seconds(fields.get("lead_time")),
        )
