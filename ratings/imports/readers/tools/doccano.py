"""doccano: JSON Lines, JSON and CSV. The export names no rater: there is a file for each, so that
the rater is the one of the whole file. The older export with `annotations` names users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.records import Item, Judgement, LeftOut, Record

from .base import Fields, Tool, attributes_of, body_of, item_key, one_answer, text

LABELS = ("label", "labels", "cats")
PARTS = {  # field -> why it is left out
    "entities": "spans",
    "relations": "relations",
    "bbox": "boxes",
    "segmentation": "boxes",
}
CONTENT = ("text", "data", "filename")
OTHERS = {"id", "meta", "metadata", "Comments", "comments", "annotations", "annotation_approver"}
CSV = {"id", "data", "label"}
QUESTION = "label"


class Doccano(Tool):
    name = "doccano"
    endings = (".jsonl", ".json", ".csv")
    columns = {"item": "id", "label": "label"}

    def recognises(self, sample: Sample) -> bool:
        if sample.kind == "text":
            return set(sample.names) == CSV
        if not sample.any_has(CONTENT):
            return False
        labels = [record[name] for record in sample.records for name in LABELS if name in record]
        if any(not isinstance(label, list) for label in labels):
            return False
        old = sample.has("annotations", "text")
        return bool(labels) or old or sample.any_has(PARTS)

    def records(self, line: int, fields: Fields, chosen: Mapping) -> Iterator[Record]:
        shown = {}
        for name in CONTENT:
            if fields.get(name):
                shown["text" if name == "data" else name] = fields[name]
        body = body_of(shown)
        key = item_key(fields.get("id"), body)
        if not key or not body:
            yield LeftOut(line, "no_content")
            return
        yield Item(line, key, body, _attributes(fields) or None)
        for name, reason in PARTS.items():
            if fields.get(name):
                yield LeftOut(line, reason)
        if isinstance(fields.get("annotations"), list):
            yield from _by_users(line, key, fields["annotations"], chosen)
        yield from _of_record(line, key, fields, chosen)


def _of_record(line: int, key: str, fields: Fields, chosen: Mapping) -> Iterator[Record]:
    """The labels of a record, which one person gave."""
    labels = next((fields[name] for name in LABELS if name in fields), None)
    if labels is None:
        if not any(fields.get(name) for name in (*PARTS, "annotations")):
            yield LeftOut(line, "no_label")
        return
    if isinstance(labels, str):
        labels = [label for label in labels.split("#") if label.strip()]
    label, reason = one_answer(labels)
    if label is None:
        yield LeftOut(line, reason)
    else:
        yield Judgement(line, key, chosen.one_rater, QUESTION, label)


def _by_users(line: int, key: str, annotations: list[Any], chosen: Mapping) -> Iterator[Record]:
    said: dict[str, list[str]] = {}
    for one in annotations:
        if not isinstance(one, dict):
            continue
        if "start_offset" in one:
            yield LeftOut(line, "spans")
        elif "label" in one:
            rater = text(one.get("user")) or chosen.one_rater
            said.setdefault(rater, []).append(text(one["label"]))
    for rater, labels in said.items():
        label, reason = one_answer(labels)
        if label is None:
            yield LeftOut(line, reason)
        else:
            yield Judgement(line, key, rater, QUESTION, label)


def _attributes(fields: Fields) -> Fields:
    used = {*LABELS, *PARTS, *CONTENT, *OTHERS}
    meta = fields.get("meta") or fields.get("metadata")
    found = attributes_of(meta) if isinstance(meta, dict) else {}
    return found | attributes_of({name: fields[name] for name in fields if name not in used})
