"""Concord's own JSON Lines: the export of ratings, and items as the API answers them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.records import Gold, Item, Judgement, LeftOut, Rater, Record

from .base import Fields, Tool, seconds, text

OF_RATING = ("item", "rater", "question", "label", "rated_at")
OF_ITEM = ("key", "body")
OF_MODEL = ("model", "prompt_version")


class Concord(Tool):
    name = _("Concord's own export")
    endings = (".jsonl",)
    columns = {name: name for name in (*OF_RATING, "comment", "guidelines", *OF_MODEL)}

    def recognises(self, sample: Sample) -> bool:
        return sample.has(*OF_RATING) or sample.has(*OF_ITEM)

    def records(self, line: int, fields: Fields, chosen: Mapping) -> Iterator[Record]:
        if "key" in fields:
            yield from _item(line, fields)
            return
        if fields.get("label") is None:
            yield LeftOut(line, "no_label")
            return
        if model := text(fields.get("model")):
            yield Rater(
                line,
                _exact(fields.get("rater")),
                kind="model",
                model=model,
                prompt_version=text(fields.get("prompt_version")),
            )
        yield Judgement(
            line,
            _exact(fields.get("item")),
            _exact(fields.get("rater")),
            _exact(fields.get("question")),
            _exact(fields["label"]),
            text(fields.get("rated_at")) or None,
            _exact(fields.get("comment")),
            seconds(fields.get("seconds")),
            guidelines=text(fields["guidelines"]) if "guidelines" in fields else None,
        )


def _exact(value: Any) -> str:
    """A text as it was written: blanks at its ends are problems here, not noise."""
    return value if isinstance(value, str) else text(value)


def _item(line: int, fields: Fields) -> Iterator[Record]:
    key = _exact(fields["key"])
    body, attributes = fields.get("body"), fields.get("attributes")
    yield Item(
        line,
        key,
        body if isinstance(body, dict) else None,
        attributes if isinstance(attributes, dict) else None,
    )
    gold = fields.get("gold")
    for question, labels in (gold if isinstance(gold, dict) else {}).items():
        for label in labels if isinstance(labels, list) else [labels]:
            if isinstance(label, dict):
                yield LeftOut(line, "several_labels")
            else:
                yield Gold(line, key, question, _exact(label))
