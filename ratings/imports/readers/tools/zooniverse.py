"""Zooniverse: the classification export.

Each task of a workflow with a single answer is a question. Subjects are items, volunteers raters.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.layout_guess import MEDIA_ROLES
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.records import (
    GoldRecord,
    ItemRecord,
    QuestionRecord,
    RatingRecord,
    Record,
    SkippedRecord,
)

from .base import (
    Fields,
    ToolSource,
    build_attributes,
    build_body,
    parse_json,
    parse_single_answer,
    parse_time,
    to_text,
)

REQUIRED_COLUMNS = {"classification_id", "user_name", "workflow_id", "annotations", "subject_ids"}
MARKDOWN_MARKUP = re.compile(r"!\[[^\]]*\]\([^)]*\)|[*_#`>]+")
MAX_QUESTION_LENGTH = 500


class ZooniverseSource(ToolSource):
    """Source of Zooniverse's exports."""

    name = "Zooniverse"
    extensions = (".csv",)
    columns = {
        "item": "subject_ids",
        "rater": "user_name",
        "label": "annotations",
        "rated_at": "created_at",
    }

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "text" and set(sample.names) >= REQUIRED_COLUMNS

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        key = to_text(fields.get("subject_ids"))
        rater = to_text(fields.get("user_name")) or to_text(fields.get("user_id"))
        tasks = parse_json(fields.get("annotations"))
        if not key or not isinstance(tasks, list):
            yield SkippedRecord(line, "no_content")
            return
        if not rater:
            yield SkippedRecord(line, "no_rater")
            return
        yield _parse_item(line, key, fields)
        rated_at = parse_time(fields.get("created_at"))
        spent_seconds = _compute_seconds(parse_json(fields.get("metadata")))
        is_gold = to_text(fields.get("gold_standard")).casefold() == "true"
        for task in tasks:
            if not isinstance(task, dict):
                yield SkippedRecord(line, "ignored")
                continue
            label, reason = _parse_answer(task)
            if label is None:
                yield SkippedRecord(line, reason)
                continue
            workflow, name = to_text(fields["workflow_id"]), to_text(task.get("task"))
            question = build_question_key(f"w{workflow}.{name}")
            yield QuestionRecord(
                line, question, text=_clean_question_text(task.get("task_label")) or name
            )
            yield RatingRecord(line, key, rater, question, label, rated_at, None, spent_seconds)
            if is_gold:
                yield GoldRecord(line, key, question, label)


def _parse_item(line: int, key: str, fields: Fields) -> ItemRecord:
    """Return the subject as an item: URLs of media are content, other metadata attributes."""
    subject_data = parse_json(fields.get("subject_data"))
    subject_fields: Fields = {}
    for subject in subject_data.values() if isinstance(subject_data, dict) else []:
        if isinstance(subject, dict):
            subject_fields |= {name: value for name, value in subject.items() if name != "retired"}
    metadata = build_attributes(subject_fields)
    subject_body = build_body(
        {name: value for name, value in metadata.items() if isinstance(value, str)}
    )
    body: Fields = {kind: subject_body[kind] for kind in MEDIA_ROLES if kind in subject_body}
    attributes = {name: value for name, value in metadata.items() if value not in body.values()}
    return ItemRecord(line, key, body or None, attributes or None)


def _parse_answer(task: Fields) -> tuple[str | None, str]:
    """Return (label, "") of a task with a single answer, else (None, reason)."""
    value = task.get("value")
    if isinstance(value, dict):  # a slider, a dropdown or several tasks in one
        return None, "ignored"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        drawing_fields = {"x", "y", "tool", "pathX", "points", "frame", "details", "toolType"}
        return None, "boxes" if drawing_fields & value[0].keys() else "several_labels"
    return parse_single_answer(value)


def _clean_question_text(label: Any) -> str:
    return " ".join(MARKDOWN_MARKUP.sub(" ", to_text(label)).split())[:MAX_QUESTION_LENGTH]


def _compute_seconds(metadata: Any) -> float | None:
    """Return the seconds from the start to the end of a classification, or None."""
    if not isinstance(metadata, dict):
        return None
    started = parse_time(metadata.get("started_at"))
    finished = parse_time(metadata.get("finished_at"))
    if isinstance(started, datetime.datetime) and isinstance(finished, datetime.datetime):
        return (finished - started).total_seconds()
    return None
