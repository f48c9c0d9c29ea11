"""Each cell of a file is judged as it comes: it gets its number in the staging, or is a problem.

A reader (sources/) asks the judge for numbers and yields the rows that are right.
"""

from __future__ import annotations

import datetime

from django.utils import timezone

from groundwork.text import key_trouble
from projects.catalogue import items, raters
from projects.models import Category, Question
from projects.setup.question_rules import MOST_CATEGORIES
from ratings.recording.days import WrongTime, parse_rated_at

from .problems import Found, shown
from .staging import Keys, Staging

MAX_COMMENT = 10_000  # characters, as in the API
OTHER_QUESTIONS_NAMED = 20
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)

# (item number, rater number, line, label number, rated_at in microseconds since 1970, comment)
Row = tuple[int, int, int, int, int | None, str | None]


class KeyColumn:
    """Keys of items or raters to their staged numbers; what is no key is a problem and None."""

    def __init__(self, keys: Keys, *, column: str, longest: int, found: Found) -> None:
        self.keys = keys
        self.column = column
        self.longest = longest
        self.found = found

    def number(self, key: str, line: int) -> int | None:
        known = self.keys.known.get(key)
        if known is not None:
            return known
        if trouble := text_trouble(key, self.longest):
            self.found.add(
                trouble, line, self.column, value=key[:40], found=len(key), limit=self.longest
            )
            return None
        return self.keys.number(key, line)


class LabelColumn:
    """Labels to their numbers, counted. The labels of an existing question are given; a new one
    learns them."""

    def __init__(self, question: Question | None, *, found: Found) -> None:
        self.found = found
        self.learning = question is None
        labels = []
        if question is not None:
            labels = [category.label for category in question.active_categories()]
        self.numbers = {label: number for number, label in enumerate(labels)}
        self.counts = [0] * len(labels)
        self.allowed = ", ".join(labels)
        self.longest = Category._meta.get_field("label").max_length or 0

    def number(self, label: str, line: int, column: str) -> int | None:
        number = self.numbers.get(label)
        if number is None:
            number = self._new(label, line, column)
            if number is None:
                return None
        self.counts[number] += 1
        return number

    def _new(self, label: str, line: int, column: str) -> int | None:
        trouble = text_trouble(label, self.longest)
        if not trouble and not self.learning:
            trouble = "label_unknown"
        if not trouble and len(self.numbers) >= MOST_CATEGORIES:
            trouble = "labels_many"
        if trouble:
            limit = MOST_CATEGORIES if trouble == "labels_many" else self.longest
            self.found.add(
                trouble,
                line,
                column,
                value=label[:40],
                found=len(label),
                limit=limit,
                allowed=self.allowed,
            )
            return None
        self.counts.append(0)
        return self.numbers.setdefault(label, len(self.numbers))


def text_trouble(text: str, longest: int) -> str:
    """The kind of problem that a key or label is, or an empty text."""
    trouble = key_trouble(text, longest=longest)
    # A guard that was taken off may leave a tabulator in front: a control sign, as files see it.
    kinds = {"empty": "key_empty", "long": "key_long", "blanks": "key_control"}
    return kinds.get(trouble, "key_control") if trouble else ""


class Judge:
    """Judges what a file says of one question. Problems collect in ``found``."""

    def __init__(self, staging: Staging, question: Question | None, *, new_key: str) -> None:
        """``question`` is None for a new one, whose key is to be ``new_key``."""
        self.question_key = question.key if question else new_key
        self.found = Found()
        self.staging = staging
        self.labels = LabelColumn(question, found=self.found)
        self.now = timezone.now()
        self.of_other_questions = 0
        self._other_questions: dict[str, None] = {}

    def items(self, column: str) -> KeyColumn:
        """The keys of items; ``column`` names them in problems."""
        longest = items.LONGEST_KEY
        return KeyColumn(self.staging.items, column=column, longest=longest, found=self.found)

    def raters(self, column: str) -> KeyColumn:
        longest = raters.LONGEST_KEY
        return KeyColumn(self.staging.raters, column=column, longest=longest, found=self.found)

    def moment(self, text: str, line: int, column: str) -> int | None:
        """Microseconds since 1970; None where the text is empty or a problem."""
        if not text:
            return None
        try:
            return (parse_rated_at(text, now=self.now) - EPOCH) // MICROSECOND
        except WrongTime as error:
            self.found.add("time", line, column, why=error.why, time=error.time)
            return None

    def comment(self, text: str, line: int, column: str) -> str:
        if len(text) > MAX_COMMENT:
            self.found.add(
                "key_long", line, column, value=text[:40], found=len(text), limit=MAX_COMMENT
            )
        return text

    def is_of_the_question(self, key: str) -> bool:
        """Whether a rating of the question ``key`` is to be read; others are counted."""
        if key == self.question_key:
            return True
        self.of_other_questions += 1
        if len(self._other_questions) < OTHER_QUESTIONS_NAMED:
            self._other_questions[shown(key)] = None
        return False

    def other_questions(self) -> str:
        """The first keys that are not the question's, for a message."""
        return ", ".join(self._other_questions)


def moment_of(microseconds: int | None) -> datetime.datetime | None:
    return None if microseconds is None else EPOCH + microseconds * MICROSECOND


def moment_text(microseconds: int | None) -> str:
    moment = moment_of(microseconds)
    return "" if moment is None else moment.isoformat().replace("+00:00", "Z")
