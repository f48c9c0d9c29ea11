"""Concord's own JSON Lines: exported ratings, and items in the form of the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.records import (
    GoldRecord,
    ItemRecord,
    RaterRecord,
    RatingRecord,
    Record,
    SkippedRecord,
)

from .base import Fields, ToolSource, parse_seconds, to_text

RATING_FIELDS = ("item", "rater", "question", "label", "rated_at")
ITEM_FIELDS = ("key", "body")
MODEL_FIELDS = ("model", "prompt_version")


class ConcordSource(ToolSource):
    """Source of Concord's own exports."""

    name = _("Concord export")
    extensions = (".jsonl",)
    columns = {name: name for name in (*RATING_FIELDS, "comment", "guidelines", *MODEL_FIELDS)}

    def can_read(self, sample: FileSample) -> bool:
        return sample.has_fields(*RATING_FIELDS) or sample.has_fields(*ITEM_FIELDS)

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        if "key" in fields:
            yield from _parse_item(line, fields)
            return
        if fields.get("label") is None:
            yield SkippedRecord(line, "no_label")
            return
        if model := to_text(fields.get("model")):
            yield RaterRecord(
                line,
                _get_exact_text(fields.get("rater")),
                kind="model",
                model=model,
                prompt_version=to_text(fields.get("prompt_version")),
            )
        yield RatingRecord(
            line,
            _get_exact_text(fields.get("item")),
            _get_exact_text(fields.get("rater")),
            _get_exact_text(fields.get("question")),
            _get_exact_text(fields["label"]),
            to_text(fields.get("rated_at")) or None,
            _get_exact_text(fields.get("comment")),
            parse_seconds(fields.get("seconds")),
            guidelines=to_text(fields["guidelines"]) if "guidelines" in fields else None,
        )


def _get_exact_text(value: Any) -> str:
    """Return a text unchanged, so that blanks around a key or label are reported as an error.

    Another value, such as a number or None, is returned as its text without blanks.
    """
    return value if isinstance(value, str) else to_text(value)


def _parse_item(line: int, fields: Fields) -> Iterator[Record]:
    key = _get_exact_text(fields["key"])
    body, attributes = fields.get("body"), fields.get("attributes")
    yield ItemRecord(
        line,
        key,
        body if isinstance(body, dict) else None,
        attributes if isinstance(attributes, dict) else None,
    )
    gold = fields.get("gold")
    for question, labels in (gold if isinstance(gold, dict) else {}).items():
        for label in labels if isinstance(labels, list) else [labels]:
            if isinstance(label, dict):
                yield SkippedRecord(line, "several_labels")
            else:
                yield GoldRecord(line, key, question, _get_exact_text(label))
