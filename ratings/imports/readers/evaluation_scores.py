"""Scores of models' outputs: from Langfuse, LangSmith and Phoenix, and from LLM judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key, is_empty_cell
from ratings.imports.readers.tools.base import (
    Fields,
    ToolSource,
    build_attributes,
    build_body,
    build_model_rater,
    build_rating,
    get_item_key,
    list_rows,
    parse_json,
    parse_seconds,
    parse_single_answer,
    parse_time,
    to_text,
)
from ratings.imports.records import (
    ItemRecord,
    RaterRecord,
    RatingRecord,
    Record,
    SkippedRecord,
    build_model_key,
)

MODEL_KINDS = ("eval", "model", "auto_eval", "llm", "code")


class EvaluationScoreSource(ToolSource):
    """Base of sources with a record for each score: a response of an API, or a table.

    A trace, run or span is an item, the name of a score a question. Who gave the score is the
    rater: a person, or the evaluator that computed it, which is a model.

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


ITEM_FIELDS = ("item", "item_id", "id", "key", "example_id", "custom_id")
MODEL_FIELDS = ("model", "judge", "judge_model", "model_name")
VERSION_FIELDS = ("prompt_version", "version", "prompt", "template")
LABEL_FIELDS = ("label", "verdict", "answer", "rating", "choice")
SCORE_FIELDS = ("score",)
REASON_FIELDS = ("reasoning", "rationale", "explanation", "reason", "comment")
TIME_FIELDS = ("rated_at", "created_at", "timestamp", "time")
SECONDS_FIELDS = ("seconds", "latency", "duration")
QUESTION_FIELDS = ("question", "criterion", "metric")
CONTENT_FIELDS = (
    "body",
    "text",
    "input",
    "source",
    "output",
    "response",
    "response_a",
    "response_b",
)
MAX_VERSION_LENGTH = 60  # a longer one is the prompt itself
MAX_REASON_LENGTH = 10_000


class LlmJudgeSource(ToolSource):
    """Source of JSON Lines of an LLM judge: model, prompt version, label or score, and reasoning.

    Model and prompt version together are the rater, so that another version is another rater. The
    reasoning is the comment.
    """

    name = _("answers of a judge model")
    extensions = (".jsonl",)
    columns = {
        "item": "item",
        "rater": "model",
        "label": "label",
        "rated_at": "created_at",
        "comment": "reasoning",
    }

    def can_read(self, sample: FileSample) -> bool:
        if sample.has_fields("rater") or sample.has_fields("annotator"):
            return False
        if not sample.records:
            return False
        required_fields = (MODEL_FIELDS, ITEM_FIELDS, (*LABEL_FIELDS, *SCORE_FIELDS))
        return all(
            any(name in record for name in names)
            for record in sample.records
            for names in required_fields
        )

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        content_fields = {name: fields[name] for name in CONTENT_FIELDS if name in fields}
        body = (
            content_fields["body"]
            if isinstance(content_fields.get("body"), dict)
            else build_body(content_fields)
        )
        key = get_item_key(_get_first_value(fields, ITEM_FIELDS), body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        attributes = fields.get("attributes")
        item_attributes = build_attributes(attributes) if isinstance(attributes, dict) else {}
        if body or item_attributes:
            yield ItemRecord(line, key, body or None, item_attributes or None)
        name = to_text(_get_first_value(fields, MODEL_FIELDS))
        version = to_text(_get_first_value(fields, VERSION_FIELDS))
        if len(version) > MAX_VERSION_LENGTH or "\n" in version:
            version = ""
        rater = build_model_key(name, version) or mapping.default_rater
        yield RaterRecord(
            line,
            rater,
            kind="model",
            name=f"{name} {version}".strip(),
            model=name or rater,
            prompt_version=version,
        )
        yield from _parse_judge_answer(line, key, rater, fields)


def _parse_judge_answer(line: int, key: str, rater: str, fields: Fields) -> Iterator[Record]:
    value, score = _get_first_value(fields, LABEL_FIELDS), _get_first_value(fields, SCORE_FIELDS)
    if value is None:
        value = score
    elif score is not None:
        yield SkippedRecord(line, "number")
    yield build_rating(
        line,
        key,
        rater,
        value,
        question=to_text(_get_first_value(fields, QUESTION_FIELDS)),
        rated_at=parse_time(_get_first_value(fields, TIME_FIELDS)),
        comment=to_text(_get_first_value(fields, REASON_FIELDS))[:MAX_REASON_LENGTH] or None,
        seconds=parse_seconds(_get_first_value(fields, SECONDS_FIELDS)),
    )


def _get_first_value(fields: Fields, names: tuple[str, ...]) -> Any:
    """Return the first value that is not empty among these fields, or None."""
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)
