"""VGG Image Annotator: a CSV with a row for each region of each image.

An attribute of the file is a question; regions and their attributes are left out. The file is the
work of one person.
"""

from __future__ import annotations

from collections.abc import Iterator

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.records import ItemRecord, Record, SkippedRecord

from .base import Fields, ToolSource, build_rating, parse_json, to_text

COLUMNS = {"filename", "file_attributes", "region_count", "region_id", "region_shape_attributes"}


class ViaSource(ToolSource):
    """Source of annotations of the VGG Image Annotator."""

    name = "VGG Image Annotator"
    extensions = (".csv",)
    columns = {"item": "filename", "label": "file_attributes"}

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "text" and set(sample.names) >= COLUMNS

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        if to_text(fields["region_shape_attributes"]) not in ("", "{}"):
            yield SkippedRecord(line, "boxes")
        if to_text(fields["region_id"]) not in ("", "0"):
            return  # the file's attributes stand in the row of its first region, too
        key = to_text(fields["filename"])
        yield ItemRecord(line, key, {"image": key})
        attributes = parse_json(fields["file_attributes"])
        for question, answer in attributes.items() if isinstance(attributes, dict) else ():
            # Checked boxes are an object of their options.
            label = list(answer) if isinstance(answer, dict) else answer
            yield build_rating(line, key, mapping.default_rater, label, question=question)
