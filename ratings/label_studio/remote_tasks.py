"""Convert tasks of Label Studio to records of an import, by the reader of its exports.

It uses neither the database nor the network. A pull converts each annotation by itself, so that it
knows which of them have changed; the records are the same as those of an import of the tasks.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from projects.services.question_validation import MAX_CATEGORIES
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.readers.tools.base import Fields
from ratings.imports.readers.tools.label_studio import LabelStudioSource
from ratings.imports.records import GoldRecord, ItemRecord, RaterRecord, RatingRecord, Record
from ratings.models import LabelStudioObject

Kind = LabelStudioObject.Kind

SOURCE_NAME = "label_studio"
# Name of the model under which final labels are written as predictions, and the beginning of the
# IDs of all parts of what Concord writes.
WRITTEN_VERSION = "Concord"
WRITTEN_PREFIX = "concord-"

_SOURCE = LabelStudioSource()
_RATING_TAG = re.compile(r"<Rating\b[^<>]*>")


@dataclass(frozen=True)
class RemoteAnswers:
    """The answers of an annotation or prediction, as records of an import.

    ``rater`` is the key of its rater, "" if it has no answers; ``user`` the annotator's ID in Label
    Studio, None for a prediction. ``questions`` are the project's keys. The digest changes with the
    answers.
    """

    kind: str
    id: int
    rater: str
    user: int | None
    records: tuple[Record, ...]
    questions: tuple[str, ...]
    digest: str


@dataclass(frozen=True)
class RemoteTask:
    """A task as records of an import: content and gold answers of its item, and all answers.

    ``item`` is the item's key. The digest changes with the content and the gold answers.
    """

    id: int
    item: str
    records: tuple[Record, ...]
    digest: str
    answers: tuple[RemoteAnswers, ...]


def build_key_prefix(remote_project: int) -> str:
    """Return the part of an item's key before the ID of the task."""
    return f"ls:{remote_project}:"


def get_declared_labels(form: str, controls: Mapping[str, Fields]) -> dict[str, list[str]]:
    """Return question key -> labels that a form offers, even if nobody has given them yet.

    ``form`` is the form's XML, ``controls`` its description. Controls whose answers are no labels
    are left out.
    """
    declared = {}
    max_ratings = _find_max_ratings(form)
    for name, control in controls.items():
        labels = control.get("labels")
        if control.get("type") == "Rating":
            labels = [str(number) for number in range(1, max_ratings.get(name, 5) + 1)]
        elif control.get("type") != "Choices" or not isinstance(labels, list):
            continue
        if 2 <= len(labels) <= MAX_CATEGORIES:
            declared[build_question_key(name)] = [str(label) for label in labels]
    return declared


def _find_max_ratings(form: str) -> dict[str, int]:
    """Return {name: greatest rating} of the controls of type Rating that declare it."""
    max_ratings: dict[str, int] = {}
    for tag in _RATING_TAG.findall(form):
        name = re.search(r'(?<![\w-])name="([^"]*)"', tag)
        most = re.search(r'(?<![\w-])maxRating="([0-9]{1,2})"', tag)
        if name and most:
            max_ratings.setdefault(html.unescape(name[1]), int(most[1]))
    return max_ratings


def resolve_question(
    key: str, mapping: ImportMapping, project_keys: Collection[str], single_key: str | None
) -> str | None:
    """Return the project's key of a question of Label Studio, or None if it has no such question.

    ``project_keys`` are the keys of the project's questions. ``single_key``: key of the one
    question to which all answers belong; None if there are several.
    """
    if single_key is not None:
        return single_key if key in ("", single_key) else None
    key = key or "label"
    key = mapping.questions.get(key, key)
    return key if key in project_keys else None


def expand_raters(task: Fields, raters: Mapping[int, Fields]) -> Fields:
    """Return the task with its annotators' details in place of their IDs, as in some exports.

    ``raters``: ID of a user -> details.
    """
    annotations = [
        {**annotation, "completed_by": raters.get(get_user(annotation), annotation["completed_by"])}
        if get_user(annotation)
        else annotation
        for annotation in task["annotations"]
    ]
    return {**task, "annotations": annotations}


def get_user(annotation: Fields) -> int:
    """Return the ID of an annotation's annotator, or 0 if there is none."""
    user = annotation.get("completed_by")
    user = user.get("id") if isinstance(user, dict) else user
    return user if isinstance(user, int) and not isinstance(user, bool) and user > 0 else 0


def is_written_prediction(prediction: Fields) -> bool:
    """Return whether Concord wrote a prediction."""
    return prediction.get("model_version") == WRITTEN_VERSION


def is_written_annotation(annotation: Fields) -> bool:
    """Return whether Concord wrote an annotation.

    An annotation that a person derived from a written annotation or prediction has a parent, and is
    the person's.
    """
    result = annotation.get("result")
    return (
        isinstance(result, list)
        and bool(result)
        and not (annotation.get("parent_prediction") or annotation.get("parent_annotation"))
        and all(
            isinstance(part, dict) and str(part.get("id")).startswith(WRITTEN_PREFIX)
            for part in result
        )
    )


def remove_written(task: Fields) -> Fields:
    """Return the task without the annotations and predictions that Concord wrote."""
    return {
        **task,
        "annotations": [row for row in task["annotations"] if not is_written_annotation(row)],
        "predictions": [row for row in task["predictions"] if not is_written_prediction(row)],
    }


def parse_task(
    task: Fields, mapping: ImportMapping, resolve_question: Callable[[str], str | None]
) -> RemoteTask:
    """Return the task as records; its annotators must be expanded (``expand_raters``).

    ``resolve_question`` maps the key of a question of Label Studio to the project's key. If it
    returns None, the answers to the question are left out.
    """
    line = task["id"]
    content = {name: task.get(name) for name in ("id", "data", "meta")}
    item_records = [
        record
        for record in _SOURCE.parse_record(line, content, mapping)
        if isinstance(record, ItemRecord)
    ]
    item = item_records[0].key
    answers: list[RemoteAnswers] = []
    gold_records: list[Record] = []
    for kind, name in ((Kind.ANNOTATION, "annotations"), (Kind.PREDICTION, "predictions")):
        for row in task[name]:
            parsed = _SOURCE.parse_record(line, {"id": task["id"], name: [row]}, mapping)
            records = list(_iter_records_with_question(parsed, resolve_question))
            gold_records += [
                record
                for record, question in records
                if isinstance(record, GoldRecord) and question is not None
            ]
            answers.append(_build_answers(kind, row, records))
    task_records: list[Record] = [*item_records, *gold_records]
    return RemoteTask(
        task["id"], item, tuple(task_records), _compute_digest(item, task_records), tuple(answers)
    )


def _iter_records_with_question(
    records: Iterable[Record], resolve_question: Callable[[str], str | None]
) -> Iterator[tuple[Record, str | None]]:
    """Yield (record, key of the project's question that it answers, or None if it is no answer).

    Answers to questions that the project does not have are left out.
    """
    for record in records:
        question = None
        if isinstance(record, RatingRecord | GoldRecord) and record.label is not None:
            question = resolve_question(record.question)
            if question is None:
                continue
        yield record, question


def _build_answers(
    kind: Kind, row: Fields, parsed: Sequence[tuple[Record, str | None]]
) -> RemoteAnswers:
    """Return the answers of an annotation or prediction.

    ``parsed``: its records, each with the key of the question that it answers (None: it is no
    answer).
    """
    # An empty comment: that of an earlier withdrawal must not stay.
    records = [
        record._replace(comment="") if isinstance(record, RatingRecord) else record
        for record, _question in parsed
        if isinstance(record, RatingRecord | RaterRecord)
    ]
    ratings = [record for record in records if isinstance(record, RatingRecord)]
    questions = dict.fromkeys(
        question
        for record, question in parsed
        if isinstance(record, RatingRecord) and question is not None
    )
    rater = ratings[0].rater if ratings else ""
    user = get_user(row) if kind == Kind.ANNOTATION else None
    digest = _compute_digest(rater, ratings)
    return RemoteAnswers(kind, row["id"], rater, user, tuple(records), tuple(questions), digest)


def _compute_digest(name: str, records: Sequence[Record]) -> str:
    text = repr((name, [tuple(record) for record in records]))
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()


class RecordsReader:
    """Gives records to the validation of imports (see `ratings.imports.readers`)."""

    columns: Mapping[str, str] = _SOURCE.columns
    bytes_read = 0

    def __init__(self, records: list[Record]) -> None:
        self.records = records

    def iter_records(self) -> Iterator[Record]:
        return iter(self.records)

    def find_final_problem(self, _labels: Any, *, is_usable: bool) -> None:
        return None
