"""Validate the keys and labels of a file and resolve them to their ids in the staging database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from core.text import classify_key_problem
from projects.models import Category, Question
from projects.services import question_validation
from ratings.imports.problems import ProblemList

from .database import StagedKeys


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
        """Return the staged id of a key, or None after adding a problem."""
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
    """The labels of one question: staged ids and numbers of ratings.

    An existing question has a fixed list of labels. A new question gets the labels of the file.
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
        self.max_length = Category._meta.get_field("label").max_length or 0
        if question is not None:
            self.add_labels([category.label for category in question.active_categories()])
        self.allowed = ", ".join(self.ids)

    @property
    def is_new(self) -> bool:
        """True for a new question, whose labels come from the file."""
        return self.question is None

    def add_labels(self, labels: Sequence[str]) -> None:
        """Add labels of the question that no rating has yet."""
        for label in labels:
            if label not in self.ids:
                self.ids[label] = self.next_label_id()
                self.counts[label] = 0

    def resolve(self, label: str, line: int, column: str, problems: ProblemList) -> int | None:
        """Count a label and return its staged id, or None after adding a problem."""
        label_id = self.ids.get(label)
        if label_id is None and not self._add_new_label(label, line, column, problems):
            return None
        self.counts[label] += 1
        return self.ids[label]

    def _add_new_label(self, label: str, line: int, column: str, problems: ProblemList) -> bool:
        """Add a label that is not known yet; return False after adding a problem."""
        problem_kind = find_text_problem(label, self.max_length)
        if not problem_kind and not self.is_new:
            problem_kind = "label_unknown"
        if not problem_kind and len(self.ids) >= question_validation.MAX_CATEGORIES:
            problem_kind = "labels_many"
        if not problem_kind:
            self.add_labels([label])
            return True
        too_many = problem_kind == "labels_many"
        problems.add(
            problem_kind,
            line,
            column,
            value=label[:40],
            found=len(label),
            limit=question_validation.MAX_CATEGORIES if too_many else self.max_length,
            allowed=self.allowed,
        )
        return False


def find_text_problem(text: str, max_length: int) -> str:
    """Return the kind of problem that a key or label has, or an empty text."""
    key_problem = classify_key_problem(text, max_length=max_length)
    # Removing the formula guard of an export may leave a leading tab, which is a control character.
    kinds = {"empty": "key_empty", "long": "key_long", "blanks": "key_control"}
    if key_problem:
        return kinds.get(key_problem, "key_control")
    return "" if is_unicode(text) else "surrogate"


def is_unicode(text: str) -> bool:
    """Return whether the text has no lone surrogate, which JSON escapes can produce."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
