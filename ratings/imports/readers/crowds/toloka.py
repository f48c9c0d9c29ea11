"""Toloka: the assignments of a pool, a row for each answered task.

INPUT columns are the item's content, OUTPUT columns questions, GOLDEN columns gold answers.
Rejected assignments are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key, is_empty_cell
from ratings.imports.readers.tools.base import (
    Fields,
    ToolSource,
    build_body,
    get_item_key,
    parse_single_answer,
    to_text,
)
from ratings.imports.records import GoldRecord, ItemRecord, RatingRecord, Record, SkippedRecord

from .answers import parse_crowd_time

WORKER = "ASSIGNMENT:worker_id"
TASK_FIELDS = ("ASSIGNMENT:task_id", "TASK:id")
TIME_FIELDS = ("ASSIGNMENT:submitted", "ASSIGNMENT:accepted", "ASSIGNMENT:started")
ANSWERED_STATUSES = ("", "approved", "accepted", "submitted")


class TolokaSource(ToolSource):
    """Source of assignments of Toloka."""

    name = "Toloka"
    extensions = (".tsv",)
    columns = {"item": "INPUT", "rater": WORKER, "label": "OUTPUT", "gold": "GOLDEN"}

    def can_read(self, sample: FileSample) -> bool:
        has_output = any(name.startswith("OUTPUT:") for name in sample.names)
        return sample.kind == "text" and WORKER in sample.names and has_output

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        body = build_body(_select_field_group(fields, "INPUT"))
        task = next((fields[name] for name in TASK_FIELDS if fields.get(name)), None)
        key = get_item_key(task, body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        yield ItemRecord(line, key, body or None)
        for question, answer in _select_field_group(fields, "GOLDEN").items():
            label, reason = parse_single_answer(answer)
            if label is not None:
                yield GoldRecord(line, key, build_question_key(question), label)
            elif reason != "no_label":
                yield SkippedRecord(line, reason)
        status = to_text(fields.get("ASSIGNMENT:status")).casefold()
        if status not in ANSWERED_STATUSES:
            yield SkippedRecord(line, "rejected" if status == "rejected" else "draft")
            return
        rater = to_text(fields.get(WORKER)) or mapping.default_rater
        rated_at = next(
            (parse_crowd_time(fields[name]) for name in TIME_FIELDS if fields.get(name)), None
        )
        for question, answer in _select_field_group(fields, "OUTPUT").items():
            label, reason = parse_single_answer(answer)
            if label is None:
                yield SkippedRecord(line, reason)
            else:
                yield RatingRecord(line, key, rater, build_question_key(question), label, rated_at)


def _select_field_group(fields: Fields, group: str) -> Fields:
    """Return the fields of a group, such as INPUT, without its name, and no empty GOLDEN."""
    prefix = f"{group}:"
    return {
        name.removeprefix(prefix): value
        for name, value in fields.items()
        if name.startswith(prefix) and not (group == "GOLDEN" and is_empty_cell(value))
    }
