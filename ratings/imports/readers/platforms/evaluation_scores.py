"""Scores of LLM evaluation platforms: Langfuse scores, LangSmith feedback, Phoenix annotations.

A trace, run or span is an item, the name of a score a question. Who gave the score is the rater: a
person, or the evaluator that computed it, which is a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key, is_empty_cell
from ratings.imports.readers.tools.base import (
    Fields,
    ToolSource,
    build_model_rater,
    get_object,
    list_rows,
    parse_json,
    parse_single_answer,
    parse_time,
    to_text,
)
from ratings.imports.records import RatingRecord, Record, SkippedRecord

MODEL_SOURCES = ("eval", "model", "auto_eval", "llm", "code")


@dataclass(frozen=True)
class EvaluationScore:
    """A score of an item; ``source`` is the kind of its author, such as "eval"."""

    item: Any
    name: Any
    value: Any
    source: Any
    person: Any
    time: Any
    comment: Any


class ScoreRecordsSource(ToolSource):
    """Base of sources with a record for each score."""

    extensions = (".json", ".jsonl", ".csv")

    def has_own_fields(self, names: set[str]) -> bool:
        """Return whether a record with these fields is a score of this platform."""
        raise NotImplementedError

    def read_score(self, fields: Fields) -> EvaluationScore:
        """Return the score of a record."""
        raise NotImplementedError

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "text":
            return self.has_own_fields(set(sample.names))
        records = [row for record in sample.records for row in list_rows(record)]
        return bool(records) and all(self.has_own_fields(set(record)) for record in records)

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        for row in list_rows(fields):
            yield from _parse_score(line, self.read_score(row), mapping)


def _parse_score(line: int, score: EvaluationScore, mapping: ImportMapping) -> Iterator[Record]:
    key, name = to_text(score.item), to_text(score.name)
    label, reason = parse_single_answer(score.value)
    if not key or label is None:
        yield SkippedRecord(line, reason if key else "no_content")
        return
    source, person = to_text(score.source).lower(), to_text(score.person)
    rater = person or source or mapping.default_rater
    if not person and source in MODEL_SOURCES:
        # Each evaluator has a score of its own name.
        rater = f"{source}: {name}"
        yield build_model_rater(line, rater)
    rated_at, comment = parse_time(score.time), to_text(score.comment) or None
    yield RatingRecord(line, key, rater, build_question_key(name), label, rated_at, comment)


def _find_value(*values: Any) -> Any:
    """Return the first value that is not empty, or None."""
    return next((value for value in values if not is_empty_cell(value)), None)


class LangfuseSource(ScoreRecordsSource):
    """Source of Langfuse scores: a response of its API, or a table."""

    name = "Langfuse"
    columns = {"item": "traceId", "rater": "authorUserId", "label": "value", "question": "name"}

    def has_own_fields(self, names: set[str]) -> bool:
        # Spans of a trace have its id and a name, too, but no value.
        return {"traceId", "name"} <= names and not names.isdisjoint({"value", "stringValue"})

    def read_score(self, fields: Fields) -> EvaluationScore:
        get = fields.get
        return EvaluationScore(
            _find_value(get("observationId"), get("traceId")),
            get("name"),
            _find_value(get("stringValue"), get("value")),
            get("source"),
            get("authorUserId"),
            _find_value(get("timestamp"), get("createdAt")),
            get("comment"),
        )


class LangsmithSource(ScoreRecordsSource):
    """Source of LangSmith feedback."""

    name = "LangSmith"
    columns = {"item": "run_id", "rater": "feedback_source", "label": "value", "question": "key"}

    def has_own_fields(self, names: set[str]) -> bool:
        return {"run_id", "key"} <= names and not names.isdisjoint({"score", "value"})

    def read_score(self, fields: Fields) -> EvaluationScore:
        get = fields.get
        parsed = parse_json(get("feedback_source"))
        source = parsed if isinstance(parsed, dict) else {}
        people = (
            source.get("user_id"), source.get("user_name"), get("feedback_source.user_id")
        )  # fmt: skip
        return EvaluationScore(
            get("run_id"),
            get("key"),
            _find_value(get("value"), get("score")),
            _find_value(source.get("type"), get("feedback_source.type")),
            _find_value(*people),
            get("created_at"),
            get("comment"),
        )


class PhoenixSource(ScoreRecordsSource):
    """Source of annotations of Arize Phoenix: a response of its API, or a table."""

    name = "Phoenix"
    columns = {"item": "span_id", "rater": "annotator_kind", "label": "label", "question": "name"}
    item_fields = ("span_id", "context.span_id", "trace_id", "session_id")

    def has_own_fields(self, names: set[str]) -> bool:
        return {"name", "annotator_kind"} <= names and not names.isdisjoint(self.item_fields)

    def read_score(self, fields: Fields) -> EvaluationScore:
        get = fields.get
        result = get_object(fields, "result") or fields
        is_model = to_text(get("annotator_kind")).lower() in MODEL_SOURCES
        return EvaluationScore(
            _find_value(*map(get, self.item_fields)),
            get("name"),
            _find_value(result.get("label"), result.get("score")),
            get("annotator_kind"),
            "" if is_model else _find_value(get("user_id"), get("identifier")),
            get("created_at"),
            result.get("explanation"),
        )
