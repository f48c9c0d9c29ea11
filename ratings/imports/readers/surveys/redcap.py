"""REDCap: an export with double data entry; `1--1` and `1--2` are record 1 of two people."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.readers.tools.base import (
    Fields,
    ToolSource,
    parse_single_answer,
    to_text,
)
from ratings.imports.records import RatingRecord, Record, SkippedRecord

_ENTRY = re.compile(r"(?P<item>.+)--(?P<rater>[12])")
METADATA_PREFIX = "redcap_"


class RedcapSource(ToolSource):
    """Source of REDCap exports with double data entry."""

    name = "REDCap"
    extensions = (".csv",)
    columns = {"item": "record_id"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind != "text" or len(sample.names) < 2:
            return False
        lines = sample.head.decode("utf-8", "ignore").splitlines()[1:6]
        keys = [re.split(r"[,;\t]", line)[0].strip('"') for line in lines if line.strip()]
        return bool(keys) and all(_ENTRY.fullmatch(key) for key in keys)

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        key = to_text(next(iter(fields.values())))
        match = _ENTRY.fullmatch(key)
        if match is None:  # the record into which both entries were merged
            yield SkippedRecord(line, "merged")
            return
        for name, value in list(fields.items())[1:]:
            if name.startswith(METADATA_PREFIX) or name == "complete" or name.endswith("_complete"):
                continue
            label, reason = parse_single_answer(value)
            if label is not None:
                question = build_question_key(name)
                yield RatingRecord(line, match["item"], match["rater"], question, label)
            elif reason != "no_label":
                yield SkippedRecord(line, reason)
