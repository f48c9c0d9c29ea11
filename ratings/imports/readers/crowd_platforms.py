"""Exports of crowdsourcing platforms: Appen, Mechanical Turk, Toloka, Zooniverse."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.layout_guess import MEDIA_ROLES
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.readers.tools.answers import (
    find_answer_columns,
    group_options_by_question,
    iter_answers,
    parse_crowd_time,
    parse_form_answers,
    select_fields_with_prefix,
)
from ratings.imports.readers.tools.base import (
    Fields,
    ToolReader,
    ToolSource,
    build_attributes,
    build_body,
    build_rating,
    get_item_key,
    get_object,
    list_objects,
    open_records,
    parse_json,
    parse_seconds,
    parse_single_answer,
    parse_time,
    to_text,
)
from ratings.imports.records import (
    GoldRecord,
    ItemRecord,
    QuestionRecord,
    RatingRecord,
    Record,
    SkippedRecord,
)

APPEN_COLUMNS = {"_unit_id", "_worker_id"}
GOLD_SUFFIX = "_gold"
GOLD_REASON_SUFFIX = "_gold_reason"


class AppenSource(ToolSource):
    """Source of Appen's full reports (Figure Eight, CrowdFlower): a row for each judgement.

    Columns with a gold answer beside them are questions. Without any, these are the columns on
    which the contributors of a unit differ, or else those with few different values. The other
    columns are content.
    """

    name = "Appen / Figure Eight"
    extensions = (".csv",)
    columns = {"item": "_unit_id", "rater": "_worker_id", "rated_at": "_created_at"}

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "text" and set(sample.names) >= APPEN_COLUMNS

    def open_reader(self, path: Path, mapping: ImportMapping) -> ToolReader:
        return _AppenReader(self, path, mapping)


class _AppenReader(ToolReader):
    def iter_records(self) -> Iterator[Record]:
        try:
            first_pass = open_records(self.path, self.mapping)
            names = next((list(fields) for _line, fields in first_pass), [])
            questions = self._find_questions(names)
            self.rows = open_records(self.path, self.mapping)
            for line, fields in self.rows:
                yield from _parse_judgement(line, fields, questions)
        except UnreadableFileError as error:
            yield error.to_record()

    def _find_questions(self, names: Collection[str]) -> list[str]:
        candidates = [
            name
            for name in names
            if not name.startswith("_") and not name.endswith((GOLD_SUFFIX, GOLD_REASON_SUFFIX))
        ]
        with_gold = [name for name in candidates if f"{name}{GOLD_SUFFIX}" in names]
        return with_gold or find_answer_columns(
            open_records(self.path, self.mapping), item_field="_unit_id", candidates=candidates
        )


def _parse_judgement(line: int, fields: Fields, questions: Collection[str]) -> Iterator[Record]:
    key, rater = to_text(fields["_unit_id"]), to_text(fields["_worker_id"])
    content = {
        name: value
        for name, value in fields.items()
        if not name.startswith("_")
        and name not in questions
        and not name.endswith((GOLD_SUFFIX, GOLD_REASON_SUFFIX))
    }
    yield ItemRecord(line, key, build_body(content) or None)
    rated_at = parse_crowd_time(fields.get("_created_at"))
    for question in questions:
        question_key = build_question_key(question)
        # Several right answers are separated by line ends.
        for gold in to_text(fields.get(f"{question}{GOLD_SUFFIX}")).splitlines():
            if gold.strip():
                yield GoldRecord(line, key, question_key, gold.strip())
        answers = to_text(fields.get(question)).splitlines()
        yield build_rating(line, key, rater, answers, question=question, rated_at=rated_at)


MTURK_COLUMNS = {"HITId", "WorkerId"}
INPUT_PREFIX = "Input."
ANSWER_PREFIX = "Answer."
FORM_ANSWERS = "Answer"  # the XML of all answers
XML_MARK = b"<QuestionFormAnswers"
TASK_ANSWERS = "taskAnswers"  # one column with the JSON of all answers


class MturkSource(ToolSource):
    """Source of the results of a batch of Mechanical Turk, or of assignments from its API.

    A HIT is an item, a worker a rater, each answer of the form a question. The answers of rejected
    assignments are left out.
    """

    name = "Amazon Mechanical Turk"
    extensions = (".csv", ".json")
    columns = {"item": "HITId", "rater": "WorkerId", "label": "Answer.", "rated_at": "SubmitTime"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "json":
            rows = [row for record in sample.records for row in _list_assignments(record)]
            return bool(rows) and all({*MTURK_COLUMNS, FORM_ANSWERS} <= row.keys() for row in rows)
        names = set(sample.names)
        has_answers = any(name.startswith(ANSWER_PREFIX) for name in names)
        has_answers |= FORM_ANSWERS in names and XML_MARK in sample.head
        return sample.kind == "text" and names >= MTURK_COLUMNS and has_answers

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        for assignment in _list_assignments(fields):
            yield from _parse_assignment(line, assignment)


def _list_assignments(record: Fields) -> list[Fields]:
    """Return the assignments if the record is a response of the API, else the record alone."""
    return list_objects(record.get("Assignments")) or [record]


def _parse_assignment(line: int, fields: Fields) -> Iterator[Record]:
    """Yield the item of a HIT and the answers of one worker."""
    key, rater = to_text(fields["HITId"]), to_text(fields["WorkerId"])
    inputs = select_fields_with_prefix(fields, INPUT_PREFIX)
    yield ItemRecord(line, key, build_body(inputs) or None)
    if to_text(fields.get("AssignmentStatus")).casefold() == "rejected":
        yield SkippedRecord(line, "rejected")
        return
    answers = select_fields_with_prefix(fields, ANSWER_PREFIX)
    task_answers = parse_json(answers.pop(TASK_ANSWERS, None))
    answers |= parse_form_answers(to_text(fields.get(FORM_ANSWERS)))
    answers = dict(iter_answers(task_answers)) | group_options_by_question(answers)
    if not answers:
        yield SkippedRecord(line, "no_label")
    rated_at = parse_crowd_time(fields.get("SubmitTime"))
    seconds = parse_seconds(fields.get("WorkTimeInSeconds"))
    for question, answer in answers.items():
        yield build_rating(
            line, key, rater, answer, question=question, rated_at=rated_at, seconds=seconds
        )


TOLOKA_WORKER = "ASSIGNMENT:worker_id"
TOLOKA_TASK_FIELDS = ("ASSIGNMENT:task_id", "TASK:id")
TOLOKA_TIME_FIELDS = ("ASSIGNMENT:submitted", "ASSIGNMENT:accepted", "ASSIGNMENT:started")
ANSWERED_STATUSES = ("", "approved", "accepted", "submitted")


class TolokaSource(ToolSource):
    """Source of a Toloka pool: a row for each answered task, or a record for each assignment.

    INPUT columns are the item's content, OUTPUT columns questions, GOLDEN columns gold answers. The
    answers of assignments that were rejected, or not submitted, are left out.
    """

    name = "Toloka"
    extensions = (".tsv", ".json")
    columns = {"item": "INPUT", "rater": TOLOKA_WORKER, "label": "OUTPUT", "gold": "GOLDEN"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "json":
            return sample.has_fields("user_id", "tasks", "solutions")
        has_output = any(name.startswith("OUTPUT:") for name in sample.names)
        return sample.kind == "text" and TOLOKA_WORKER in sample.names and has_output

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        for row in _list_task_rows(fields):
            yield from self._parse_row(line, row, mapping)

    def _parse_row(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        body = build_body(select_fields_with_prefix(fields, "INPUT:"))
        task = next((fields[name] for name in TOLOKA_TASK_FIELDS if fields.get(name)), None)
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
        rater = to_text(fields.get(TOLOKA_WORKER)) or mapping.default_rater
        rated_at = next(
            (parse_crowd_time(fields[name]) for name in TOLOKA_TIME_FIELDS if fields.get(name)),
            None,
        )
        for question, answer in select_fields_with_prefix(fields, "OUTPUT:").items():
            yield build_rating(line, key, rater, answer, question=question, rated_at=rated_at)


def _list_task_rows(fields: Fields) -> list[Fields]:
    """Return a row for each task of an assignment from the API; a table's row alone."""
    if "tasks" not in fields:
        return [fields]
    common = {f"ASSIGNMENT:{name}": fields.get(name) for name in ("status", "submitted")}
    common[TOLOKA_WORKER] = fields.get("user_id")
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


ZOONIVERSE_COLUMNS = {"classification_id", "user_name", "workflow_id", "annotations", "subject_ids"}
MARKDOWN_MARKUP = re.compile(r"!\[[^\]]*\]\([^)]*\)|[*_#`>]+")
MAX_QUESTION_LENGTH = 500


class ZooniverseSource(ToolSource):
    """Source of Zooniverse's classification export.

    Each task of a workflow with a single answer is a question. Subjects are items, volunteers
    raters.
    """

    name = "Zooniverse"
    extensions = (".csv",)
    columns = {
        "item": "subject_ids",
        "rater": "user_name",
        "label": "annotations",
        "rated_at": "created_at",
    }

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "text" and set(sample.names) >= ZOONIVERSE_COLUMNS

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
        yield _parse_subject(line, key, fields)
        rated_at = parse_time(fields.get("created_at"))
        spent_seconds = _compute_seconds(parse_json(fields.get("metadata")))
        is_gold = to_text(fields.get("gold_standard")).casefold() == "true"
        for task in tasks:
            if not isinstance(task, dict):
                yield SkippedRecord(line, "ignored")
                continue
            label, reason = _parse_task_answer(task)
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


def _parse_subject(line: int, key: str, fields: Fields) -> ItemRecord:
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


def _parse_task_answer(task: Fields) -> tuple[str | None, str]:
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
