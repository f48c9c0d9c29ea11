"""Files of final labels: CSV, JSON Lines, and the formats of labelling tools."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.db.models import QuerySet

from core.web.tables import clean_row, clean_value
from quality.models import ItemLabel, LabelSource
from ratings.exports import format_cell, join_lines
from ratings.files.parquet_file import iter_parquet

from .selectors import LabelNames, LabelRow, get_data_split, iter_item_bodies, iter_label_rows

Labels = QuerySet[ItemLabel]


def stream_label_studio(labels: Labels, label_names: LabelNames) -> Iterator[bytes]:
    """Yield a list of tasks with one annotation each, as Label Studio imports them.

    ``from_name`` is the question's key, ``to_name`` is text. Decisions and gold answers are
    ground truth.
    """
    return join_lines(_iter_json_list(labels, label_names, _build_label_studio_task))


def stream_argilla(labels: Labels, label_names: LabelNames) -> Iterator[bytes]:
    """Yield a list of records with one suggestion each, as Argilla's datasets import them."""
    return join_lines(_iter_json_list(labels, label_names, _build_argilla_record))


def _iter_json_list(
    labels: Labels, label_names: LabelNames, build: Callable[[LabelRow, Any], dict[str, object]]
) -> Iterator[str]:
    """Yield the pieces of a JSON list with one element per label.

    ``build``: returns the element of a label's row and its item's body.
    """
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    separator = "["
    for (_item, row), body in zip(
        iter_label_rows(labels, label_names), iter_item_bodies(labels), strict=True
    ):
        yield separator + encode(build(row, body))
        separator = ",\n"
    yield "]\n" if separator != "[" else "[]\n"


def _get_content(row: LabelRow, body: Any) -> dict[str, object]:
    """Return {name: value} of the item's key and the fields of its body."""
    parts = body if isinstance(body, dict) else {"text": body}
    return {"item": row.item, **parts}


def _build_label_studio_task(row: LabelRow, body: Any) -> dict[str, object]:
    annotations = []
    if row.label is not None:
        result = {
            "from_name": row.question,
            "to_name": "text",
            "type": "choices",
            "value": {"choices": [row.label]},
        }
        truth = row.source != LabelSource.CONSENSUS
        annotations.append({"result": [result], "ground_truth": truth})
    meta = {"source": row.source, "confidence": row.confidence}
    return {"data": _get_content(row, body), "annotations": annotations, "meta": meta}


def _build_argilla_record(row: LabelRow, body: Any) -> dict[str, object]:
    fields = {}
    for name, value in _get_content(row, body).items():
        fields[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    suggestions = {}
    if row.label is not None:
        suggestions[row.question] = {
            "value": row.label,
            "score": row.confidence,
            "agent": row.source,
        }
    metadata = {"ratings": row.ratings}
    return {"id": row.item, "fields": fields, "suggestions": suggestions, "metadata": metadata}


DISTRIBUTION_INDEX = LabelRow._fields.index("distribution")
# Columns before those of the categories, which hold the probabilities.
COLUMNS = (*(name for name in LabelRow._fields if name != "distribution"), "split")


def stream_csv(labels: Labels, label_names: LabelNames) -> Iterator[bytes]:
    return join_lines(_iter_csv_lines(labels, label_names))


def _iter_csv_lines(labels: Labels, label_names: LabelNames) -> Iterator[str]:
    header = [*COLUMNS, *(f"p {label}" for label in label_names.share_labels)]
    yield ",".join(map(format_cell, header)) + "\r\n"
    for _item, row in iter_label_rows(labels, label_names):
        values = _list_values(row, label_names)
        yield (
            ",".join(["" if value is None else format_cell(str(value)) for value in values])
            + "\r\n"
        )


def _list_values(row: LabelRow, label_names: LabelNames) -> list[Any]:
    """Return a value for each of COLUMNS, then the share of each category."""
    values = [*row[:DISTRIBUTION_INDEX], *row[DISTRIBUTION_INDEX + 1 : -1]]
    shares = [row.distribution.get(label) for label in label_names.share_labels]
    return clean_row([*values, _format_time(row.as_of), get_data_split(row.item), *shares])


def _format_time(time: datetime.datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


def stream_jsonl(labels: Labels, label_names: LabelNames) -> Iterator[bytes]:
    return join_lines(_iter_json_lines(labels, label_names))


def _iter_json_lines(labels: Labels, label_names: LabelNames) -> Iterator[str]:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for _item, row in iter_label_rows(labels, label_names):
        fields = dict(zip(LabelRow._fields, row, strict=True))
        fields |= {"as_of": _format_time(row.as_of), "split": get_data_split(row.item)}
        yield f"{encode(clean_value(fields))}\n"


def stream_parquet(labels: Labels, label_names: LabelNames) -> Iterator[bytes]:
    """Yield the bytes of a Parquet file.

    Columns are texts, except ``confidence``, ``mean`` and the probabilities (doubles),
    ``ratings`` (integers) and ``as_of`` (timestamps in UTC).
    """
    import pyarrow

    types = dict.fromkeys(COLUMNS, pyarrow.string())
    types |= dict.fromkeys(("confidence", "mean"), pyarrow.float64())
    types |= {"ratings": pyarrow.int32(), "as_of": pyarrow.timestamp("us", tz="UTC")}
    fields = [
        *types.items(),
        *((f"p {label}", pyarrow.float64()) for label in label_names.share_labels),
    ]
    yield from iter_parquet(_iter_typed_values(labels, label_names), fields)


def _iter_typed_values(labels: Labels, label_names: LabelNames) -> Iterator[list[Any]]:
    """Yield the values of each row, with the time ``as_of`` as datetime instead of text."""
    time_index = COLUMNS.index("as_of")
    for _item, row in iter_label_rows(labels, label_names):
        values = _list_values(row, label_names)
        values[time_index] = row.as_of
        yield values


class LabelFileFormat(NamedTuple):
    """A file format: function that streams the file, content type, and extension."""

    stream: Callable[[Labels, LabelNames], Iterator[bytes]]
    content_type: str
    ending: str


FORMATS = {
    "csv": LabelFileFormat(stream_csv, "text/csv; charset=utf-8", "csv"),
    "jsonl": LabelFileFormat(stream_jsonl, "application/jsonl", "jsonl"),
    "parquet": LabelFileFormat(stream_parquet, "application/vnd.apache.parquet", "parquet"),
    "label_studio": LabelFileFormat(stream_label_studio, "application/json", "label-studio.json"),
    "argilla": LabelFileFormat(stream_argilla, "application/json", "argilla.json"),
}
