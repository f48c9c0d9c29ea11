"""Validate keys and labels of a file, and assign ids of the staging database to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from core.text import classify_key_problem
from projects.models import Category, Question
from projects.services import question_validation
from ratings.imports.problems import MAX_LISTED, ProblemList
from ratings.imports.values.label_interpretation import (
    LabelInterpretation,
    LabelOptions,
    interpret_labels,
)

from .database import StagedKeys

MAX_TEXTS = 1000  # different texts collected for a question; more are no labels
MAX_PLACES = MAX_LISTED  # lines remembered for each text


class KeyResolver:
    """Resolves keys of items or raters to staged ids; an invalid key becomes a problem."""

    def __init__(
        self,
        keys: StagedKeys,
        *,
        columns: Mapping[str, str],
        max_length: int,
        problems: ProblemList,
        project_keys: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Create a resolver.

        ``project_keys`` maps keys of the file to the project's keys where these differ.
        """
        self.keys = keys
        self.project_keys = project_keys
        self.columns = columns  # table -> column name in the file, for problem messages
        self.max_length = max_length
        self.problems = problems

    def resolve(self, key: str, line: int, column: str = "") -> int | None:
        """Return the staged id of a key, or None after adding a problem.

        ``column`` is the name that the problem shows, by default that of the items' or raters'
        column.
        """
        key = self.project_keys.get(key, key)
        known_id = self.keys.cached_ids.get(key)
        if known_id is not None:
            return known_id
        if problem_kind := find_text_problem(key, self.max_length):
            self.problems.add(
                problem_kind,
                line,
                column or self.columns.get(self.keys.table, ""),
                value=key[:40],
                found=len(key),
                limit=self.max_length,
            )
            return None
        return self.keys.get_or_create_id(key, line)


class QuestionLabels:
    """The texts in the label columns of one question, with staged ids and numbers of ratings.

    Only when the whole file has been read does `interpret_texts` decide which texts are the same
    label, and which stand for a missing value. An existing question has a fixed list of labels; a
    new question gets the labels of the file.
    """

    def __init__(
        self,
        key: str,
        question: Question | None,
        *,
        staged_id: int,
        next_label_id: Callable[[], int],
    ) -> None:
        self.key = key
        self.question = question
        self.staged_id = staged_id  # id in the staging database
        self.next_label_id = next_label_id
        self.text = question.text if question else ""
        self.is_free_text = False  # True once there are too many different answers
        self.ids: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self.places: dict[str, list[tuple[int, str]]] = {}  # text -> first lines and columns
        self.max_length = Category._meta.get_field("label").max_length or 0
        if question is not None:
            self.add_labels([category.label for category in question.active_categories()])
        self.existing = list(self.ids)
        self.interpretation = LabelInterpretation()

    @property
    def is_new(self) -> bool:
        """Return whether the question is new, so that its labels come from the file."""
        return self.question is None

    @property
    def is_full(self) -> bool:
        """Return whether the file has too many different texts: no further one is collected."""
        return len(self.ids) - len(self.existing) >= MAX_TEXTS

    def add_labels(self, labels: Sequence[str]) -> None:
        """Add labels that are not yet known, with 0 ratings."""
        for label in labels:
            if label not in self.ids:
                self.ids[label] = self.next_label_id()
                self.counts[label] = 0

    def count_and_get_id(
        self, label: str, line: int, column: str, problems: ProblemList
    ) -> int | None:
        """Count a rating with this text and return the text's staged id, or None.

        None after adding a problem with the text and, without a problem, for a new text once the
        question is full: it then has too many labels anyway.
        """
        label_id = self.ids.get(label)
        if label_id is None:
            if problem_kind := find_text_problem(label, self.max_length):
                problems.add(
                    problem_kind,
                    line,
                    column,
                    value=label[:40],
                    found=len(label),
                    limit=self.max_length,
                )
                return None
            if self.is_full:
                return None
            self.add_labels([label])
        self.counts[label] += 1
        places = self.places.setdefault(label, [])
        if len(places) < MAX_PLACES:
            places.append((line, column))
        return self.ids[label]

    def interpret_texts(self, options: LabelOptions, problems: ProblemList) -> None:
        """Decide which text is which label, and add problems for labels that cannot be stored."""
        counts = {
            text: count for text, count in self.counts.items() if text not in self.existing or count
        }
        self.interpretation = interpret_labels(counts, options, existing=self.existing)
        labels = self.count_labels()
        if self.is_new and len(labels) > question_validation.MAX_CATEGORIES:
            text = list(self.ids)[question_validation.MAX_CATEGORIES]
            line, column = self.places.get(text, [(None, "")])[0]
            n_labels = f"{MAX_TEXTS}+" if self.is_full else len(labels)
            limit = question_validation.MAX_CATEGORIES
            problems.add("labels_many", line, column, found=n_labels, limit=limit)
        elif not self.is_new:
            self._add_unknown_labels(problems)

    def _add_unknown_labels(self, problems: ProblemList) -> None:
        allowed = ", ".join(self.existing)
        for text, label in self.interpretation.labels.items():
            if label is not None and label not in self.existing:
                places = self.places.get(text, [])
                for line, column in places:
                    problems.add("label_unknown", line, column, value=text[:40], allowed=allowed)
                problems.counts_by_kind["label_unknown"] += max(self.counts[text] - len(places), 0)

    def count_labels(self) -> dict[str, int]:
        """Return label -> number of ratings, after `interpret_texts`."""
        counts = dict.fromkeys(self.existing, 0)
        for text, label in self.interpretation.labels.items():
            if label is not None:
                counts[label] = counts.get(label, 0) + self.counts[text]
        return counts

    def list_missing_codes(self) -> list[str]:
        """Return the texts that stand for a missing value, after `interpret_texts`."""
        return [text for text, label in self.interpretation.labels.items() if label is None]

    def get_label_ids(self) -> dict[str, int]:
        """Return label -> staged id of its first text, after `interpret_texts`."""
        ids = {label: self.ids[label] for label in self.existing}
        for text, label in self.interpretation.labels.items():
            if label is not None:
                ids.setdefault(label, self.ids[text])
        return ids


def find_text_problem(text: str, max_length: int) -> str:
    """Return the kind of problem that a key or label has; "" if it can be stored.

    ``max_length`` is in characters.
    """
    key_problem = classify_key_problem(text, max_length=max_length)
    # Removing the formula guard of an export may leave a leading tab, which is a control character.
    kinds = {"empty": "key_empty", "long": "key_long", "blanks": "key_control"}
    if key_problem:
        return kinds.get(key_problem, "key_control")
    return "" if is_unicode(text) else "surrogate"


def is_unicode(text: str) -> bool:
    """Return whether the text has no lone surrogate, which JSON escapes can produce."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
