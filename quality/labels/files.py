"""Final labels as a file: CSV, JSON Lines, Parquet, or what another tool reads; made while it is
read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.db.models import QuerySet

from quality.models import ItemLabel
from ratings.exports.rating_files import cell, parcels
from ratings.files.parquet_file import pieces_of

from . import tool_formats
from .selectors import Words, part_of, rows

# The columns before one a category, which holds its probability.
NAMES = (
    "item",
    "question",
    "label",
    "source",
    "confidence",
    "mean",
    "ratings",
    "reason",
    "decided_by",
    "as_of",
    "split",
)
Labels = QuerySet[ItemLabel]


def csv(labels: Labels, words: Words) -> Iterator[bytes]:
    return parcels(_csv_lines(labels, words))


def _csv_lines(labels: Labels, words: Words) -> Iterator[str]:
    heads = [*NAMES, *(f"p {label}" for label in words.shown)]
    yield ",".join(map(cell, heads)) + "\r\n"
    for _item, row in rows(labels, words):
        values = _values(row, words)
        yield ",".join(["" if value is None else cell(str(value)) for value in values]) + "\r\n"


def _values(row: dict[str, Any], words: Words) -> list[Any]:
    """A row as one value for each of NAMES, then one for each category."""
    plain = row | {"as_of": _moment(row["as_of"]), "split": part_of(row["item"])}
    shares = [row["distribution"].get(label) for label in words.shown]
    return [*(plain[name] for name in NAMES), *shares]


def _moment(time: Any) -> str:
    return time.isoformat().replace("+00:00", "Z")


def jsonl(labels: Labels, words: Words) -> Iterator[bytes]:
    return parcels(_json_lines(labels, words))


def _json_lines(labels: Labels, words: Words) -> Iterator[str]:
    write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for _item, row in rows(labels, words):
        plain = row | {"as_of": _moment(row["as_of"]), "split": part_of(row["item"])}
        yield f"{write(plain)}\n"


def parquet(labels: Labels, words: Words) -> Iterator[bytes]:
    """Texts, but for ``confidence``, ``mean`` and the probabilities (doubles), ``ratings`` (a whole
    number) and ``as_of`` (a time in UTC)."""
    import pyarrow

    kinds = dict.fromkeys(NAMES, pyarrow.string())
    kinds |= dict.fromkeys(("confidence", "mean"), pyarrow.float64())
    kinds |= {"ratings": pyarrow.int32(), "as_of": pyarrow.timestamp("us", tz="UTC")}
    fields = [*kinds.items(), *((f"p {label}", pyarrow.float64()) for label in words.shown)]
    yield from pieces_of(_typed(labels, words), fields)


def _typed(labels: Labels, words: Words) -> Iterator[list[Any]]:
    """Values with times as times."""
    moment = NAMES.index("as_of")
    for _item, row in rows(labels, words):
        values = _values(row, words)
        values[moment] = row["as_of"]
        yield values


class Kind(NamedTuple):
    """How a file is made, its type, and the end of its name."""

    make: Callable[[Labels, Words], Iterator[bytes]]
    content_type: str
    ending: str


KINDS = {
    "csv": Kind(csv, "text/csv; charset=utf-8", "csv"),
    "jsonl": Kind(jsonl, "application/jsonl", "jsonl"),
    "parquet": Kind(parquet, "application/vnd.apache.parquet", "parquet"),
    "label_studio": Kind(tool_formats.label_studio, "application/json", "label-studio.json"),
    "argilla": Kind(tool_formats.argilla, "application/json", "argilla.json"),
}
