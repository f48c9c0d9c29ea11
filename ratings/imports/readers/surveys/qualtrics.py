"""Qualtrics: responses with three header lines: names, texts of the questions, import ids.

Respondents are raters and the columns of answers are items. Previews are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers.crowds.answers import parse_crowd_time
from ratings.imports.readers.tools.base import Fields, ToolReader, ToolSource, open_records, to_text
from ratings.imports.records import Record, SkippedRecord

from .respondents import iter_respondent_records, parse_survey_column

RESPONSE_ID = "ResponseId"
METADATA = {
    "StartDate", "EndDate", "RecordedDate", "Status", "IPAddress", "Progress", "Finished",
    "Duration (in seconds)", RESPONSE_ID, "RecipientLastName", "RecipientFirstName",
    "RecipientEmail", "ExternalReference", "ExternalDataReference", "LocationLatitude",
    "LocationLongitude", "DistributionChannel", "UserLanguage", "Q_RecaptchaScore",
    "Q_DuplicateRespondent", "PROLIFIC_PID", "STUDY_ID", "SESSION_ID",
}  # fmt: skip
IMPORT_ID = '"ImportId"'
SCORE_NAME = re.compile(r"SC\d+")  # a score that the survey computes
TEXT_ENDING, ORDER_ENDING = "_TEXT", "_DO"  # texts beside an option, and the order of display


class QualtricsSource(ToolSource):
    """Source of responses of Qualtrics."""

    name = "Qualtrics"
    extensions = (".csv", ".tsv")
    columns = {"rater": RESPONSE_ID, "rated_at": "RecordedDate"}

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "text" and {RESPONSE_ID, "Progress", "Finished"} <= set(sample.names)

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
    answers = (
        (parse_survey_column(name, to_text(texts.get(name))), value)
        for name, value in fields.items()
        if name not in METADATA
        and not name.endswith((TEXT_ENDING, ORDER_ENDING))
        and not SCORE_NAME.fullmatch(name)
    )
    if any(value and name.endswith(TEXT_ENDING) for name, value in fields.items()):
        yield SkippedRecord(line, "free_text")
    if any(value and SCORE_NAME.fullmatch(name) for name, value in fields.items()):
        yield SkippedRecord(line, "number")
    yield from iter_respondent_records(line, to_text(fields[RESPONSE_ID]), answers, rated_at)
