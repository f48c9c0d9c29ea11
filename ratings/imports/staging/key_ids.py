"""Keys and labels of a file get their numbers in the staging; what is none is a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from core.text import key_trouble
from projects.models import Category, Question
from projects.services import question_validation
from ratings.imports.problems import Found

from .database import Keys


class KeyColumn:
    """Keys of items or raters to their staged numbers; what is no key is a problem and None."""

    def __init__(
        self,
        keys: Keys,
        *,
        columns: Mapping[str, str],
        longest: int,
        found: Found,
        others: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """``others``: the project's keys of those that the file calls differently."""
        self.keys = keys
        self.others = others
        self.columns = columns  # what the file calls them
        self.longest = longest
        self.found = found

    def number(self, key: str, line: int, column: str = "") -> int | None:
        key = self.others.get(key, key)
        known = self.keys.known.get(key)
        if known is not None:
            return known
        if trouble := text_trouble(key, self.longest):
            self.found.add(
                trouble,
                line,
                column or self.columns.get(self.keys.table, ""),
                value=key[:40],
                found=len(key),
                limit=self.longest,
            )
            return None
        return self.keys.number(key, line)


class Answers:
    """The labels of one question to their numbers, counted. Those of an existing question are
    given; a new one learns them."""

    def __init__(
        self, key: str, question: Question | None, *, number: int, next_label: Callable[[], int]
    ) -> None:
        self.key = key
        self.question = question
        self.number = number  # in the staging
        self.next_label = next_label
        self.text = question.text if question else ""
        self.free_text = False  # there are too many different answers
        self.numbers: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self.longest = Category._meta.get_field("label").max_length or 0
        if question is not None:
            self.declare([category.label for category in question.active_categories()])
        self.allowed = ", ".join(self.numbers)

    @property
    def learning(self) -> bool:
        return self.question is None

    def declare(self, labels: Sequence[str]) -> None:
        """Labels that the question has, given or not."""
        for label in labels:
            if label not in self.numbers:
                self.numbers[label] = self.next_label()
                self.counts[label] = 0

    def label(self, label: str, line: int, column: str, found: Found) -> int | None:
        number = self.numbers.get(label)
        if number is None and not self._learn(label, line, column, found):
            return None
        self.counts[label] += 1
        return self.numbers[label]

    def _learn(self, label: str, line: int, column: str, found: Found) -> bool:
        trouble = text_trouble(label, self.longest)
        if not trouble and not self.learning:
            trouble = "label_unknown"
        if not trouble and len(self.numbers) >= question_validation.MOST_CATEGORIES:
            trouble = "labels_many"
        if not trouble:
            self.declare([label])
            return True
        many = trouble == "labels_many"
        found.add(
            trouble,
            line,
            column,
            value=label[:40],
            found=len(label),
            limit=question_validation.MOST_CATEGORIES if many else self.longest,
            allowed=self.allowed,
        )
        return False


def text_trouble(text: str, longest: int) -> str:
    """The kind of problem that a key or label is, or an empty text."""
    trouble = key_trouble(text, longest=longest)
    # A guard that was taken off may leave a tabulator in front: a control sign, as files see it.
    kinds = {"empty": "key_empty", "long": "key_long", "blanks": "key_control"}
    if trouble:
        return kinds.get(trouble, "key_control")
    return "" if is_unicode(text) else "surrogate"


def is_unicode(text: str) -> bool:
    """Whether there is no half of a character in the text, as JSON can write one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
