"""Exports of tools that annotate texts: doccano, Prodigy, Potato, INCEpTION."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.records import ItemRecord, QuestionRecord, RatingRecord, Record, SkippedRecord

from .base import (
    Fields,
    ToolSource,
    build_attributes,
    build_body,
    build_rating,
    get_item_key,
    list_objects,
    parse_single_answer,
    parse_time,
    to_text,
)

LABEL_FIELDS = ("label", "labels", "cats")
SKIPPED_FIELDS = {  # field -> reason why it is not imported
    "entities": "spans",
    "relations": "relations",
    "bbox": "boxes",
    "segmentation": "boxes",
}
DOCCANO_CONTENT_FIELDS = ("text", "data", "filename")
RATER_FIELDS = ("annotator", "username", "user")  # added where files of users were joined
DOCCANO_OTHER_FIELDS = {
    "id", "meta", "metadata", "Comments", "comments", "annotations", "annotation_approver",
    *RATER_FIELDS,
}  # fmt: skip
CSV_COLUMNS = {"id", "data", "label"}
LABEL_QUESTION = "label"


class DoccanoSource(ToolSource):
    """Source of doccano's exports: JSON Lines, JSON and CSV.

    The export has one file for each rater and no rater names, so the rater is that of the whole
    file. The older export with `annotations` names the users.
    """

    name = "doccano"
    extensions = (".jsonl", ".json", ".csv")
    columns = {"item": "id", "label": "label"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "text":
            return set(sample.names) == CSV_COLUMNS
        if not sample.has_any_field(DOCCANO_CONTENT_FIELDS):
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
        for name in DOCCANO_CONTENT_FIELDS:
            if fields.get(name):
                content_fields["text" if name == "data" else name] = fields[name]
        body = build_body(content_fields)
        key = get_item_key(fields.get("id"), body)
        if not key or not body:
            yield SkippedRecord(line, "no_content")
            return
        yield ItemRecord(line, key, body, _build_doccano_attributes(fields) or None)
        for name, reason in SKIPPED_FIELDS.items():
            if fields.get(name):
                yield SkippedRecord(line, reason)
        if isinstance(fields.get("annotations"), list):
            yield from _parse_annotations(line, key, fields["annotations"], mapping)
        yield from _parse_labels(line, key, fields, mapping)


def _parse_labels(line: int, key: str, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
    """Yield the rating of a record that has the labels of one person.

    Without labels, yield a SkippedRecord, or nothing if other fields explain that there are none.
    """
    labels = next((fields[name] for name in LABEL_FIELDS if name in fields), None)
    if labels is None:
        if not any(fields.get(name) for name in (*SKIPPED_FIELDS, "annotations")):
            yield SkippedRecord(line, "no_label")
        return
    if isinstance(labels, str):
        labels = [label for label in labels.split("#") if label.strip()]
    names = (to_text(fields.get(name)) for name in RATER_FIELDS)
    rater = next(filter(None, names), mapping.default_rater)
    yield build_rating(line, key, rater, labels, question=LABEL_QUESTION)


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
        yield build_rating(line, key, rater, labels, question=LABEL_QUESTION)


def _build_doccano_attributes(fields: Fields) -> Fields:
    used = {*LABEL_FIELDS, *SKIPPED_FIELDS, *DOCCANO_CONTENT_FIELDS, *DOCCANO_OTHER_FIELDS}
    meta = fields.get("meta") or fields.get("metadata")
    attributes = build_attributes(meta) if isinstance(meta, dict) else {}
    return attributes | build_attributes(
        {name: fields[name] for name in fields if name not in used}
    )


# Fields of Prodigy that are not the item's content.
NON_CONTENT_FIELDS = {
    "meta", "tokens", "spans", "relations", "label", "options", "accept", "answer", "score",
    "priority", "config", "audio_spans", "user_input", "width", "height", "versions", "path",
}  # fmt: skip
CHOICE_QUESTION = "choice"


class ProdigySource(ToolSource):
    """Source of JSON Lines exported from Prodigy's database.

    The choice of one option, and accepting or rejecting one label (`answer`), are answers; `ignore`
    is a skip. The rater is `_annotator_id`, else `_session_id`.
    """

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
    """Return the reason (a key of SKIPPED_RECORD_REASONS) why a record has no label."""
    if fields.get("relations"):
        return "relations"
    if fields.get("spans") or "tokens" in fields:
        return "boxes" if "image" in fields else "spans"
    return "free_text" if fields.get("user_input") else "no_label"


SCHEMA_SEPARATOR = ":::"  # separates a schema from its label
FALSE_VALUES = ("", "false", "0", "none", "nan")
LIKERT_STEP = re.compile(r"(?:scale_)?(\d+)")  # label of a Likert scale
TEXT_BOX_NAMES = ("text_box", "textbox", "free_response")


class PotatoSource(ToolSource):
    """Source of Potato's exports: JSON Lines of one annotator, or a table with a column per label.

    The annotator of `annotated_instances.jsonl` is the rater of the whole file. The table has a
    column `user`, and columns named `schema:::label`.
    """

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
            label, reason = _parse_schema_answer(values_by_label)
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


def _parse_schema_answer(values_by_label: Fields) -> tuple[str | None, str]:
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


STRUCTURES = "%FEATURE_STRUCTURES"
TYPE = "%TYPE"
UIMA_PREFIXES = ("uima.", "de.tudarmstadt.ukp.dkpro.core.api.metadata.")
# Layers that the tool creates by itself: words and sentences.
SEGMENTATION_PREFIXES = ("de.tudarmstadt.ukp.dkpro.core.api.segmentation.",)
METADATA_TYPE = "DocumentMetaData"


class InceptionSource(ToolSource):
    """Source of INCEpTION's exports: a document with its annotations as UIMA CAS JSON.

    Annotations of the whole document (document metadata) are answers, each feature a question;
    those of a part of the text are not imported. `DocumentMetaData` has the name of the document
    and, in the export of a project, the annotator.
    """

    name = "INCEpTION"
    extensions = (".json",)
    columns = {"item": "documentTitle", "rater": "documentId", "label": STRUCTURES}

    def can_read(self, sample: FileSample) -> bool:
        return sample.has_any_field({STRUCTURES})

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        structures = [
            structure
            for structure in _list_structures(fields.get(STRUCTURES))
            if isinstance(structure, dict)
        ]
        metadata: Fields = next(
            (
                structure
                for structure in structures
                if to_text(structure.get(TYPE)).endswith(METADATA_TYPE)
            ),
            {},
        )
        document_text = next(
            (structure["sofaString"] for structure in structures if structure.get("sofaString")), ""
        )
        body = {"text": document_text} if isinstance(document_text, str) and document_text else {}
        key = get_item_key(metadata.get("documentTitle"), body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        yield ItemRecord(line, key, body or None)
        user = to_text(metadata.get("documentId"))
        rater = user if user and user != key else mapping.default_rater
        yield from _parse_document_answers(line, key, rater, structures)


def _list_structures(structures: Any) -> list[Any]:
    """Return the structures of a list or, in older files, of an object by number."""
    if isinstance(structures, dict):
        return list(structures.values())
    return structures if isinstance(structures, list) else []


def _parse_document_answers(
    line: int, key: str, rater: str, structures: list[Fields]
) -> Iterator[Record]:
    labels_by_question: dict[str, list[str]] = {}
    for structure in structures:
        kind = to_text(structure.get(TYPE))
        if not kind or kind.startswith((*UIMA_PREFIXES, *SEGMENTATION_PREFIXES)):
            continue
        if "begin" in structure or "end" in structure:
            is_relation = any(name in structure for name in ("@Governor", "@Dependent", "@source"))
            yield SkippedRecord(line, "relations" if is_relation else "spans")
            continue
        for feature, value in structure.items():
            if feature[:1] in "%@^#" or isinstance(value, dict):
                continue
            label, reason = parse_single_answer(value)
            if label is None:
                yield SkippedRecord(line, reason)
            else:
                name = build_question_key(f"{kind.rsplit('.', 1)[-1]}.{feature}")
                labels_by_question.setdefault(name, []).append(label)
    for question, labels in labels_by_question.items():
        yield build_rating(line, key, rater, labels, question=question)
