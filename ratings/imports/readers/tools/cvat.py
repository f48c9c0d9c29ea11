"""CVAT: the XML "CVAT for images 1.1". A picture's one tag is its answer, and so is each attribute
of the tag; boxes and other shapes are left out. The rater is the assignee of the job or the task.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from ratings.imports.decoding.json_stream import MAX_RECORD
from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.columns import Guess, Look
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.problems import Unreadable
from ratings.imports.records import Item, Judgement, LeftOut, Question, Rater, Record, Wrong

from .base import Fields, body_of, question_key, text

TAG = "tag"
AUTO = "auto"  # the source of what a model made
SHAPES = ("box", "polygon", "polyline", "points", "cuboid", "ellipse", "mask", "skeleton")
ASSIGNEES = ("job/assignee/username", "task/assignee/username", "job/assignee", "task/assignee")


class Cvat:
    name = "CVAT"
    endings: tuple[str, ...] = (".xml",)
    encodings = False
    delimiters = False

    def recognises(self, sample: Sample) -> bool:
        return sample.kind == "xml" and b"<annotations" in sample.head

    def look(self, path: Path, chosen: Mapping) -> Look | None:
        return None

    def guess(self, look: Look, *, labels: set[str]) -> Guess:
        raise AssertionError("a tool's file has no columns to guess")

    def reader(self, path: Path, chosen: Mapping) -> CvatReader:
        return CvatReader(path, chosen)


class Pieces:
    """A file that ends with Unreadable where one sign of XML, such as a name, is endless: the
    parser would hold all of it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.since = 0  # bytes since the parser met something
        self.picture = 1

    def read(self, size: int = -1) -> bytes:
        piece = self.file.read(size)
        self.since += len(piece)
        if self.since > MAX_RECORD:
            raise Unreadable("json_long", line=self.picture, limit=MAX_RECORD)
        return piece


class CvatReader:
    columns: Fields = {"item": "name", "rater": "assignee", "label": "tag"}

    def __init__(self, path: Path, chosen: Mapping) -> None:
        self.path = path
        self.rater = chosen.one_rater
        self.file: BinaryIO | None = None
        self.size = 0

    @property
    def bytes_read(self) -> int:
        if self.file is None or self.file.closed:
            return self.size
        return self.file.tell()

    def records(self) -> Iterator[Record]:
        try:
            with contextlib.ExitStack() as stack:
                self.file = stack.enter_context(self.path.open("rb"))
                self.size = self.path.stat().st_size
                yield from self._images(self.file)
        except Unreadable as error:
            yield error.as_record()
        except FileNotFoundError:
            yield Unreadable("lost").as_record()
        except ParseError as error:
            line = error.position[0]
            yield Unreadable("xml", line=line, why=str(error).split(":")[0]).as_record()
        except DefusedXmlException:
            yield Unreadable("xml_entities").as_record()

    def trouble(self, labels: Iterable[str], *, usable: bool) -> Wrong | None:
        return None

    def _images(self, file: BinaryIO) -> Iterator[Record]:
        place = 0
        pieces = Pieces(file)
        parts = ElementTree.iterparse(pieces, events=("start", "end"), forbid_dtd=True)
        root: Any = None
        for event, element in parts:
            pieces.since = 0
            pieces.picture = place + 1
            if root is None:
                root = element
            if event != "end":
                continue
            if element.tag == "meta":
                self.rater = _assignee(element) or self.rater
                yield from _labels(element)
            elif element.tag == "image":
                # the parser knows no lines of its own: pictures are counted
                place += 1
                yield from self._image(place, element)
                root.clear()
            elif element.tag == "track":
                yield LeftOut(place, "boxes")
                root.clear()

    def _image(self, place: int, image: Element) -> Iterator[Record]:
        key = text(image.get("name")) or text(image.get("id"))
        if not key:
            yield LeftOut(place, "no_content")
            return
        yield Item(place, key, body_of({"image": key}))
        if any(image.find(shape) is not None for shape in SHAPES):
            yield LeftOut(place, "boxes")
        by: dict[str, list[Element]] = {}
        for tag in image.findall("tag"):
            source = text(tag.get("source")).casefold()
            by.setdefault(AUTO if source == AUTO else self.rater, []).append(tag)
        for rater, tags in by.items():
            if rater == AUTO:
                yield Rater(place, AUTO, kind="model", name="CVAT auto")
            if len(tags) > 1:
                yield LeftOut(place, "several_labels")
                continue
            yield from _answers(place, key, rater, tags[0])
        if not by:
            yield LeftOut(place, "no_label")


def _answers(place: int, key: str, rater: str, tag: Element) -> Iterator[Record]:
    label = text(tag.get("label"))
    yield Judgement(place, key, rater, TAG, label)
    for attribute in tag.findall("attribute"):
        value = text(attribute.text)
        if value:
            question = question_key(f"{label}.{text(attribute.get('name'))}")
            yield Judgement(place, key, rater, question, value)


def _labels(meta: Element) -> Iterator[Record]:
    """The labels that a picture may be tagged with."""
    found = []
    for label in meta.iter("label"):
        kind = text(label.findtext("type"))
        if kind in ("tag", "any"):
            found.append(text(label.findtext("name")))
    if found:
        yield Question(1, TAG, labels=[name for name in found if name])


def _assignee(meta: Element) -> str:
    names: Iterable[str] = (text(meta.findtext(path)) for path in ASSIGNEES)
    return next((name for name in names if name), "")
