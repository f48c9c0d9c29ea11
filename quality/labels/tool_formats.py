"""Final labels in the JSON formats of other tools: tasks or records with their content.

Items without a label are exported without an annotation, so that they can be rated there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import QuerySet

from quality.models import ItemLabel, LabelSource
from ratings.exports.rating_files import join_lines

from .selectors import LabelNames, iter_item_bodies, iter_label_rows

Labels = QuerySet[ItemLabel]


def stream_label_studio(labels: Labels, label_names: LabelNames) -> Iterator[bytes]:
    """Yield a list of tasks with one annotation each, as Label Studio imports them.

    ``from_name`` is the question's key, ``to_name`` is text. Decisions and gold answers are
    ground truth.
    """
    return join_lines(_iter_json_list(labels, label_names, _build_task))


def stream_argilla(labels: Labels, label_names: LabelNames) -> Iterator[bytes]:
    """Yield a list of records with one suggestion each, as Argilla's datasets import them."""
    return join_lines(_iter_json_list(labels, label_names, _build_record))


def _iter_json_list(
    labels: Labels, label_names: LabelNames, build: Callable[[dict[str, Any], Any], dict[str, Any]]
) -> Iterator[str]:
    """Yield the pieces of a JSON list with one element per label."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    separator = "["
    for (_item, row), body in zip(
        iter_label_rows(labels, label_names), iter_item_bodies(labels), strict=True
    ):
        yield separator + encode(build(row, body))
        separator = ",\n"
    yield "]\n" if separator != "[" else "[]\n"


def _get_content(row: dict[str, Any], body: Any) -> dict[str, Any]:
    """Return the parts of an item by name, with its key."""
    parts = body if isinstance(body, dict) else {"text": body}
    return {"item": row["item"], **parts}


def _build_task(row: dict[str, Any], body: Any) -> dict[str, Any]:
    task: dict[str, Any] = {"data": _get_content(row, body), "annotations": []}
    if row["label"] is not None:
        result = {
            "from_name": row["question"],
            "to_name": "text",
            "type": "choices",
            "value": {"choices": [row["label"]]},
        }
        truth = row["source"] != LabelSource.CONSENSUS
        task["annotations"].append({"result": [result], "ground_truth": truth})
    task["meta"] = {"source": row["source"], "confidence": row["confidence"]}
    return task


def _build_record(row: dict[str, Any], body: Any) -> dict[str, Any]:
    fields = {}
    for name, value in _get_content(row, body).items():
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
