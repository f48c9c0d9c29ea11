"""Answers of a survey: a row for each respondent, who is the rater, and a column for each item."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ratings.imports.mapping.column_names import asks_for_comment
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.readers.tools.base import parse_single_answer
from ratings.imports.records import ItemRecord, RatingRecord, Record, RecordTime, SkippedRecord

_GRID = re.compile(r"(?P<question>.*\S)\s*\[(?P<item>[^\[\]]+)\]")
# Loop & Merge of Qualtrics repeats questions for each item: 1_Q5, 2_Q5.
_LOOPED = re.compile(r"(?P<item>\d+)_(?P<question>[A-Za-z]\w*)")
_NUMBERED = re.compile(r"(?P<question>[A-Za-z]+\d*)_(?P<item>\d+)")


class SurveyColumn(NamedTuple):
    """A column of answers: its item, the item's text, and the key of its question."""

    name: str
    item: str
    text: str
    question: str


def parse_survey_column(name: str, text: str = "") -> SurveyColumn:
    """Return the item and the question of a column.

    `How clear is this? [Text A]` is the item Text A of a grid; `Q1_2` is the second row of the grid
    Q1, and `2_Q1` the answer to Q1 about the second item. Columns of their own are items of one
    question.
    """
    if match := _GRID.fullmatch(name):
        return SurveyColumn(
            name, match["item"], match["item"], build_question_key(match["question"])
        )
    if match := _LOOPED.fullmatch(name):
        # The text is about one of several questions on the item.
        return SurveyColumn(name, match["item"], match["item"], match["question"])
    if match := _NUMBERED.fullmatch(name):
        return SurveyColumn(name, name, text or name, build_question_key(match["question"]))
    return SurveyColumn(name, name[:200], text or name, "answer")


def iter_respondent_records(
    line: int, rater: str, answers: Iterator[tuple[SurveyColumn, str]], rated_at: RecordTime
) -> Iterator[Record]:
    """Yield the items and ratings of one respondent."""
    for column, answer in answers:
        if asks_for_comment(column.text):
            yield from [SkippedRecord(line, "free_text")] if answer else []
            continue
        yield ItemRecord(line, column.item, {"text": column.text})
        label, reason = parse_single_answer(answer)
        if label is not None:
            yield RatingRecord(
                line, column.item, rater, column.question, label, rated_at, column=column.name
            )
        elif reason != "no_label":
            yield SkippedRecord(line, reason)
