"""Argilla: records as `to_dict`, `to_json` and `to_list(flatten=True)` write them, and those of
Argilla 1. Submitted responses are answers, discarded ones skips, drafts are left out; suggestions
are those of a model, named by their agent."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.problems import Unreadable
from ratings.imports.records import Item, Judgement, LeftOut, Rater, Record

from .base import (
    Fields,
    Tool,
    ToolReader,
    attributes_of,
    body_of,
    item_key,
    objects,
    one_answer,
    question_key,
    rows_of,
    text,
)

RESPONSES = ".responses"
SUGGESTION = ".suggestion"
SEEN = 1000  # records by which names are told from texts
OF_RECORD = {"id", "status", "_server_id"}


class Argilla(Tool):
    name = "Argilla"
    endings = (".json", ".jsonl")
    columns = {"item": "id", "rater": "user_id", "label": "value"}

    def __init__(self, names: Collection[str] = ()) -> None:
        """``names``: fields of flattened records that hold names, not texts."""
        self.names = names

    def reader(self, path: Path, chosen: Mapping) -> ToolReader:
        return ToolReader(Argilla(_names_in(path, chosen)), path, chosen)

    def recognises(self, sample: Sample) -> bool:
        if sample.has("fields") and sample.any_has({"responses", "suggestions"}):
            return True
        return any(
            name.endswith((RESPONSES, f"{RESPONSES}.users"))
            for record in sample.records
            for name in record
        )

    def records(self, line: int, fields: Fields, chosen: Mapping) -> Iterator[Record]:
        shown = fields.get("fields")
        if not isinstance(shown, dict):
            yield from _flat(line, fields, self.names)
            return
        body = body_of(shown)
        given = fields.get("id") or fields.get("external_id")
        key = item_key(given, body)
        if not key:
            yield LeftOut(line, "no_content")
            return
        metadata = fields.get("metadata")
        attributes = attributes_of(metadata) if isinstance(metadata, dict) else {}
        yield Item(line, key, body or None, attributes or None)
        yield from _responses(line, key, fields.get("responses"))
        yield from _suggestions(line, key, fields.get("suggestions"))


def _responses(line: int, key: str, responses: Any) -> Iterator[Record]:
    if isinstance(responses, dict):  # question -> its responses
        for question, given in responses.items():
            for one in objects(given):
                yield _response(line, key, question, value=one.get("value"), one=one)
    for one in objects(responses):  # Argilla 1: a user's answers
        values = one.get("values")
        for question, value in (values if isinstance(values, dict) else {}).items():
            said = value.get("value") if isinstance(value, dict) else value
            yield _response(line, key, question, value=said, one=one)


def _response(line: int, key: str, question: str, *, value: Any, one: Fields) -> Record:
    status = text(one.get("status")) or "submitted"
    return _answer(line, key, question, value, user=text(one.get("user_id")), status=status)


def _answer(line: int, key: str, question: str, value: Any, *, user: str, status: str) -> Record:
    if not user:
        return LeftOut(line, "no_rater")
    if status == "discarded":
        return Judgement(line, key, user, "", None)
    if status == "draft":
        return LeftOut(line, "draft")
    label, reason = one_answer(value)
    if label is None:
        return LeftOut(line, reason)
    return Judgement(line, key, user, question_key(question), label)


def _suggestions(line: int, key: str, suggestions: Any) -> Iterator[Record]:
    named: list[tuple[str, Any]] = []
    if isinstance(suggestions, dict):
        named = list(suggestions.items())
    elif isinstance(suggestions, list):
        named = [(text(one.get("question_name")), one) for one in objects(suggestions)]
    for question, one in named:
        if isinstance(one, dict):
            yield from _suggestion(
                line, key, question, value=one.get("value"), agent=one.get("agent")
            )


def _suggestion(line: int, key: str, question: str, *, value: Any, agent: Any) -> Iterator[Record]:
    model = text(agent) or "suggestion"
    label, reason = one_answer(value)
    if label is None:
        if reason != "no_label":
            yield LeftOut(line, reason)
        return
    yield Rater(line, model, kind="model", name=model, model=model)
    yield Judgement(line, key, model, question_key(question), label)


def _names_in(path: Path, chosen: Mapping) -> set[str]:
    """Fields whose values are single words wherever they stand, as those of metadata are: a model,
    a source. They are never shown to raters, whom they could unblind. Without any field of several
    words nothing is one of these."""
    words: dict[str, bool] = {}
    try:
        for _line, fields in itertools.islice(rows_of(path, chosen), SEEN):
            for name, value in fields.items():
                if isinstance(value, str):
                    words[name] = words.get(name, True) and len(value.split()) < 2
    except Unreadable:
        pass  # named by the reader, in its turn
    return {name for name, single in words.items() if single} if not all(words.values()) else set()


def _flat(line: int, fields: Fields, names: Collection[str]) -> Iterator[Record]:
    """Everything of a record side by side: fields and metadata cannot be told apart, so that texts
    are content, and names and other single values attributes."""
    questions = [name.removesuffix(RESPONSES) for name in fields if name.endswith(RESPONSES)]
    suggested = [name.removesuffix(SUGGESTION) for name in fields if name.endswith(SUGGESTION)]
    told = tuple(f"{name}." for name in {*questions, *suggested})
    rest = {
        name: value
        for name, value in fields.items()
        if name not in OF_RECORD and not (told and name.startswith(told))
    }
    texts = {
        name: value for name, value in rest.items() if isinstance(value, str) and name not in names
    }
    body = body_of(texts)
    key = item_key(fields.get("id"), body)
    if not key:
        yield LeftOut(line, "no_content")
        return
    others = {name: value for name, value in rest.items() if name not in texts}
    yield Item(line, key, body or None, attributes_of(others) or None)
    for question in questions:
        values = _list(fields.get(f"{question}{RESPONSES}"))
        users = _list(fields.get(f"{question}{RESPONSES}.users"))
        states = _list(fields.get(f"{question}{RESPONSES}.status"))
        states += ["submitted"] * (len(values) - len(states))
        for value, user, state in zip(values, users, states, strict=False):
            yield _answer(line, key, question, value, user=text(user), status=text(state))
        for _value in values[len(users) :]:
            yield LeftOut(line, "no_rater")
    for question in suggested:
        name = f"{question}{SUGGESTION}"
        yield from _suggestion(
            line, key, question, value=fields[name], agent=fields.get(f"{name}.agent")
        )


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []
