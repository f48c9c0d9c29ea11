"""Files of final labels: CSV, JSON Lines, Parquet, and the formats of labelling tools."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Max, QuerySet
from django.utils.text import slugify

from core.api.errors import BadRequest
from core.web.tables import clean_row, clean_value
from projects.api.base import get_question
from projects.models import Item, Project, Question
from quality.models import Consensus, ItemLabel, LabelSource
from ratings.api.query_times import parse_since
from ratings.exports.documents import (
    INVALID_EXPORT,
    BinaryFormat,
    Document,
    ExportKind,
    Filters,
    Format,
    Section,
    TextFormat,
)
from ratings.exports.rating_files import format_cell
from ratings.files.parquet_file import iter_parquet
from ratings.models import ExportRun

from .selectors import (
    LabelNames,
    LabelRow,
    get_data_split,
    get_labels,
    iter_item_bodies,
    iter_label_rows,
    parse_share,
)

Labels = QuerySet[ItemLabel]
LabelItem = tuple[LabelRow, Any]  # the row and the item's body; None in formats without it


def _build_label_studio_format(label_names: LabelNames) -> TextFormat:
    """Return the format of a list of tasks with one annotation each, as Label Studio imports them.

    ``from_name`` is the question's key, ``to_name`` is text. Decisions and gold answers are
    ground truth.
    """
    return _build_json_list_format(_build_label_studio_task)


def _build_argilla_format(label_names: LabelNames) -> TextFormat:
    """Return the format of a list of records with one suggestion each, as Argilla imports them."""
    return _build_json_list_format(_build_argilla_record)


def _build_json_list_format(build: Callable[[LabelRow, Any], dict[str, object]]) -> TextFormat:
    """Return the format of a JSON list with one element per label.

    ``build``: turns a label's row and its item's body into the element.
    """
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

    def format_elements(items: Iterable[LabelItem]) -> Iterator[str]:
        return (encode(build(row, body)) for row, body in items)

    return TextFormat(format_elements, head="[", separator=",\n", tail="]\n")


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


def _build_csv_format(label_names: LabelNames) -> TextFormat:
    header = [*COLUMNS, *(f"p {label}" for label in label_names.share_labels)]

    def format_lines(items: Iterable[LabelItem]) -> Iterator[str]:
        for row, _body in items:
            values = _list_values(row, label_names)
            cells = ["" if value is None else format_cell(str(value)) for value in values]
            yield ",".join(cells) + "\r\n"

    return TextFormat(format_lines, head=",".join(map(format_cell, header)) + "\r\n")


def _list_values(row: LabelRow, label_names: LabelNames) -> list[Any]:
    """Return a value for each of COLUMNS, then the share of each category."""
    values = [*row[:DISTRIBUTION_INDEX], *row[DISTRIBUTION_INDEX + 1 : -1]]
    shares = [row.distribution.get(label) for label in label_names.share_labels]
    return clean_row([*values, _format_time(row.as_of), get_data_split(row.item), *shares])


def _format_time(time: datetime.datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


def _build_jsonl_format(label_names: LabelNames) -> TextFormat:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

    def format_lines(items: Iterable[LabelItem]) -> Iterator[str]:
        for row, _body in items:
            fields = dict(zip(LabelRow._fields, row, strict=True))
            fields |= {"as_of": _format_time(row.as_of), "split": get_data_split(row.item)}
            yield f"{encode(clean_value(fields))}\n"

    return TextFormat(format_lines)


def _build_parquet_format(label_names: LabelNames) -> BinaryFormat:
    """Return the format of a Parquet file, whose rows are those of ``_list_values``.

    Columns are texts, except ``confidence``, ``mean`` and the probabilities (doubles),
    ``ratings`` (integers) and ``as_of`` (timestamps in UTC).
    """

    def encode(rows: Iterable[list[Any]]) -> Iterator[bytes]:
        import pyarrow

        types = dict.fromkeys(COLUMNS, pyarrow.string())
        types |= dict.fromkeys(("confidence", "mean"), pyarrow.float64())
        types |= {"ratings": pyarrow.int32(), "as_of": pyarrow.timestamp("us", tz="UTC")}
        shares = [(f"p {label}", pyarrow.float64()) for label in label_names.share_labels]
        return iter_parquet(_iter_typed_values(rows), [*types.items(), *shares])

    return BinaryFormat(encode)


def _iter_typed_values(rows: Iterable[list[Any]]) -> Iterator[list[Any]]:
    """Yield the values of each row, with the time ``as_of`` as datetime instead of text."""
    time_index = COLUMNS.index("as_of")
    for values in rows:
        time = datetime.datetime.fromisoformat(values[time_index])
        yield [*values[:time_index], time, *values[time_index + 1 :]]


class LabelFileFormat(NamedTuple):
    """A file format: the function that builds it for a question, content type, and extension."""

    build: Callable[[LabelNames], Format]
    content_type: str
    ending: str


FORMATS = {
    "csv": LabelFileFormat(_build_csv_format, "text/csv; charset=utf-8", "csv"),
    "jsonl": LabelFileFormat(_build_jsonl_format, "application/jsonl", "jsonl"),
    "parquet": LabelFileFormat(_build_parquet_format, "application/vnd.apache.parquet", "parquet"),
    "label_studio": LabelFileFormat(
        _build_label_studio_format, "application/json", "label-studio.json"
    ),
    "argilla": LabelFileFormat(_build_argilla_format, "application/json", "argilla.json"),
}
FORMATS_WITH_CONTENT = ("label_studio", "argilla")


def build_labels_document(
    project: Project, label_names: LabelNames, kind: str, labels: Labels
) -> Document:
    """Return the file of the labels, whose format is ``kind``: a key of FORMATS.

    ``labels`` belong to the question of ``label_names`` and are ordered by item.
    """
    file_format = FORMATS[kind]
    question = label_names.question
    name = slugify(f"{slugify(project.name) or 'project'}-{question.key}-labels")
    return Document(
        [
            Section(
                labels,
                functools.partial(_iter_rows, labels=labels, label_names=label_names, kind=kind),
            )
        ],
        file_format.build(label_names),
        file_format.content_type,
        f"{name}.{file_format.ending}",
    )


def _iter_rows(
    after: int, end: int, *, labels: Labels, label_names: LabelNames, kind: str
) -> Iterator[Any]:
    """Yield the rows of the items with ids above ``after``, up to and including ``end``.

    They are lists of values for Parquet, otherwise (row, body); the body is None if ``kind`` is not
    in FORMATS_WITH_CONTENT.
    """
    in_range = labels.filter(item_id__gt=after, item_id__lte=end)
    rows = iter_label_rows(in_range, label_names, item_range=(after, end))
    if kind == "parquet":
        return (_list_values(row, label_names) for _item, row in rows)
    if kind in FORMATS_WITH_CONTENT:
        bodies = iter_item_bodies(in_range)
        return ((row, body) for (_item, row), body in zip(rows, bodies, strict=True))
    return ((row, None) for _item, row in rows)


def _parse_request(
    project: Project, parameters: Mapping[str, str]
) -> tuple[list[Question], Filters]:
    """Return ([question], filters) of an export request, from the parameters of the list of labels.

    Raises BadRequest for invalid values.
    """
    question = get_question(project, parameters.get("question"))
    filters: Filters = {}
    errors = {}
    if "source" in parameters:
        filters["source"] = parameters["source"]
        if parameters["source"] not in LabelSource.values:
            errors["source"] = f"one of {', '.join(LabelSource.values)}"
    if "label" in parameters:
        codes = {category.label: category.code for category in question.active_categories()}
        filters["code"] = codes.get(parameters["label"])
        if filters["code"] is None:
            errors["label"] = f"one of {', '.join(codes)}"
    if "min_confidence" in parameters:
        try:
            filters["at_least"] = parse_share(parameters["min_confidence"])
        except ValueError:
            errors["min_confidence"] = "a number from 0 to 1"
    if "since" in parameters:
        filters["since"] = parse_since(parameters["since"]).isoformat()
    if errors:
        raise BadRequest(INVALID_EXPORT, fields=errors)
    return [question], filters


def _get_last_item_id() -> int:
    return Item.objects.aggregate(last_id=Max("pk"))["last_id"] or 0


def _build_run_document(run: ExportRun, questions: Sequence[Question]) -> Document:
    """Build the label file for an export run, from the items that existed when the run began."""
    question = questions[0]
    filters = run.filters
    since = filters.get("since")
    labels = get_labels(
        question,
        source=filters.get("source"),
        at_least=filters.get("at_least"),
        since=datetime.datetime.fromisoformat(since) if since else None,
        code=filters.get("code"),
    ).filter(item_id__lte=run.last_id)
    consensus = Consensus.objects.filter(question=question).first()
    label_names = LabelNames.for_question(question, consensus)
    return build_labels_document(run.project, label_names, run.file_format, labels)


LABELS = ExportKind(
    formats=list(FORMATS),
    parse_request=_parse_request,
    get_last_id=_get_last_item_id,
    build_document=_build_run_document,
)
