"""Toloka: the assignments of a pool, a row for each answered task, or a record for each assignment.

INPUT columns are the item's content, OUTPUT columns questions, GOLDEN columns gold answers.
Rejected assignments are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.readers.tools.base import (
    Fields,
    ToolSource,
    build_body,
    build_rating,
    get_item_key,
    get_object,
    list_objects,
    parse_single_answer,
    to_text,
)
from ratings.imports.records import GoldRecord, ItemRecord, Record, SkippedRecord

from .form_answers import parse_crowd_time, select_fields_with_prefix

WORKER = "ASSIGNMENT:worker_id"
TASK_FIELDS = ("ASSIGNMENT:task_id", "TASK:id")
TIME_FIELDS = ("ASSIGNMENT:submitted", "ASSIGNMENT:accepted", "ASSIGNMENT:started")
ANSWERED_STATUSES = ("", "approved", "accepted", "submitted")


class TolokaSource(ToolSource):
    """Source of assignments of Toloka."""

    name = "Toloka"
    extensions = (".tsv", ".json")
    columns = {"item": "INPUT", "rater": WORKER, "label": "OUTPUT", "gold": "GOLDEN"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "json":
            return sample.has_fields("user_id", "tasks", "solutions")
        has_output = any(name.startswith("OUTPUT:") for name in sample.names)
        return sample.kind == "text" and WORKER in sample.names and has_output

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        for row in _list_task_rows(fields):
            yield from self._parse_row(line, row, mapping)

    def _parse_row(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        body = build_body(select_fields_with_prefix(fields, "INPUT:"))
        task = next((fields[name] for name in TASK_FIELDS if fields.get(name)), None)
        key = get_item_key(task, body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        yield ItemRecord(line, key, body or None)
        for question, answer in select_fields_with_prefix(fields, "GOLDEN:").items():
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
        for question, answer in select_fields_with_prefix(fields, "OUTPUT:").items():
            yield build_rating(line, key, rater, answer, question=question, rated_at=rated_at)


def _list_task_rows(fields: Fields) -> list[Fields]:
    """Return a row for each task of an assignment from the API; a table's row alone."""
    if "tasks" not in fields:
        return [fields]
    common = {f"ASSIGNMENT:{name}": fields.get(name) for name in ("status", "submitted")}
    common[WORKER] = fields.get("user_id")
    solutions = list_objects(fields.get("solutions"))
    rows = []
    for task, solution in itertools.zip_longest(list_objects(fields["tasks"]), solutions):
        groups = {"INPUT": get_object(task or {}, "input_values")}
        groups["OUTPUT"] = get_object(solution or {}, "output_values")
        for gold in list_objects((task or {}).get("known_solutions"))[:1]:
            groups["GOLDEN"] = get_object(gold, "output_values")
        values = {
            f"{group}:{name}": v for group, part in groups.items() for name, v in part.items()
        }
        rows.append({**common, "TASK:id": (task or {}).get("id"), **values})
    return rows
