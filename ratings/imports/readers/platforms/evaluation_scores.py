"""Scores of LLM evaluation platforms: Langfuse scores and LangSmith feedback.

A trace or run is an item, the name of a score a question. Who gave the score is the rater: a
person, or the evaluator that computed it, which is a model.
"""

from __future__ import annotations

from collections.abc import Iterator

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.readers.tools.base import (
    Fields,
    ToolSource,
    list_objects,
    parse_json,
    parse_single_answer,
    parse_time,
    to_text,
)
from ratings.imports.records import RaterRecord, RatingRecord, Record, SkippedRecord

MODEL_SOURCES = ("eval", "model", "auto_eval")


class LangfuseSource(ToolSource):
    """Source of Langfuse scores: a response of its API, or a table."""

    name = "Langfuse"
    extensions = (".json", ".jsonl", ".csv")
    columns = {"item": "traceId", "rater": "authorUserId", "label": "value", "question": "name"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "text":
            return {"traceId", "name", "value"} <= set(sample.names)
        records = [
            score for record in sample.records for score in list_objects(record.get("data"))
        ] or sample.records
        # Spans of a trace have its id and a name, too, but no value.
        return bool(records) and all(
            {"traceId", "name"} <= record.keys() and {"value", "stringValue"} & record.keys()
            for record in records
        )

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        for score in list_objects(fields.get("data")) or [fields]:
            yield from self._parse_score(line, score, mapping)

    def _parse_score(self, line: int, score: Fields, mapping: ImportMapping) -> Iterator[Record]:
        key = to_text(score.get("observationId")) or to_text(score.get("traceId"))
        text = to_text(score.get("stringValue"))
        label, reason = parse_single_answer(text or score.get("value"))
        question = build_question_key(to_text(score.get("name")))
        source = to_text(score.get("source"))
        author = to_text(score.get("authorUserId"))
        if not key or label is None:
            yield SkippedRecord(line, reason if key else "no_content")
            return
        rater = author or source.lower() or mapping.default_rater
        if not author and source.casefold() in MODEL_SOURCES:
            # Each evaluator has a score of its own name.
            rater = f"{source.lower()}: {to_text(score.get('name'))}"
            yield RaterRecord(line, rater, kind="model", name=rater, model=rater)
        rated_at = parse_time(score.get("timestamp") or score.get("createdAt"))
        comment = to_text(score.get("comment")) or None
        yield RatingRecord(line, key, rater, question, label, rated_at, comment)


class LangsmithSource(ToolSource):
    """Source of LangSmith feedback."""

    name = "LangSmith"
    extensions = (".json", ".jsonl", ".csv")
    columns = {"item": "run_id", "rater": "feedback_source", "label": "value", "question": "key"}

    def can_read(self, sample: FileSample) -> bool:
        names = {"run_id", "key", "score"}
        if sample.kind == "text":
            return names <= set(sample.names)
        return sample.has_fields("run_id", "key") and sample.has_any_field({"score", "value"})

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        key = to_text(fields.get("run_id"))
        value = fields.get("value")
        label, reason = parse_single_answer(
            fields.get("score") if value is None or value == "" else value
        )
        if not key or label is None:
            yield SkippedRecord(line, reason if key else "no_content")
            return
        source = parse_json(fields.get("feedback_source"))
        source = source if isinstance(source, dict) else {}
        kind = to_text(source.get("type") or fields.get("feedback_source.type")).lower()
        names = (
            source.get("user_id"),
            source.get("user_name"),
            fields.get("feedback_source.user_id"),
        )
        person = next((to_text(name) for name in names if name), "")
        question = to_text(fields.get("key"))
        rater = person or kind or mapping.default_rater
        if not person and kind in MODEL_SOURCES:
            rater = f"{kind}: {question}"
            yield RaterRecord(line, rater, kind="model", name=rater, model=rater)
        rated_at = parse_time(fields.get("created_at"))
        comment = to_text(fields.get("comment")) or None
        yield RatingRecord(line, key, rater, build_question_key(question), label, rated_at, comment)
