"""Zooniverse: the classification export. Each task of a workflow that has one answer is a question;
subjects are items, volunteers raters."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any

from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.columns import MEDIA
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.records import Gold, Item, Judgement, LeftOut, Question, Record

from .base import (
    Fields,
    Tool,
    as_json,
    attributes_of,
    body_of,
    moment,
    one_answer,
    question_key,
    text,
)

NEEDED = {"classification_id", "user_name", "workflow_id", "annotations", "subject_ids"}
MARKS = re.compile(r"!\[[^\]]*\]\([^)]*\)|[*_#`>]+")  # of Markdown
LONGEST_TEXT = 500


class Zooniverse(Tool):
    name = "Zooniverse"
    endings = (".csv",)
    columns = {
        "item": "subject_ids",
        "rater": "user_name",
        "label": "annotations",
        "rated_at": "created_at",
    }

    def recognises(self, sample: Sample) -> bool:
        return sample.kind == "text" and set(sample.names) >= NEEDED

    def records(self, line: int, fields: Fields, chosen: Mapping) -> Iterator[Record]:
        key = text(fields.get("subject_ids"))
        rater = text(fields.get("user_name")) or text(fields.get("user_id"))
        tasks = as_json(fields.get("annotations"))
        if not key or not isinstance(tasks, list):
            yield LeftOut(line, "no_content")
            return
        if not rater:
            yield LeftOut(line, "no_rater")
            return
        yield _item(line, key, fields)
        said_at = moment(fields.get("created_at"))
        spent = _seconds(as_json(fields.get("metadata")))
        is_gold = text(fields.get("gold_standard")).casefold() == "true"
        for task in tasks:
            if not isinstance(task, dict):
                continue
            label, reason = _answer(task)
            if label is None:
                yield LeftOut(line, reason)
                continue
            workflow, name = text(fields["workflow_id"]), text(task.get("task"))
            question = question_key(f"w{workflow}.{name}")
            yield Question(line, question, text=_plain(task.get("task_label")) or name)
            yield Judgement(line, key, rater, question, label, said_at, None, spent)
            if is_gold:
                yield Gold(line, key, question, label)


def _item(line: int, key: str, fields: Fields) -> Item:
    """The subject: addresses of its media are content, its other metadata attributes."""
    told = as_json(fields.get("subject_data"))
    of_subject: Fields = {}
    for subject in told.values() if isinstance(told, dict) else []:
        if isinstance(subject, dict):
            of_subject |= {name: value for name, value in subject.items() if name != "retired"}
    kept = attributes_of(of_subject)
    shown = body_of({name: value for name, value in kept.items() if isinstance(value, str)})
    body: Fields = {kind: shown[kind] for kind in MEDIA if kind in shown}
    attributes = {name: value for name, value in kept.items() if value not in body.values()}
    return Item(line, key, body or None, attributes or None)


def _answer(task: Fields) -> tuple[str | None, str]:
    value = task.get("value")
    if isinstance(value, dict):  # a slider, a dropdown or several tasks in one
        return None, "ignored"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        drawn = {"x", "y", "tool", "pathX", "points", "frame", "details", "toolType"}
        return None, "boxes" if drawn & value[0].keys() else "several_labels"
    return one_answer(value)


def _plain(label: Any) -> str:
    return " ".join(MARKS.sub(" ", text(label)).split())[:LONGEST_TEXT]


def _seconds(metadata: Any) -> float | None:
    if not isinstance(metadata, dict):
        return None
    started, finished = moment(metadata.get("started_at")), moment(metadata.get("finished_at"))
    if isinstance(started, datetime.datetime) and isinstance(finished, datetime.datetime):
        return (finished - started).total_seconds()
    return None
