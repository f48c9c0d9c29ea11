"""Amazon Mechanical Turk: the results of a batch, or assignments as its API returns them.

A HIT is an item, a worker a rater, each answer of the form a question. Rejected assignments are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tools.base import (
    Fields,
    ToolSource,
    build_body,
    build_rating,
    list_objects,
    parse_json,
    parse_seconds,
    to_text,
)
from ratings.imports.records import ItemRecord, Record, SkippedRecord

from .form_answers import (
    group_options_by_question,
    iter_answers,
    parse_crowd_time,
    parse_form_answers,
    select_fields_with_prefix,
)

REQUIRED_COLUMNS = {"HITId", "WorkerId"}
INPUT_PREFIX = "Input."
ANSWER_PREFIX = "Answer."
FORM_ANSWERS = "Answer"  # the XML of all answers
XML_MARK = b"<QuestionFormAnswers"
TASK_ANSWERS = "taskAnswers"  # one column with the JSON of all answers


class MturkSource(ToolSource):
    """Source of batch results of Mechanical Turk."""

    name = "Amazon Mechanical Turk"
    extensions = (".csv", ".json")
    columns = {"item": "HITId", "rater": "WorkerId", "label": "Answer.", "rated_at": "SubmitTime"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "json":
            rows = [row for record in sample.records for row in _list_assignments(record)]
            return bool(rows) and all(
                {*REQUIRED_COLUMNS, FORM_ANSWERS} <= row.keys() for row in rows
            )
        names = set(sample.names)
        has_answers = any(name.startswith(ANSWER_PREFIX) for name in names)
        has_answers |= FORM_ANSWERS in names and XML_MARK in sample.head
        return sample.kind == "text" and names >= REQUIRED_COLUMNS and has_answers

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
