"""Prodigy: JSON Lines exported from its database.

The choice of one option, and accepting or rejecting one label (`answer`), are answers; `ignore` is
a skip. The rater is `_annotator_id`, else `_session_id`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.records import ItemRecord, QuestionRecord, RatingRecord, Record, SkippedRecord

from .base import (
    Fields,
    ToolSource,
    build_attributes,
    build_body,
    get_item_key,
    parse_single_answer,
    parse_time,
    to_text,
)

# Fields that are not the item's content.
NON_CONTENT_FIELDS = {
    "meta",
    "tokens",
    "spans",
    "relations",
    "label",
    "options",
    "accept",
    "answer",
    "score",
    "priority",
    "config",
    "audio_spans",
    "user_input",
    "width",
    "height",
    "versions",
    "path",
}
CHOICE_QUESTION = "choice"


class ProdigySource(ToolSource):
    """Source of Prodigy's exports."""

    name = "Prodigy"
    extensions = (".jsonl",)
    columns = {
        "item": "_input_hash",
        "rater": "_annotator_id",
        "label": "answer",
        "rated_at": "_timestamp",
    }

    def can_read(self, sample: FileSample) -> bool:
        return sample.has_fields("answer") and sample.has_any_field({"_input_hash", "_task_hash"})

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        content_fields = {
            name: value
            for name, value in fields.items()
            if name not in NON_CONTENT_FIELDS and not name.startswith("_")
        }
        body = build_body(content_fields)
        key = get_item_key(fields.get("_input_hash"), body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        meta = fields.get("meta")
        yield ItemRecord(
            line, key, body or None, build_attributes(meta) if isinstance(meta, dict) else None
        )
        rater = to_text(fields.get("_annotator_id")) or to_text(fields.get("_session_id"))
        rated_at = parse_time(fields.get("_timestamp"))
        rater = rater or mapping.default_rater
        answer = to_text(fields.get("answer"))
        if isinstance(fields.get("options"), list):
            records = _parse_choice(line, fields)
        elif isinstance(fields.get("label"), str) and not fields.get("spans"):
            records = _parse_binary_answer(line, fields)
        else:
            records = iter([SkippedRecord(line, _explain_missing_label(fields))])
        for record in records:
            if isinstance(record, RatingRecord):
                yield record._replace(item=key, rater=rater, rated_at=rated_at)
            elif isinstance(record, SkippedRecord) and answer == "ignore":
                yield RatingRecord(line, key, rater, "", None, rated_at)
            else:
                yield record


def _parse_choice(line: int, fields: Fields) -> Iterator[Record]:
    """Yield the question and the rating of a choice among options."""
    options = [
        to_text(option_fields.get("id"))
        for option_fields in fields["options"]
        if isinstance(option_fields, dict)
    ]
    yield QuestionRecord(line, CHOICE_QUESTION, labels=[option for option in options if option])
    answer = to_text(fields.get("answer"))
    if answer == "ignore":
        yield RatingRecord(line, "", "", CHOICE_QUESTION, None)
        return
    label, reason = parse_single_answer(fields.get("accept"))
    if answer == "reject" or label is None:
        yield SkippedRecord(line, reason or "ignored")
    else:
        yield RatingRecord(line, "", "", CHOICE_QUESTION, label)


def _parse_binary_answer(line: int, fields: Fields) -> Iterator[Record]:
    """Yield the question and the rating of a label that was accepted or rejected."""
    label = fields["label"].strip()
    question = build_question_key(label)
    yield QuestionRecord(line, question, text=label, labels=("accept", "reject"))
    answer = to_text(fields.get("answer"))
    yield RatingRecord(line, "", "", question, None if answer == "ignore" else answer)


def _explain_missing_label(fields: Fields) -> str:
    """Return the reason why a record has no label."""
    if fields.get("relations"):
        return "relations"
    if fields.get("spans") or "tokens" in fields:
        return "boxes" if "image" in fields else "spans"
    return "free_text" if fields.get("user_input") else "no_label"
