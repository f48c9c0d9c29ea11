"""doccano: JSON Lines, JSON and CSV.

The export has one file for each rater and no rater names, so the rater is that of the whole file.
The older export with `annotations` names the users.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.records import ItemRecord, Record, SkippedRecord

from .base import (
    Fields,
    ToolSource,
    build_attributes,
    build_body,
    build_rating,
    get_item_key,
    list_objects,
    to_text,
)

LABEL_FIELDS = ("label", "labels", "cats")
SKIPPED_FIELDS = {  # field -> reason why it is not imported
    "entities": "spans",
    "relations": "relations",
    "bbox": "boxes",
    "segmentation": "boxes",
}
CONTENT_FIELDS = ("text", "data", "filename")
RATER_FIELDS = ("annotator", "username", "user")  # added where files of users were joined
OTHER_FIELDS = {
    "id",
    "meta",
    "metadata",
    "Comments",
    "comments",
    "annotations",
    "annotation_approver",
    *RATER_FIELDS,
}
CSV_COLUMNS = {"id", "data", "label"}
QUESTION = "label"


class DoccanoSource(ToolSource):
    """Source of doccano's exports."""

    name = "doccano"
    extensions = (".jsonl", ".json", ".csv")
    columns = {"item": "id", "label": "label"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "text":
            return set(sample.names) == CSV_COLUMNS
        if not sample.has_any_field(CONTENT_FIELDS):
            return False
        labels = [
            record[name] for record in sample.records for name in LABEL_FIELDS if name in record
        ]
        if any(not isinstance(label, list) or list_objects(label) for label in labels):
            return False
        annotations = [
            annotation
            for record in sample.records
            for annotation in list_objects(record.get("annotations"))
        ]
        is_old_export = sample.has_fields("annotations", "text") and all(
            {"label", "user"} <= annotation.keys() for annotation in annotations
        )
        return (
            bool(labels)
            or (is_old_export and bool(annotations))
            or sample.has_any_field(SKIPPED_FIELDS)
        )

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        content_fields = {}
        for name in CONTENT_FIELDS:
            if fields.get(name):
                content_fields["text" if name == "data" else name] = fields[name]
        body = build_body(content_fields)
        key = get_item_key(fields.get("id"), body)
        if not key or not body:
            yield SkippedRecord(line, "no_content")
            return
        yield ItemRecord(line, key, body, _build_attributes(fields) or None)
        for name, reason in SKIPPED_FIELDS.items():
            if fields.get(name):
                yield SkippedRecord(line, reason)
        if isinstance(fields.get("annotations"), list):
            yield from _parse_annotations(line, key, fields["annotations"], mapping)
        yield from _parse_labels(line, key, fields, mapping)


def _parse_labels(line: int, key: str, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
    """Yield the rating of a record that has the labels of one person."""
    labels = next((fields[name] for name in LABEL_FIELDS if name in fields), None)
    if labels is None:
        if not any(fields.get(name) for name in (*SKIPPED_FIELDS, "annotations")):
            yield SkippedRecord(line, "no_label")
        return
    if isinstance(labels, str):
        labels = [label for label in labels.split("#") if label.strip()]
    names = (to_text(fields.get(name)) for name in RATER_FIELDS)
    rater = next(filter(None, names), mapping.default_rater)
    yield build_rating(line, key, rater, labels, question=QUESTION)


def _parse_annotations(
    line: int, key: str, annotations: list[Any], mapping: ImportMapping
) -> Iterator[Record]:
    """Yield the ratings of annotations that name their users."""
    labels_by_rater: dict[str, list[str]] = {}
    for annotation in annotations:
        if not isinstance(annotation, dict):
            yield SkippedRecord(line, "ignored")
            continue
        if "start_offset" in annotation:
            yield SkippedRecord(line, "spans")
        elif "label" in annotation:
            rater = to_text(annotation.get("user")) or mapping.default_rater
            labels_by_rater.setdefault(rater, []).append(to_text(annotation["label"]))
    for rater, labels in labels_by_rater.items():
        yield build_rating(line, key, rater, labels, question=QUESTION)


def _build_attributes(fields: Fields) -> Fields:
    used = {*LABEL_FIELDS, *SKIPPED_FIELDS, *CONTENT_FIELDS, *OTHER_FIELDS}
    meta = fields.get("meta") or fields.get("metadata")
    attributes = build_attributes(meta) if isinstance(meta, dict) else {}
    return attributes | build_attributes(
        {name: fields[name] for name in fields if name not in used}
    )
