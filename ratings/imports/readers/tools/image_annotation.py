"""Exports of tools that annotate images: CVAT, VGG Image Annotator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from ratings.imports.decoding.json_stream import MAX_RECORD_LENGTH
from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.layout_guess import ColumnGuess, TableHead
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.records import (
    ItemRecord,
    QuestionRecord,
    RaterRecord,
    RatingRecord,
    ReaderProblem,
    Record,
    SkippedRecord,
)

from .base import Fields, ToolSource, build_body, build_rating, parse_json, to_text

TAG_QUESTION = "tag"
AUTO_RATER = "auto"  # the source of a model's annotations
SHAPES = ("box", "polygon", "polyline", "points", "cuboid", "ellipse", "mask", "skeleton")
ASSIGNEES = ("job/assignee/username", "task/assignee/username", "job/assignee", "task/assignee")


class CvatSource:
    """Source of the XML format "CVAT for images 1.1".

    The only tag of an image is its answer, and so is each attribute of the tag. Boxes and other
    shapes are not imported. The rater is the assignee of the job or the task.
    """

    name = "CVAT"
    extensions: tuple[str, ...] = (".xml",)
    has_encoding = False
    has_delimiter = False

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "xml" and b"<annotations" in sample.head

    def read_head(self, path: Path, mapping: ImportMapping) -> TableHead | None:
        return None

    def guess_columns(self, head: TableHead, *, labels: set[str]) -> ColumnGuess:
        raise AssertionError("a tool's export has no columns to guess")

    def open_reader(self, path: Path, mapping: ImportMapping) -> CvatReader:
        return CvatReader(path, mapping)


class BoundedXmlFile:
    """A file that raises UnreadableFileError if one XML token, such as a name, is too long.

    The parser would hold all of it in memory.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.n_pending = 0  # bytes since the parser's last event
        self.image_number = 1

    def read(self, size: int = -1) -> bytes:
        chunk = self.file.read(size)
        self.n_pending += len(chunk)
        if self.n_pending > MAX_RECORD_LENGTH:
            raise UnreadableFileError("json_long", line=self.image_number, limit=MAX_RECORD_LENGTH)
        return chunk


class CvatReader:
    """Reads the images of a CVAT export."""

    columns: Fields = {"item": "name", "rater": "assignee", "label": "tag"}

    def __init__(self, path: Path, mapping: ImportMapping) -> None:
        self.path = path
        self.rater = mapping.default_rater
        self.file: BinaryIO | None = None
        self.size = 0

    @property
    def bytes_read(self) -> int:
        if self.file is None or self.file.closed:
            return self.size
        return self.file.tell()

    def iter_records(self) -> Iterator[Record]:
        try:
            with contextlib.ExitStack() as stack:
                self.file = stack.enter_context(self.path.open("rb"))
                self.size = self.path.stat().st_size
                yield from self._iter_images(self.file)
        except UnreadableFileError as error:
            yield error.to_record()
        except FileNotFoundError:
            yield UnreadableFileError("file_missing").to_record()
        except ParseError as error:
            line = error.position[0]
            yield UnreadableFileError("xml", line=line, why=str(error).split(":")[0]).to_record()
        except DefusedXmlException:
            yield UnreadableFileError("xml_entities").to_record()

    def find_final_problem(self, labels: Iterable[str], *, is_usable: bool) -> ReaderProblem | None:
        return None

    def _iter_images(self, file: BinaryIO) -> Iterator[Record]:
        n_images = 0
        bounded_file = BoundedXmlFile(file)
        events = ElementTree.iterparse(bounded_file, events=("start", "end"), forbid_dtd=True)
        root: Any = None
        for event, element in events:
            bounded_file.n_pending = 0
            bounded_file.image_number = n_images + 1
            if root is None:
                root = element
            if event != "end":
                continue
            if element.tag == "meta":
                self.rater = _get_assignee(element) or self.rater
                yield from _parse_declared_tags(element)
            elif element.tag == "image":
                # The parser provides no lines, so images are counted instead.
                n_images += 1
                yield from self._parse_image(n_images, element)
                root.clear()
            elif element.tag == "track":
                yield SkippedRecord(n_images, "boxes")
                root.clear()

    def _parse_image(self, image_number: int, image: Element) -> Iterator[Record]:
        key = to_text(image.get("name")) or to_text(image.get("id"))
        if not key:
            yield SkippedRecord(image_number, "no_content")
            return
        yield ItemRecord(image_number, key, build_body({"image": key}))
        if any(image.find(shape) is not None for shape in SHAPES):
            yield SkippedRecord(image_number, "boxes")
        tags_by_rater: dict[str, list[Element]] = {}
        for tag in image.findall("tag"):
            source = to_text(tag.get("source")).casefold()
            tags_by_rater.setdefault(AUTO_RATER if source == AUTO_RATER else self.rater, []).append(
                tag
            )
        for rater, tags in tags_by_rater.items():
            if rater == AUTO_RATER:
                yield RaterRecord(image_number, AUTO_RATER, kind="model", name="CVAT auto")
            if len(tags) > 1:
                yield SkippedRecord(image_number, "several_labels")
                continue
            yield from _parse_tag(image_number, key, rater, tags[0])
        if not tags_by_rater:
            yield SkippedRecord(image_number, "no_label")


def _parse_tag(image_number: int, key: str, rater: str, tag: Element) -> Iterator[Record]:
    label = to_text(tag.get("label"))
    yield RatingRecord(image_number, key, rater, TAG_QUESTION, label)
    for attribute in tag.findall("attribute"):
        value = to_text(attribute.text)
        if value:
            question = build_question_key(f"{label}.{to_text(attribute.get('name'))}")
            yield RatingRecord(image_number, key, rater, question, value)


def _parse_declared_tags(meta: Element) -> Iterator[Record]:
    """Yield the question of the tags that an image may have; nothing if none is declared."""
    names = []
    for label in meta.iter("label"):
        kind = to_text(label.findtext("type"))
        if kind in ("tag", "any"):
            names.append(to_text(label.findtext("name")))
    if names:
        yield QuestionRecord(1, TAG_QUESTION, labels=[name for name in names if name])


def _get_assignee(meta: Element) -> str:
    names: Iterable[str] = (to_text(meta.findtext(path)) for path in ASSIGNEES)
    return next((name for name in names if name), "")


VIA_COLUMNS = {
    "filename",
    "file_attributes",
    "region_count",
    "region_id",
    "region_shape_attributes",
}


class ViaSource(ToolSource):
    """Source of the VGG Image Annotator's CSV with a row for each region of each image.

    An attribute of the file is a question; regions and their attributes are left out. The file is
    the work of one person.
    """

    name = "VGG Image Annotator"
    extensions = (".csv",)
    columns = {"item": "filename", "label": "file_attributes"}

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "text" and set(sample.names) >= VIA_COLUMNS

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
