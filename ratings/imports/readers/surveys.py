"""Responses from Qualtrics, and screening decisions from Rayyan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.name_tests import (
    asks_for_comment,
    is_descriptive_name,
    is_respondent_name,
)
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.readers.tools.answers import parse_crowd_time
from ratings.imports.readers.tools.base import (
    Fields,
    ToolReader,
    ToolSource,
    build_body,
    get_item_key,
    open_records,
    parse_single_answer,
    to_text,
)
from ratings.imports.records import ItemRecord, RatingRecord, Record, SkippedRecord

RESPONSE_ID = "ResponseId"
OTHER_METADATA = {"ExternalDataReference", "STUDY_ID", "Q_RecaptchaScore", "Q_DuplicateRespondent"}
# Loop & Merge repeats questions for each item: 1_Q5, 2_Q5.
_LOOPED = re.compile(r"(?P<item>\d+)_(?P<question>[A-Za-z]\w*)")
_NUMBERED = re.compile(r"(?P<question>[A-Za-z]+\d*)_\d+")
IMPORT_ID = '"ImportId"'
SCORE_NAME = re.compile(r"SC\d+")  # a score that the survey computes
TEXT_ENDING, ORDER_ENDING = "_TEXT", "_DO"  # texts beside an option, and the order of display


class QualtricsSource(ToolSource):
    """Source of responses of Qualtrics."""

    name = "Qualtrics"
    extensions = (".csv", ".tsv")
    columns = {"rater": RESPONSE_ID, "rated_at": "RecordedDate"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind != "text" or RESPONSE_ID not in sample.names:
            return False
        # Whoever exported the file may have removed columns, but hardly the lines below the names.
        has_import_ids = IMPORT_ID in sample.head.decode(errors="ignore").replace('""', '"')
        return has_import_ids or {"Progress", "Finished"} <= set(sample.names)

    def open_reader(self, path: Path, mapping: ImportMapping) -> ToolReader:
        return _QualtricsReader(self, path, mapping)


class _QualtricsReader(ToolReader):
    def iter_records(self) -> Iterator[Record]:
        texts: Fields = {}
        try:
            self.rows = open_records(self.path, self.mapping)
            for number, (line, fields) in enumerate(self.rows):
                response = to_text(fields.get(RESPONSE_ID))
                if IMPORT_ID in response or IMPORT_ID in to_text(next(iter(fields.values()), "")):
                    yield SkippedRecord(line, "header_row")
                    continue
                if number == 0 and not response.startswith("R_"):
                    texts = fields
                    yield SkippedRecord(line, "header_row")
                    continue
                yield from _parse_response(line, fields, texts)
        except UnreadableFileError as error:
            yield error.to_record()


def _parse_response(line: int, fields: Fields, texts: Fields) -> Iterator[Record]:
    if to_text(fields.get("Status")).casefold() in ("survey preview", "1"):
        yield SkippedRecord(line, "draft")
        return
    rated_at = parse_crowd_time(fields.get("RecordedDate") or fields.get("EndDate"))
    if any(value and name.endswith(TEXT_ENDING) for name, value in fields.items()):
        yield SkippedRecord(line, "free_text")
    if any(value and SCORE_NAME.fullmatch(name) for name, value in fields.items()):
        yield SkippedRecord(line, "number")
    rater = to_text(fields[RESPONSE_ID])
    for name, answer in fields.items():
        if not _is_answer_name(name):
            continue
        text = to_text(texts.get(name)) or name
        if asks_for_comment(text):
            yield from [SkippedRecord(line, "free_text")] if answer else []
            continue
        item, question = _split_name(name)
        # The text of a loop is about one of several questions on the item.
        yield ItemRecord(line, item, {"text": item if _LOOPED.fullmatch(name) else text})
        label, reason = parse_single_answer(answer)
        if label is not None:
            yield RatingRecord(line, item, rater, question, label, rated_at, column=name)
        elif reason != "no_label":
            yield SkippedRecord(line, reason)


def _is_answer_name(name: str) -> bool:
    """Return whether a column has answers: not metadata, a score, an order or a free text."""
    describes = is_descriptive_name(name) or is_respondent_name(name) or name in OTHER_METADATA
    is_computed = name.endswith((TEXT_ENDING, ORDER_ENDING)) or SCORE_NAME.fullmatch(name)
    return not (describes or is_computed)


def _split_name(name: str) -> tuple[str, str]:
    """Return (item, question key) of a column.

    `2_Q5` is question Q5 about item 2; `Q1_2` is the second row of the grid Q1. Any other column is
    an item of the question `answer`.
    """
    if match := _LOOPED.fullmatch(name):
        return match["item"], match["question"]
    match = _NUMBERED.fullmatch(name)
    return name[:200], build_question_key(match["question"]) if match else "answer"


QUESTION = "inclusion"
NOTES = "notes"
CONTENT = ("title", "abstract", "authors", "journal", "year")
MARK = "RAYYAN-INCLUSION:"
_DECISION = re.compile(r'"([^"]+)"\s*=>\s*"([^"]+)"')
_FURTHER_PARTS = ("RAYYAN-LABELS:", "RAYYAN-EXCLUSION-REASONS:", "USER-NOTES:")


class RayyanSource(ToolSource):
    """Source of articles exported from Rayyan, with the reviewers' decisions."""

    name = "Rayyan"
    extensions = (".csv",)
    columns = {"item": "key", "rater": NOTES, "label": NOTES}

    def can_read(self, sample: FileSample) -> bool:
        has_columns = {"key", "title", NOTES} <= set(sample.names)
        return sample.kind == "text" and has_columns and MARK.encode() in sample.head

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        body = build_body({name: fields[name] for name in CONTENT if fields.get(name)})
        key = get_item_key(fields.get("key"), body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        yield ItemRecord(line, key, body or None)
        notes = to_text(fields.get(NOTES))
        _before, mark, decision_text = notes.partition(MARK)
        decisions = _DECISION.findall(decision_text.partition("}")[0]) if mark else []
        for rater, label in decisions:
            yield RatingRecord(line, key, rater, QUESTION, label)
        if not decisions:
            yield SkippedRecord(line, "no_label")
        if any(part in notes for part in _FURTHER_PARTS):
            yield SkippedRecord(line, "notes")
