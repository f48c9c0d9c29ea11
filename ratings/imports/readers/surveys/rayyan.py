"""Rayyan: references of a review, with the decisions of all reviewers in the column of notes.

The column has `RAYYAN-INCLUSION: {"Anna"=>"Included", "Ben"=>"Excluded"} | RAYYAN-LABELS: ...`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tools.base import Fields, ToolSource, build_body, get_item_key, to_text
from ratings.imports.records import ItemRecord, RatingRecord, Record, SkippedRecord

QUESTION = "inclusion"
NOTES = "notes"
CONTENT = ("title", "abstract", "authors", "journal", "year")
MARK = "RAYYAN-INCLUSION:"
_DECISION = re.compile(r'"([^"]+)"\s*=>\s*"([^"]+)"')
_FURTHER_PARTS = ("RAYYAN-LABELS:", "RAYYAN-EXCLUSION-REASONS:", "USER-NOTES:")


class RayyanSource(ToolSource):
    """Source of articles exported from Rayyan."""

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
