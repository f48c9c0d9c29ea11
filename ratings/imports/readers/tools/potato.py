"""Potato: the JSON Lines of one annotator, or a table with one column for each label.

The annotator of `annotated_instances.jsonl` is the rater of the whole file. The table has a column
`user`, and columns named `schema:::label`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.records import ItemRecord, RatingRecord, Record, SkippedRecord

from .base import (
    Fields,
    ToolSource,
    build_body,
    get_item_key,
    parse_single_answer,
    to_text,
)

SCHEMA_SEPARATOR = ":::"  # separates a schema from its label
FALSE_VALUES = ("", "false", "0", "none", "nan")
LIKERT_STEP = re.compile(r"(?:scale_)?(\d+)")  # label of a Likert scale
TEXT_BOX_NAMES = ("text_box", "textbox", "free_response")


class PotatoSource(ToolSource):
    """Source of Potato's exports."""

    name = "Potato"
    extensions = (".jsonl", ".csv", ".tsv")
    columns = {"item": "instance_id", "rater": "user", "label": "label_annotations"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "text":
            has_schemas = any(SCHEMA_SEPARATOR in name for name in sample.names)
            return has_schemas and {"user", "instance_id"} <= set(sample.names)
        return sample.has_any_field({"label_annotations", "span_annotations"}) or any(
            SCHEMA_SEPARATOR in name for record in sample.records for name in record
        )

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        displayed_text = fields.get("displayed_text") or fields.get("text")
        body = build_body({"text": displayed_text}) if displayed_text else {}
        instance_id = fields.get("instance_id", fields.get("id"))
        key = get_item_key(instance_id, body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        yield ItemRecord(line, key, body or None)
        rater = (
            to_text(fields.get("user")) or to_text(fields.get("user_id")) or mapping.default_rater
        )
        if fields.get("span_annotations"):
            yield SkippedRecord(line, "spans")
        for schema, values_by_label in _group_by_schema(fields).items():
            label, reason = _parse_label(values_by_label)
            if label is None:
                yield SkippedRecord(line, reason)
            else:
                yield RatingRecord(line, key, rater, build_question_key(schema), label)


def _group_by_schema(fields: Fields) -> dict[str, Fields]:
    """Return schema -> {label: entered value} of a record."""
    schemas: dict[str, Fields] = {}
    nested = fields.get("label_annotations")
    if isinstance(nested, dict):
        for schema, values_by_label in nested.items():
            schemas[schema] = (
                values_by_label if isinstance(values_by_label, dict) else {"": values_by_label}
            )
    for name, value in fields.items():
        schema, separator, label = name.partition(SCHEMA_SEPARATOR)
        if separator:
            schemas.setdefault(schema, {})[label] = value
    return schemas


def _parse_label(values_by_label: Fields) -> tuple[str | None, str]:
    """Return (label, "") of the only label that is marked, else (None, reason to skip it)."""
    labels = []
    for name, value in values_by_label.items():
        entered = to_text(value)
        if entered.casefold() in FALSE_VALUES or value is False:
            continue
        if name.casefold() in TEXT_BOX_NAMES:
            return None, "free_text"
        step = LIKERT_STEP.fullmatch(name)
        if step:
            labels.append(step[1])
        else:
            labels.append(name or entered)
    return parse_single_answer(labels)
