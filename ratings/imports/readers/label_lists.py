"""Data sets that list raters and labels of an item side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.name_tests import is_criterion_name, is_descriptive_name
from ratings.imports.readers.tools.base import (
    Fields,
    ToolSource,
    build_body,
    build_rating,
    get_item_key,
    parse_list,
    to_text,
)
from ratings.imports.records import ItemRecord, Record, SkippedRecord

RATER_FIELDS = ("annotators", "annotator_ids", "annotator_id", "workers", "worker_ids", "raters",
                "rater_ids", "user_ids")  # fmt: skip
LABEL_FIELDS = (
    "labels", "annotations", "annotator_labels", "ratings", "answers", "label", "scores", "votes",
    "judgments",
)  # fmt: skip
PERSON_FIELDS = (
    "annotator_id", "annotator", "rater", "rater_id", "worker_id", "worker", "user", "user_id",
    "coder", "reviewer", "username", "email", "id",
)  # fmt: skip
ANSWER_FIELDS = (
    "label", "rating", "annotation", "answer", "value", "choice", "response", "score", "vote",
)  # fmt: skip
KEY_FIELDS = (
    "id", "item_id", "post_id", "comment_id", "doc_id", "example_id", "idx", "uid", "pairID",
)  # fmt: skip
ANONYMOUS_FIELD = "annotator_labels"  # of SNLI and MultiNLI: labels of raters without names
# Fields that have the labels of several raters even if all are 0 or 1; others may be classes.
VOTE_FIELDS = (ANONYMOUS_FIELD, "ratings", "votes", "judgments")
# Fields about the annotation as a whole.
OTHER_FIELDS = {
    "hard_label", "soft_label", "number of annotations", "number_of_annotations", "split",
    "annotation task", "annotation_task", "lang", "other_info",
}  # fmt: skip


class LewidiSource(ToolSource):
    """Source of data sets of Learning with Disagreements."""

    name = "LeWiDi"
    extensions = (".json",)
    columns = {"item": "id", "rater": "annotators", "label": "annotations"}

    def can_read(self, sample: FileSample) -> bool:
        entries = [entry for record in sample.records for entry in record.values()]
        return bool(entries) and all(
            isinstance(entry, dict) and {"annotators", "annotations"} <= entry.keys()
            for entry in entries
        )

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        for key, entry in fields.items():
            if not isinstance(entry, dict):
                yield SkippedRecord(line, "ignored")
                continue
            content = {
                name: value
                for name, value in entry.items()
                if name not in OTHER_FIELDS and name not in ("annotators", "annotations")
            }
            text = content.pop("text", None)
            body = build_body(content) | (text if isinstance(text, dict) else {"text": text})
            yield ItemRecord(line, key, {name: value for name, value in body.items() if value})
            yield from _parse_parallel_lists(
                line, key, entry["annotators"], {"": entry["annotations"]}
            )


class LabelListsSource(ToolSource):
    """Source of records with a list of raters and parallel lists of their labels.

    Raters of lists of labels alone are numbered by their places.
    """

    name = _("lists of raters and labels (Hugging Face)")
    extensions = (".jsonl", ".json", ".csv")
    columns = {"rater": "annotators", "label": "labels"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "text":
            head = sample.head.decode("utf-8", "ignore").splitlines()[1:2]
            has_lists = bool(head) and head[0].count("[") >= 2
            return has_lists and _find_rater_field(dict.fromkeys(sample.names, "[]")) != ""
        records = [
            entry for record in sample.records for entry in _get_entries_by_key(record).values()
        ]
        return bool(records) and (all(map(_has_lists, records)) or _have_anonymous_lists(records))

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        for key, entry in _get_entries_by_key(fields).items():
            yield from self._parse_entry(line, {"id": key, **entry} if key else entry)

    def _parse_entry(self, line: int, fields: Fields) -> Iterator[Record]:
        rater_field = _find_rater_field(fields)
        people = _parse_list(fields.get(rater_field))
        if not rater_field:  # labels alone: the raters are known by their places
            n_labels = max((len(_parse_list(fields[name])) for name in _list_label_fields(fields)),
                           default=0)  # fmt: skip
            people = [f"rater {number}" for number in range(1, n_labels + 1)]
        for name, value in list(fields.items()):
            if is_descriptive_name(name) and len(_parse_list(value)) == len(people) > 0:
                fields = {other: fields[other] for other in fields if other != name}
                yield SkippedRecord(line, "about_raters", name)
        answers, content = self._split_fields(fields, rater_field, people)
        body = build_body(content)
        tool_key = next((fields[name] for name in KEY_FIELDS if fields.get(name) is not None), None)
        key = get_item_key(tool_key, body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        yield ItemRecord(line, key, body or None)
        yield from _parse_parallel_lists(line, key, people, answers)

    def _split_fields(
        self, fields: Fields, rater_field: str, people: Sequence[Any]
    ) -> tuple[Fields, Fields]:
        """Return the lists of labels by question, and the other fields, which are content."""
        if isinstance(fields.get(rater_field), dict):
            return _get_labels_by_column(fields[rater_field]), {
                name: value
                for name, value in fields.items()
                if name != rater_field and name not in KEY_FIELDS
            }
        answers: Fields = {}
        content: Fields = {}
        for name, value in fields.items():
            if name == rater_field or name in KEY_FIELDS:
                continue
            values = _parse_list(value)
            if values and len(values) == len(people) and not isinstance(values[0], dict):
                answers[name] = values
            else:
                content[name] = value
        if len(answers) == 1 or any(name in LABEL_FIELDS for name in answers):
            named = {name: value for name, value in answers.items() if name in LABEL_FIELDS}
            if len(answers) == 1 or len(named) == 1:
                labels = named or answers
                content |= {name: answers[name] for name in answers if name not in labels}
                answers = {"": next(iter(labels.values()))}
        return answers, content


def _get_entries_by_key(record: Fields) -> dict[str, Fields]:
    """Return key -> entry if the record is an object of entries, else {"": record}.

    Each entry of such an object has a field of raters.
    """
    entries = list(record.values())
    if entries and all(isinstance(entry, dict) and _find_rater_field(entry) for entry in entries):
        return record
    return {"": record}


def _has_lists(record: Fields) -> bool:
    field = _find_rater_field(record)
    if not field:
        return len(_parse_list(record.get(ANONYMOUS_FIELD))) > 0
    value = record[field]
    people = _parse_list(value)
    if isinstance(value, dict):
        return bool(_get_labels_by_column(value))
    return not (people and isinstance(people[0], dict)) and any(
        len(_parse_list(answers)) == len(people) > 0
        for name, answers in record.items()
        if name != field
    )


def _list_label_fields(record: Fields) -> list[str]:
    """Return the fields with labels of anonymous raters: a known one, else all criteria."""
    criteria = [
        name for name, value in record.items() if is_criterion_name(name) and _parse_list(value)
    ]
    named = [name for name in (ANONYMOUS_FIELD, *LABEL_FIELDS) if name in record]
    return named[:1] or criteria


def _have_anonymous_lists(records: Sequence[Fields]) -> bool:
    """Return whether the records have lists with one label of each anonymous rater.

    The lists of several criteria must have the same length.
    """
    names = _list_label_fields(records[0])
    lists = [[_parse_list(record.get(name)) for name in names] for record in records]
    if len(names) > 1:
        return all(len({len(labels) for labels in parts}) == 1 and parts[0] for parts in lists)
    return bool(names) and _are_labels_of_raters(names[0], [labels for (labels,) in lists])


def _are_labels_of_raters(name: str, lists: Sequence[Sequence[Any]]) -> bool:
    """Return whether each list seems to have one label of each rater, not several of one rater.

    Several raters may give the same label; several labels of one rater differ.
    """
    if not all(len(labels) > 1 for labels in lists):
        return False
    labels = [label for label_list in lists for label in label_list]
    is_plain = all(isinstance(label, str | int) for label in labels)
    has_repeats = is_plain and any(len(set(part)) < len(part) for part in lists if part)
    is_vote = (
        name in VOTE_FIELDS
        or is_criterion_name(name)
        or not set(labels if is_plain else ()) <= {0, 1}
    )
    return has_repeats and is_vote


def _find_rater_field(record: Fields) -> str:
    return next((name for name in RATER_FIELDS if record.get(name)), "")


def _get_labels_by_column(value: Fields) -> Fields:
    """Return {"": labels} of an object like {"label": [0, 2], "annotator_id": [1, 2]}, or {}."""
    labels = _get_first_value(value, ANSWER_FIELDS)
    has_people = _get_first_value(value, PERSON_FIELDS) is not None
    return {"": labels} if has_people and isinstance(labels, list) else {}


def _get_first_value(fields: Fields, names: Sequence[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _parse_list(value: Any) -> list[Any]:
    """Return the list in a JSON value or Python text; of an object, its list of raters; else []."""
    if isinstance(value, dict):
        people = _get_first_value(value, PERSON_FIELDS)
        return people if isinstance(people, list) else []
    return parse_list(value)


def _split_texts(value: Any) -> list[Any]:
    """Return the elements of a list, or of a text separated by commas."""
    if isinstance(value, str) and value[:1] != "[":
        return [part.strip() for part in value.split(",")] if value.strip() else []
    return _parse_list(value)


def _parse_parallel_lists(line: int, key: str, raters: Any, answers: Fields) -> Iterator[Record]:
    """Yield the ratings from a list of raters and lists of their labels in the same order.

    ``answers`` maps each question to its labels, or to an object of rater -> label.
    """
    names = _split_texts(raters)
    for question, value in answers.items():
        if isinstance(value, dict):  # rater -> label
            pairs = list(value.items())
        else:
            labels = _split_texts(value)
            if len(labels) != len(names):
                yield SkippedRecord(line, "lists_differ")
                continue
            pairs = list(zip(names, labels, strict=True))
        for name, answer in pairs:
            yield build_rating(line, key, to_text(name), answer, question=question)
