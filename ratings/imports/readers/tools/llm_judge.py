"""Ratings of an LLM judge: JSON Lines with model, prompt version, label or score, and reasoning.

Model and prompt version together are the rater, so that another version is another rater. The
reasoning is the comment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.records import ItemRecord, RaterRecord, Record, SkippedRecord, build_model_key

from .base import (
    Fields,
    ToolSource,
    build_attributes,
    build_body,
    build_rating,
    get_item_key,
    parse_seconds,
    parse_time,
    to_text,
)

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
    """Source of the ratings of an LLM judge."""

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
        yield from _parse_answer(line, key, rater, fields)


def _parse_answer(line: int, key: str, rater: str, fields: Fields) -> Iterator[Record]:
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
