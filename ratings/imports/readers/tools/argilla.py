"""Argilla: records of `to_dict`, `to_json` and `to_list(flatten=True)`, and records of Argilla 1.

Submitted responses are ratings and discarded ones skips; drafts are not imported. Suggestions are
ratings of a model, named by their agent.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.records import ItemRecord, RatingRecord, Record, SkippedRecord

from .base import (
    Fields,
    ToolReader,
    ToolSource,
    build_attributes,
    build_body,
    build_model_rater,
    build_rating,
    get_item_key,
    list_objects,
    open_records,
    parse_list,
    parse_single_answer,
    to_text,
)

RESPONSES_SUFFIX = ".responses"
SUGGESTION_SUFFIX = ".suggestion"
SAMPLE_RECORDS = 1000  # first records, which distinguish fields of names from fields of text
RECORD_FIELDS = {"id", "status", "_server_id"}


class ArgillaSource(ToolSource):
    """Source of Argilla's exports."""

    name = "Argilla"
    extensions = (".json", ".jsonl", ".csv")
    columns = {"item": "id", "rater": "user_id", "label": "value"}

    def __init__(self, name_fields: Collection[str] = ()) -> None:
        """Create a source; ``name_fields`` of flattened records have names, not texts."""
        self.name_fields = name_fields

    def open_reader(self, path: Path, mapping: ImportMapping) -> ToolReader:
        return ToolReader(ArgillaSource(_find_name_fields(path, mapping)), path, mapping)

    def can_read(self, sample: FileSample) -> bool:
        if sample.has_fields("fields") and sample.has_any_field({"responses", "suggestions"}):
            # Other platforms have responses of workers beside the fields.
            return not any(
                "worker_id" in response
                for record in sample.records
                for response in list_objects(record.get("responses"))
            )
        names = sample.names if sample.kind == "text" else itertools.chain(*sample.records)
        if any(name.endswith((RESPONSES_SUFFIX, f"{RESPONSES_SUFFIX}.users")) for name in names):
            return True
        return any(_list_responses(value) for record in sample.records for value in record.values())

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        content_fields = fields.get("fields")
        if not isinstance(content_fields, dict):
            yield from _parse_flat_record(line, fields, self.name_fields)
            return
        body = build_body(content_fields)
        record_id = fields.get("id") or fields.get("external_id")
        key = get_item_key(record_id, body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        metadata = fields.get("metadata")
        attributes = build_attributes(metadata) if isinstance(metadata, dict) else {}
        yield ItemRecord(line, key, body or None, attributes or None)
        yield from _parse_responses(line, key, fields.get("responses"))
        yield from _parse_suggestions(line, key, fields.get("suggestions"))


def _parse_responses(line: int, key: str, responses: Any) -> Iterator[Record]:
    if isinstance(responses, dict):  # question -> its responses
        for question, question_responses in responses.items():
            for response in list_objects(question_responses):
                yield _parse_response(
                    line, key, question, value=response.get("value"), response=response
                )
    for response in list_objects(responses):  # Argilla 1: a user's answers
        values = response.get("values")
        for question, value in (values if isinstance(values, dict) else {}).items():
            answer = value.get("value") if isinstance(value, dict) else value
            yield _parse_response(line, key, question, value=answer, response=response)


def _parse_response(line: int, key: str, question: str, *, value: Any, response: Fields) -> Record:
    status = to_text(response.get("status")) or "submitted"
    return _build_rating(
        line, key, question, value, user=to_text(response.get("user_id")), status=status
    )


def _build_rating(
    line: int, key: str, question: str, value: Any, *, user: str, status: str
) -> Record:
    """Return the rating of a response, or why it is skipped."""
    if not user:
        return SkippedRecord(line, "no_rater")
    if status == "discarded":
        return RatingRecord(line, key, user, "", None)
    if status == "draft":
        return SkippedRecord(line, "draft")
    return build_rating(line, key, user, value, question=question)


def _parse_suggestions(line: int, key: str, suggestions: Any) -> Iterator[Record]:
    by_question: list[tuple[str, Any]] = []
    if isinstance(suggestions, dict):
        by_question = list(suggestions.items())
    elif isinstance(suggestions, list):
        by_question = [
            (to_text(suggestion.get("question_name")), suggestion)
            for suggestion in list_objects(suggestions)
        ]
    for question, suggestion in by_question:
        if isinstance(suggestion, dict):
            yield from _parse_suggestion(
                line, key, question, value=suggestion.get("value"), agent=suggestion.get("agent")
            )


def _parse_suggestion(
    line: int, key: str, question: str, *, value: Any, agent: Any
) -> Iterator[Record]:
    model = to_text(agent) or "suggestion"
    label, reason = parse_single_answer(value)
    if label is None:
        if reason != "no_label":
            yield SkippedRecord(line, reason)
        return
    yield build_model_rater(line, model)
    yield RatingRecord(line, key, model, build_question_key(question), label)


def _find_name_fields(path: Path, mapping: ImportMapping) -> set[str]:
    """Return the fields that seem to be metadata, such as a model: all values are single words.

    These are never shown to raters, because they could unblind them. Empty if no field has several
    words.
    """
    is_single_word: dict[str, bool] = {}
    try:
        for _line, fields in itertools.islice(open_records(path, mapping), SAMPLE_RECORDS):
            for name, value in fields.items():
                if isinstance(value, str):
                    is_single_word[name] = is_single_word.get(name, True) and len(value.split()) < 2
    except UnreadableFileError:
        pass  # the reader reports it when it gets there
    return (
        {name for name, single in is_single_word.items() if single}
        if not all(is_single_word.values())
        else set()
    )


def _parse_flat_record(line: int, fields: Fields, name_fields: Collection[str]) -> Iterator[Record]:
    """Yield the records of a flattened record.

    Fields and metadata cannot be distinguished: texts are content, names and other single values
    are attributes.
    """
    questions = [
        name.removesuffix(RESPONSES_SUFFIX) for name in fields if name.endswith(RESPONSES_SUFFIX)
    ]
    # Data sets of Argilla 1 have the responses to a question in a field of its name.
    listed_questions = [name for name, value in fields.items() if _list_responses(value)]
    suggested_questions = [
        name.removesuffix(SUGGESTION_SUFFIX) for name in fields if name.endswith(SUGGESTION_SUFFIX)
    ]
    answer_prefixes = tuple(
        f"{name}{mark}"
        for name in {*questions, *suggested_questions, *listed_questions}
        for mark in ".-"
    )
    other_fields = {
        name: value
        for name, value in fields.items()
        if name not in {*RECORD_FIELDS, *listed_questions}
        and not (answer_prefixes and name.startswith(answer_prefixes))
    }
    texts = {
        name: value
        for name, value in other_fields.items()
        if isinstance(value, str) and name not in name_fields
    }
    body = build_body(texts)
    key = get_item_key(fields.get("id"), body)
    if not key:
        yield SkippedRecord(line, "no_content")
        return
    attribute_fields = {name: value for name, value in other_fields.items() if name not in texts}
    yield ItemRecord(line, key, body or None, build_attributes(attribute_fields) or None)
    yield from _parse_flat_responses(line, key, fields, questions)
    for question in listed_questions:
        for response in _list_responses(fields[question]):
            yield _parse_response(line, key, question, value=response["value"], response=response)
        yield from _parse_suggestion(
            line,
            key,
            question,
            value=fields.get(f"{question}-suggestion"),
            agent=_get_agent(fields.get(f"{question}-suggestion-metadata")),
        )
    for question in suggested_questions:
        name = f"{question}{SUGGESTION_SUFFIX}"
        yield from _parse_suggestion(
            line, key, question, value=fields[name], agent=fields.get(f"{name}.agent")
        )


def _parse_flat_responses(
    line: int, key: str, fields: Fields, questions: Collection[str]
) -> Iterator[Record]:
    """Yield the ratings of the questions whose responses, users and states are lists in fields."""
    for question in questions:
        values = parse_list(fields.get(f"{question}{RESPONSES_SUFFIX}"))
        users = parse_list(fields.get(f"{question}{RESPONSES_SUFFIX}.users"))
        states = parse_list(fields.get(f"{question}{RESPONSES_SUFFIX}.status"))
        states += ["submitted"] * (len(values) - len(states))
        for value, user, state in zip(values, users, states, strict=False):
            yield _build_rating(
                line, key, question, value, user=to_text(user), status=to_text(state)
            )
        for _value in values[len(users) :]:
            yield SkippedRecord(line, "no_rater")


def _list_responses(value: Any) -> list[Fields]:
    """Return the responses of users in the field of a question; [] if it has anything else."""
    responses = list_objects(value)
    return responses if all({"user_id", "value"} <= set(entry) for entry in responses) else []


def _get_agent(metadata: Any) -> Any:
    return metadata.get("agent") if isinstance(metadata, dict) else None
