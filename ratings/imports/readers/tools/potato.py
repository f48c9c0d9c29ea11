"""Potato: the JSON Lines of one annotator (`annotated_instances.jsonl`), whose name is the one of
the whole file, and the table with a column `user` and one for each label (`schema:::label`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.records import Item, Judgement, LeftOut, Record

from .base import Fields, Tool, body_of, item_key, one_answer, question_key, text

PARTED = ":::"  # between a schema and its label
FALSE = ("", "false", "0", "none", "nan")
STEP = re.compile(r"(?:scale_)?(\d+)")  # of a Likert scale
TEXT_BOXES = ("text_box", "textbox", "free_response")


class Potato(Tool):
    name = "Potato"
    endings = (".jsonl", ".csv", ".tsv")
    columns = {"item": "instance_id", "rater": "user", "label": "label_annotations"}

    def recognises(self, sample: Sample) -> bool:
        if sample.kind == "text":
            parted = any(PARTED in name for name in sample.names)
            return parted and {"user", "instance_id"} <= set(sample.names)
        return sample.any_has({"label_annotations", "span_annotations"}) or any(
            PARTED in name for record in sample.records for name in record
        )

    def records(self, line: int, fields: Fields, chosen: Mapping) -> Iterator[Record]:
        shown = fields.get("displayed_text") or fields.get("text")
        body = body_of({"text": shown}) if shown else {}
        given = fields.get("instance_id", fields.get("id"))
        key = item_key(given, body)
        if not key:
            yield LeftOut(line, "no_content")
            return
        yield Item(line, key, body or None)
        rater = text(fields.get("user")) or text(fields.get("user_id")) or chosen.one_rater
        if fields.get("span_annotations"):
            yield LeftOut(line, "spans")
        for schema, marked in _schemas(fields).items():
            label, reason = _label(marked)
            if label is None:
                yield LeftOut(line, reason)
            else:
                yield Judgement(line, key, rater, question_key(schema), label)


def _schemas(fields: Fields) -> dict[str, dict[str, Any]]:
    """schema -> label -> what was entered for it."""
    found: dict[str, dict[str, Any]] = {}
    nested = fields.get("label_annotations")
    if isinstance(nested, dict):
        for schema, marked in nested.items():
            found[schema] = marked if isinstance(marked, dict) else {"": marked}
    for name, value in fields.items():
        schema, parted, label = name.partition(PARTED)
        if parted:
            found.setdefault(schema, {})[label] = value
    return found


def _label(marked: dict[str, Any]) -> tuple[str | None, str]:
    """The one label that is marked, or why there is none."""
    said = []
    for name, value in marked.items():
        entered = text(value)
        if entered.casefold() in FALSE or value is False:
            continue
        if name.casefold() in TEXT_BOXES:
            return None, "free_text"
        step = STEP.fullmatch(name)
        if step:
            said.append(step[1])
        else:
            said.append(name or entered)
    return one_answer(said)
