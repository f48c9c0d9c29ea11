"""Scores of LLM evaluation platforms: Langfuse scores, LangSmith feedback, Phoenix annotations.

A trace, run or span is an item, the name of a score a question. Who gave the score is the rater: a
person, or the evaluator that computed it, which is a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key, is_empty_cell
from ratings.imports.readers.tools.base import (
    Fields,
    ToolSource,
    build_model_rater,
    list_rows,
    parse_json,
    parse_single_answer,
    parse_time,
    to_text,
)
from ratings.imports.records import RatingRecord, Record, SkippedRecord

MODEL_KINDS = ("eval", "model", "auto_eval", "llm", "code")


class EvaluationScoreSource(ToolSource):
    """Base of sources with a record for each score: a response of an API, or a table.

    ``required`` are fields of every score; every score has at least one field of ``one_of``. Each
    other attribute lists fields, of which the first that is not empty is used; "a.b" is the field b
    of the object a. ``author_kinds`` has the kind of the score's author, such as "eval".
    """

    extensions = (".json", ".jsonl", ".csv")
    required: frozenset[str]
    one_of: tuple[str, ...]
    items: tuple[str, ...]
    names: tuple[str, ...] = ("name",)
    values: tuple[str, ...]
    author_kinds: tuple[str, ...]
    people: tuple[str, ...]
    times: tuple[str, ...] = ("created_at",)
    comments: tuple[str, ...] = ("comment",)

    def can_read(self, sample: FileSample) -> bool:
        records = [row for record in sample.records for row in list_rows(record)]
        fields = [set(sample.names)] if sample.kind == "text" else [set(row) for row in records]
        return bool(fields) and all(
            self.required <= names and not names.isdisjoint(self.one_of) for names in fields
        )

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        for row in list_rows(fields):
            yield from self._parse_score(line, row, mapping)

    def _parse_score(self, line: int, row: Fields, mapping: ImportMapping) -> Iterator[Record]:
        key, name = to_text(_find_value(row, self.items)), to_text(_find_value(row, self.names))
        label, reason = parse_single_answer(_find_value(row, self.values))
        if not key or label is None:
            yield SkippedRecord(line, reason if key else "no_content")
            return
        kind = to_text(_find_value(row, self.author_kinds)).lower()
        rater = to_text(_find_value(row, self.people)) or kind or mapping.default_rater
        if kind in MODEL_KINDS:
            # Each evaluator has a score of its own name.
            rater = f"{kind}: {name}"
            yield build_model_rater(line, rater)
        rated_at = parse_time(_find_value(row, self.times))
        comment = to_text(_find_value(row, self.comments)) or None
        yield RatingRecord(line, key, rater, build_question_key(name), label, rated_at, comment)


def _find_value(row: Fields, paths: Sequence[str]) -> Any:
    """Return the value of the first field or path ("a.b") that is not empty, or None."""
    for path in paths:
        name, _dot, inner_name = path.partition(".")
        value = row.get(path)
        if inner_name and value is None:
            parsed = parse_json(row.get(name))
            value = parsed.get(inner_name) if isinstance(parsed, dict) else None
        if not is_empty_cell(value):
            return value
    return None


class LangfuseSource(EvaluationScoreSource):
    """Source of Langfuse scores."""

    name = "Langfuse"
    columns = {"item": "traceId", "rater": "authorUserId", "label": "value", "question": "name"}
    # Spans of a trace have its id and a name, too, but no value.
    required = frozenset({"traceId", "name"})
    one_of = values = ("stringValue", "value")
    items = ("observationId", "traceId")
    author_kinds, people = ("source",), ("authorUserId",)
    times = ("timestamp", "createdAt")


class LangsmithSource(EvaluationScoreSource):
    """Source of LangSmith feedback."""

    name = "LangSmith"
    columns = {"item": "run_id", "rater": "feedback_source", "label": "value", "question": "key"}
    required = frozenset({"run_id", "key"})
    one_of = values = ("value", "score")
    items, names = ("run_id",), ("key",)
    author_kinds = ("feedback_source.type",)
    people = ("feedback_source.user_id", "feedback_source.user_name")


class PhoenixSource(EvaluationScoreSource):
    """Source of annotations of Arize Phoenix."""

    name = "Phoenix"
    columns = {"item": "span_id", "rater": "annotator_kind", "label": "label", "question": "name"}
    required = frozenset({"name", "annotator_kind"})
    one_of = items = ("span_id", "context.span_id", "trace_id", "session_id")
    values = ("result.label", "label", "result.score", "score")
    author_kinds, people = ("annotator_kind",), ("user_id", "identifier")
    comments = ("result.explanation", "explanation")
