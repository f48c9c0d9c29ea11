"""Appen (Figure Eight, CrowdFlower): the full report, a row for each judgement.

Columns with a gold answer beside them, and columns on which the contributors of a unit differ, are
questions; the other columns are content.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.readers.tools.answer_columns import find_answer_columns
from ratings.imports.readers.tools.base import (
    Fields,
    ToolReader,
    ToolSource,
    build_body,
    build_rating,
    open_records,
    to_text,
)
from ratings.imports.records import GoldRecord, ItemRecord, Record

from .form_answers import parse_crowd_time

REQUIRED_COLUMNS = {"_unit_id", "_worker_id"}
GOLD_SUFFIX = "_gold"
GOLD_REASON_SUFFIX = "_gold_reason"


class AppenSource(ToolSource):
    """Source of full reports of Appen."""

    name = "Appen / Figure Eight"
    extensions = (".csv",)
    columns = {"item": "_unit_id", "rater": "_worker_id", "rated_at": "_created_at"}

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "text" and set(sample.names) >= REQUIRED_COLUMNS

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
