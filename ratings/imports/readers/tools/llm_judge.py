"""The answers of a model that judges: JSON Lines with the model, the version of its prompt, a label
or a score, and its reasoning. Model and version together are the rater, so that another version is
another rater; the reasoning is the comment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.records import Item, Judgement, LeftOut, Rater, Record, model_key

from .base import (
    Fields,
    Tool,
    attributes_of,
    body_of,
    item_key,
    moment,
    one_answer,
    question_key,
    seconds,
    text,
)

ITEM = ("item", "item_id", "id", "key", "example_id", "custom_id")
MODEL = ("model", "judge", "judge_model", "model_name")
VERSION = ("prompt_version", "version", "prompt", "template")
LABEL = ("label", "verdict", "answer", "rating", "choice")
SCORE = ("score",)
REASON = ("reasoning", "rationale", "explanation", "reason", "comment")
TIME = ("rated_at", "created_at", "timestamp", "time")
SECONDS = ("seconds", "latency", "duration")
QUESTION = ("question", "criterion", "metric")
CONTENT = ("body", "text", "input", "source", "output", "response", "response_a", "response_b")
LONGEST_VERSION = 60  # a longer one is the prompt itself
MAX_REASON = 10_000


class Judge(Tool):
    name = _("answers of a judge model")
    endings = (".jsonl",)
    columns = {
        "item": "item",
        "rater": "model",
        "label": "label",
        "rated_at": "created_at",
        "comment": "reasoning",
    }

    def recognises(self, sample: Sample) -> bool:
        if sample.has("rater") or sample.has("annotator"):
            return False
        if not sample.records:
            return False
        needed = (MODEL, ITEM, (*LABEL, *SCORE))
        return all(
            any(name in record for name in names) for record in sample.records for names in needed
        )

    def records(self, line: int, fields: Fields, chosen: Mapping) -> Iterator[Record]:
        shown = {name: fields[name] for name in CONTENT if name in fields}
        body = shown["body"] if isinstance(shown.get("body"), dict) else body_of(shown)
        key = item_key(_first(fields, ITEM), body)
        if not key:
            yield LeftOut(line, "no_content")
            return
        attributes = fields.get("attributes")
        kept = attributes_of(attributes) if isinstance(attributes, dict) else {}
        if body or kept:
            yield Item(line, key, body or None, kept or None)
        name = text(_first(fields, MODEL))
        version = text(_first(fields, VERSION))
        if len(version) > LONGEST_VERSION or "\n" in version:
            version = ""
        rater = model_key(name, version) or chosen.one_rater
        yield Rater(
            line,
            rater,
            kind="model",
            name=f"{name} {version}".strip(),
            model=name or rater,
            prompt_version=version,
        )
        yield from _answer(line, key, rater, fields)


def _answer(line: int, key: str, rater: str, fields: Fields) -> Iterator[Record]:
    said, score = _first(fields, LABEL), _first(fields, SCORE)
    if said is None:
        said = score
    elif score is not None:
        yield LeftOut(line, "number")
    label, reason = one_answer(said)
    if label is None:
        yield LeftOut(line, reason)
        return
    asked = text(_first(fields, QUESTION))
    yield Judgement(
        line,
        key,
        rater,
        question_key(asked) if asked else "",
        label,
        moment(_first(fields, TIME)),
        text(_first(fields, REASON))[:MAX_REASON] or None,
        seconds(_first(fields, SECONDS)),
    )


def _first(fields: Fields, names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)
