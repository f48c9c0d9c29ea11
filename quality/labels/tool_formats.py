"""Final labels as other tools read them: their own JSON of tasks or records, each with its content.

An item without a label goes out without an annotation: it is what is left to be rated there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import QuerySet

from quality.models import ItemLabel, Source
from ratings.exports.rating_files import parcels

from .selectors import Words, bodies, rows

Labels = QuerySet[ItemLabel]


def label_studio(labels: Labels, words: Words) -> Iterator[bytes]:
    """A list of tasks with one annotation each, as Label Studio imports them: ``from_name`` is the
    key of the question, ``to_name`` is text. Decisions and gold answers are ground truth."""
    return parcels(_listed(labels, words, _task))


def argilla(labels: Labels, words: Words) -> Iterator[bytes]:
    """A list of records with a suggestion each, as Argilla's datasets import them."""
    return parcels(_listed(labels, words, _record))


def _listed(
    labels: Labels, words: Words, make: Callable[[dict[str, Any], Any], dict[str, Any]]
) -> Iterator[str]:
    write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    before = "["
    for (_item, row), body in zip(rows(labels, words), bodies(labels), strict=True):
        yield before + write(make(row, body))
        before = ",\n"
    yield "]\n" if before != "[" else "[]\n"


def _content(row: dict[str, Any], body: Any) -> dict[str, Any]:
    """The parts of an item by name, with its key."""
    parts = body if isinstance(body, dict) else {"text": body}
    return {"item": row["item"], **parts}


def _task(row: dict[str, Any], body: Any) -> dict[str, Any]:
    task: dict[str, Any] = {"data": _content(row, body), "annotations": []}
    if row["label"] is not None:
        result = {
            "from_name": row["question"],
            "to_name": "text",
            "type": "choices",
            "value": {"choices": [row["label"]]},
        }
        truth = row["source"] != Source.CONSENSUS
        task["annotations"].append({"result": [result], "ground_truth": truth})
    task["meta"] = {"source": row["source"], "confidence": row["confidence"]}
    return task


def _record(row: dict[str, Any], body: Any) -> dict[str, Any]:
    fields = {}
    for name, value in _content(row, body).items():
        fields[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    record: dict[str, Any] = {"id": row["item"], "fields": fields, "suggestions": {}}
    if row["label"] is not None:
        record["suggestions"][row["question"]] = {
            "value": row["label"],
            "score": row["confidence"],
            "agent": row["source"],
        }
    record["metadata"] = {"ratings": row["ratings"]}
    return record
