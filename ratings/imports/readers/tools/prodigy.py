"""Prodigy: JSON Lines of the database. A choice of one option, and yes or no to one label
(`answer` accept or reject) are answers; `ignore` is a skip. The rater is `_annotator_id`, else
`_session_id`."""

from __future__ import annotations

from collections.abc import Iterator

from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.records import Item, Judgement, LeftOut, Question, Record

from .base import (
    Fields,
    Tool,
    attributes_of,
    body_of,
    item_key,
    moment,
    one_answer,
    question_key,
    text,
)

# Fields that are not the item's content.
OTHERS = {
    "meta",
    "tokens",
    "spans",
    "relations",
    "label",
    "options",
    "accept",
    "answer",
    "score",
    "priority",
    "config",
    "audio_spans",
    "user_input",
    "width",
    "height",
    "versions",
    "path",
}
CHOICE = "choice"


class Prodigy(Tool):
    name = "Prodigy"
    endings = (".jsonl",)
    columns = {
        "item": "_input_hash",
        "rater": "_annotator_id",
        "label": "answer",
        "rated_at": "_timestamp",
    }

    def recognises(self, sample: Sample) -> bool:
        return sample.has("answer") and sample.any_has({"_input_hash", "_task_hash"})

    def records(self, line: int, fields: Fields, chosen: Mapping) -> Iterator[Record]:
        shown = {
            name: value
            for name, value in fields.items()
            if name not in OTHERS and not name.startswith("_")
        }
        body = body_of(shown)
        key = item_key(fields.get("_input_hash"), body)
        if not key:
            yield LeftOut(line, "no_content")
            return
        meta = fields.get("meta")
        yield Item(line, key, body or None, attributes_of(meta) if isinstance(meta, dict) else None)
        rater = text(fields.get("_annotator_id")) or text(fields.get("_session_id"))
        said_at = moment(fields.get("_timestamp"))
        rater = rater or chosen.one_rater
        answer = text(fields.get("answer"))
        if isinstance(fields.get("options"), list):
            found = _choice(line, fields)
        elif isinstance(fields.get("label"), str) and not fields.get("spans"):
            found = _yes_or_no(line, fields)
        else:
            found = iter([LeftOut(line, _why_none(fields))])
        for record in found:
            if isinstance(record, Judgement):
                yield record._replace(item=key, rater=rater, rated_at=said_at)
            elif isinstance(record, LeftOut) and answer == "ignore":
                yield Judgement(line, key, rater, "", None, said_at)
            else:
                yield record


def _choice(line: int, fields: Fields) -> Iterator[Record]:
    options = [text(one.get("id")) for one in fields["options"] if isinstance(one, dict)]
    yield Question(line, CHOICE, labels=[option for option in options if option])
    answer = text(fields.get("answer"))
    if answer == "ignore":
        yield Judgement(line, "", "", CHOICE, None)
        return
    label, reason = one_answer(fields.get("accept"))
    if answer == "reject" or label is None:
        yield LeftOut(line, reason or "ignored")
    else:
        yield Judgement(line, "", "", CHOICE, label)


def _yes_or_no(line: int, fields: Fields) -> Iterator[Record]:
    label = fields["label"].strip()
    question = question_key(label)
    yield Question(line, question, text=label, labels=("accept", "reject"))
    answer = text(fields.get("answer"))
    yield Judgement(line, "", "", question, None if answer == "ignore" else answer)


def _why_none(fields: Fields) -> str:
    if fields.get("relations"):
        return "relations"
    if fields.get("spans") or "tokens" in fields:
        return "boxes" if "image" in fields else "spans"
    return "free_text" if fields.get("user_input") else "no_label"
