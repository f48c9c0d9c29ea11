"""Label Studio: JSON (tasks with their annotations and predictions), JSON-MIN and CSV (a line an
annotation).

`completed_by` is the rater, a prediction's `model_version` a model, `ground_truth` a gold answer,
`was_cancelled` a skip, `lead_time` the seconds. Single choices, ratings, the leaf of a taxonomy and
pairwise choices are answers to the question that `from_name` names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.records import Gold, Item, Judgement, LeftOut, Rater, Record, model_key

from .base import (
    Fields,
    Tool,
    as_json,
    attributes_of,
    body_of,
    item_key,
    moment,
    objects,
    one_answer,
    question_key,
    seconds,
    text,
)

ANNOTATIONS = ("annotations", "completions")  # the second: until 2021
# Fields that JSON-MIN and CSV add to a task's data and its labels.
OF_MIN = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time")
REGION = {"x", "y", "start", "end", "points", "rle", "globalOffsets", "startOffset"}
SPAN = {"start", "globalOffsets", "startOffset"}
# type -> the field of its answer
ANSWERS = {"choices": "choices", "rating": "rating", "number": "number", "pairwise": "selected"}
LEFT_OUT = {"relation": "relations", "textarea": "free_text", "ranker": "ranking"}


class LabelStudio(Tool):
    name = "Label Studio"
    endings = (".json", ".csv", ".tsv")
    columns = {"item": "id", "rater": "completed_by", "label": "result", "rated_at": "created_at"}

    def recognises(self, sample: Sample) -> bool:
        if sample.kind == "json":
            tasks = sample.has("id") and sample.any_has(ANNOTATIONS)
            nested = sample.any_has({"data", "predictions", "completions"})
            return (tasks and nested) or sample.has(*OF_MIN)
        return sample.kind == "text" and {"id", *OF_MIN} <= set(sample.names)

    def records(self, line: int, fields: Fields, chosen: Mapping) -> Iterator[Record]:
        if not any(name in fields for name in ANNOTATIONS):
            yield from _of_min(line, fields, chosen)
            return
        data = fields.get("data")
        body = body_of(data) if isinstance(data, dict) else {}
        key = item_key(fields.get("id"), body)
        if not key:
            yield LeftOut(line, "no_content")
            return
        meta = fields.get("meta")
        attributes = attributes_of(meta) if isinstance(meta, dict) else {}
        yield Item(line, key, body or None, attributes or None)
        for name in ANNOTATIONS:
            for annotation in objects(fields.get(name)):
                yield from _annotation(line, key, annotation, chosen)
        for prediction in objects(fields.get("predictions")):
            yield from _prediction(line, key, prediction)
        if fields.get("drafts"):
            yield LeftOut(line, "draft")


def _annotation(line: int, key: str, annotation: Fields, chosen: Mapping) -> Iterator[Record]:
    rater, person = _rater(annotation)
    rater = rater or chosen.one_rater
    if not rater:
        yield LeftOut(line, "no_rater")
        return
    if person:
        yield Rater(line, rater, name=person)
    given = moment(annotation.get("created_at"))
    spent = seconds(annotation.get("lead_time"))
    if annotation.get("was_cancelled") or annotation.get("skipped"):
        yield Judgement(line, key, rater, "", None, given, None, spent)
        return
    if annotation.get("reviews"):
        yield LeftOut(line, "review")
    answers, left_out = _answers(annotation.get("result"))
    yield from (LeftOut(line, reason) for reason in left_out)
    for question, label in answers.items():
        for earlier, at in _earlier(annotation, question, label):
            yield Judgement(line, key, rater, question, earlier, at)
        said_at = _last_time(annotation, question, given)
        yield Judgement(line, key, rater, question, label, said_at, None, spent)
        if annotation.get("ground_truth"):
            yield Gold(line, key, question, label)


def _prediction(line: int, key: str, prediction: Fields) -> Iterator[Record]:
    version = text(prediction.get("model_version")) or "prediction"
    model = model_key(version)
    answers, left_out = _answers(prediction.get("result"))
    yield from (LeftOut(line, reason) for reason in left_out)
    if answers:
        yield Rater(line, model, kind="model", name=version, model=version)
    for question, label in answers.items():
        at = moment(prediction.get("created_at"))
        yield Judgement(line, key, model, question, label, at)


def _answers(result: Any) -> tuple[dict[str, str], list[str]]:
    """(question -> label, why something is left out, each reason once) of a result."""
    parts = []
    for part in result if isinstance(result, list) else []:
        parts += part if isinstance(part, list) else [part]
    found: dict[str, str | None] = {}
    reasons: dict[str, None] = {}
    for part in parts:
        if not isinstance(part, dict):
            continue
        label, reason = _answer(part)
        question = question_key(text(part.get("from_name")))
        if label is None:
            reasons[reason] = None
        elif question in found and found[question] != label:
            found[question] = None
            reasons["several_labels"] = None
        else:
            found[question] = label
    if not parts:
        reasons["no_label"] = None
    answers = {question: label for question, label in found.items() if label is not None}
    return answers, list(reasons)


def _answer(part: Fields) -> tuple[str | None, str]:
    """(label, "") of a part of a result, or (None, why it is left out)."""
    kind = text(part.get("type")).lower()
    value = part.get("value")
    if kind in LEFT_OUT or not isinstance(value, dict):
        return None, LEFT_OUT.get(kind, "ignored")
    if REGION & value.keys() or kind.endswith("labels"):
        spans = SPAN & value.keys() or kind in ("labels", "hypertextlabels")
        return None, "spans" if spans and "x" not in value else "boxes"
    if kind == "taxonomy":
        return _leaf(value.get("taxonomy"))
    if kind in ANSWERS:
        return one_answer(value.get(ANSWERS[kind]))
    return None, "ignored"


def _leaf(paths: Any) -> tuple[str | None, str]:
    """The end of the one path that was chosen in a taxonomy."""
    if isinstance(paths, list) and len(paths) == 1 and isinstance(paths[0], list):
        return one_answer(paths[0][-1:])
    return None, "several_labels" if paths else "no_label"


# --- what an annotation said before


def _history(annotation: Fields) -> list[Fields]:
    """Its former states by its own annotator, oldest first."""
    by = annotation.get("completed_by")
    own = by.get("id") if isinstance(by, dict) else by
    states = [
        state
        for state in objects(annotation.get("history"))
        if state.get("created_by") in (own, None) and state.get("result")
    ]
    return sorted(states, key=lambda state: text(state.get("created_at")))


def _states(annotation: Fields, question: str) -> list[tuple[str, Any]]:
    """(label, time) of each state in which the annotation answered the question."""
    found = []
    for state in _history(annotation):
        answers, _left_out = _answers(state.get("result"))
        if question in answers:
            found.append((answers[question], moment(state.get("created_at"))))
    return found


def _earlier(annotation: Fields, question: str, label: str) -> Iterator[tuple[str, Any]]:
    """What it answered before the answer that stands, without repetitions."""
    states = [*_states(annotation, question), (label, None)]
    for (said, at), (then, _at) in itertools.pairwise(states):
        if said != then:
            yield said, at


def _last_time(annotation: Fields, question: str, given: Any) -> Any:
    """When the answer that stands was given: with the annotation itself, unless it changed."""
    states = _states(annotation, question)
    at = given
    for (said, _at), (then, then_at) in itertools.pairwise(states):
        if said != then:
            at = then_at
    return at


# --- who


def _rater(annotation: Fields) -> tuple[str, str]:
    """(key, name) of who made it."""
    by = annotation.get("completed_by")
    if isinstance(by, list):
        by = by[0] if len(by) == 1 else None
    if by is None:
        several = annotation.get("aggregated_completed_by")
        by = several[0] if isinstance(several, list) and len(several) == 1 else None
    if not isinstance(by, dict):
        return text(by), ""
    names = (text(by.get("first_name")), text(by.get("last_name")))
    key = text(by.get("email")) or text(by.get("username")) or text(by.get("id"))
    return key, " ".join(name for name in names if name)


# --- JSON-MIN and CSV


def _of_min(line: int, fields: Fields, chosen: Mapping) -> Iterator[Record]:
    """The task's data come first, then its id, then the labels, then what says who and when."""
    names = list(fields)
    at = names.index("id") if "id" in names else -1
    data = {name: fields[name] for name in names[: max(at, 0)]}
    body = body_of(data)
    key = item_key(fields.get("id"), body)
    if not key:
        yield LeftOut(line, "no_content")
        return
    yield Item(line, key, body or None)
    rater = text(fields.get("annotator")) or chosen.one_rater
    for name in names[at + 1 :]:
        if name in OF_MIN or name in ("history", "agreement"):
            continue
        value = fields[name]
        if isinstance(value, str) and value[:1] in ("[", "{"):
            value = as_json(value)
        if isinstance(value, dict) and set(value) == {"choices"}:
            value = value["choices"]
        label, reason = one_answer(value)
        if label is None:
            yield LeftOut(line, reason)
        else:
            at_time = moment(fields.get("created_at"))
            spent = seconds(fields.get("lead_time"))
            yield Judgement(line, key, rater, question_key(name), label, at_time, None, spent)
