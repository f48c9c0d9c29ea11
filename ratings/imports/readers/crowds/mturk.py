"""Amazon Mechanical Turk: the results of a batch.

A HIT is an item, a worker a rater, each answer of the form a question. Rejected assignments are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.readers.tools.base import (
    Fields,
    ToolSource,
    build_body,
    parse_json,
    parse_seconds,
    parse_single_answer,
    to_text,
)
from ratings.imports.records import ItemRecord, RatingRecord, Record, SkippedRecord

from .answers import group_options_by_question, iter_answers, parse_crowd_time

REQUIRED_COLUMNS = {"HITId", "AssignmentId", "WorkerId"}
INPUT_PREFIX = "Input."
ANSWER_PREFIX = "Answer."
TASK_ANSWERS = "taskAnswers"  # one column with the JSON of all answers


class MturkSource(ToolSource):
    """Source of batch results of Mechanical Turk."""

    name = "Amazon Mechanical Turk"
    extensions = (".csv",)
    columns = {"item": "HITId", "rater": "WorkerId", "label": "Answer.", "rated_at": "SubmitTime"}

    def can_read(self, sample: FileSample) -> bool:
        names = set(sample.names)
        has_answers = any(name.startswith(ANSWER_PREFIX) for name in names)
        return sample.kind == "text" and names >= REQUIRED_COLUMNS and has_answers

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        key, rater = to_text(fields["HITId"]), to_text(fields["WorkerId"])
        inputs = _select_fields_with_prefix(fields, INPUT_PREFIX)
        yield ItemRecord(line, key, build_body(inputs) or None)
        if to_text(fields.get("AssignmentStatus")).casefold() == "rejected":
            yield SkippedRecord(line, "rejected")
            return
        answers = _select_fields_with_prefix(fields, ANSWER_PREFIX)
        task_answers = parse_json(answers.pop(TASK_ANSWERS, None))
        answers = dict(iter_answers(task_answers)) | group_options_by_question(answers)
        rated_at = parse_crowd_time(fields.get("SubmitTime"))
        seconds = parse_seconds(fields.get("WorkTimeInSeconds"))
        for question, answer in answers.items():
            label, reason = parse_single_answer(answer)
            if label is None:
                yield SkippedRecord(line, reason)
            else:
                question_key = build_question_key(question)
                yield RatingRecord(line, key, rater, question_key, label, rated_at, None, seconds)


def _select_fields_with_prefix(fields: Fields, prefix: str) -> Fields:
    """Return the fields with a prefix, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in fields.items()
        if name.startswith(prefix)
    }
