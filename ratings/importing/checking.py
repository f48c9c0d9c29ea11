"""The whole file is read once and everything wrong with it is named by line; what is right is
staged for the writing.

Nothing is written to the database here but the run's own row.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from groundwork.text import key_trouble
from projects.models import Category, Item, Project, Question, Rater
from projects.setup.question_rules import MOST_CATEGORIES
from ratings.files.formulas import unguard
from ratings.recording.days import WrongTime, parse_rated_at

from .files import absolute
from .guessing import checked_names
from .mapping import Mapping
from .problems import Found, Unreadable, shown
from .reading import Reader
from .staging import Beat, Keys, Staged, Staging

BATCH = 5000  # rows between two looks at the clock
MAX_REPEATS = 1000  # lines that one rater may have for one item
MAX_COMMENT = 10_000  # characters, as in the API
PREVIEW = 20
EXAMPLES = 20
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)

Row = tuple[int, int, int, int, int | None, str | None]


@dataclass
class Report:
    """What the check found; ``labels`` counts the rows of each label."""

    found: Found
    rows: int = 0
    items: int = 0
    raters: int = 0
    new_items: int = 0
    new_raters: int = 0
    repeats: int = 0
    of_other_questions: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    preview: list[list[Any]] = field(default_factory=list)
    repeat_examples: list[list[Any]] = field(default_factory=list)


def clean(cell: str) -> str:
    """A key or label as meant: without blanks around it and without the guard of an export."""
    return unguard(cell.strip())


class KeyColumn:
    """Keys of items or raters to their staged numbers; what is no key is a problem and None."""

    def __init__(self, keys: Keys, *, column: str, longest: int, found: Found) -> None:
        self.keys = keys
        self.column = column
        self.longest = longest
        self.found = found

    def number(self, cell: str, line: int) -> int | None:
        key = clean(cell)
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
        labels = [category.label for category in question.active_categories()] if question else []
        self.numbers = {label: number for number, label in enumerate(labels)}
        self.counts = [0] * len(labels)
        self.allowed = ", ".join(labels)
        self.longest = Category._meta.get_field("label").max_length or 0

    def number(self, cell: str, line: int, column: str) -> int | None:
        label = clean(cell)
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


class Check:
    """One pass over a file. ``run`` yields the good rows; the problems collect in ``found``."""

    def __init__(self, mapping: Mapping, question: Question | None, staging: Staging) -> None:
        self.mapping = mapping
        self.question_key = question.key if question else mapping.question_key
        self.found = Found()
        self.staging = staging
        self.labels = LabelColumn(question, found=self.found)
        self.now = timezone.now()
        self.names: list[str] = []
        self.header_line = 1
        self.of_other_questions = 0
        self.other_questions: dict[str, None] = {}

    def rows(self, reader: Reader) -> Iterator[Row]:
        try:
            records = iter(reader)
            self.header_line, cells = next(records, (1, []))
            if not cells:
                raise Unreadable("empty")
            self.names = checked_names(cells, self.header_line)
            self.items = self._keys(self.staging.items, self.mapping.columns["item"], Item)
            yield from self._long(records) if self.mapping.layout == "long" else self._wide(records)
        except Unreadable as error:
            self.found.add_fatal(error)

    def _keys(self, keys: Keys, place: int, model: type[Item] | type[Rater]) -> KeyColumn:
        longest = model._meta.get_field("key").max_length or 0
        return KeyColumn(keys, column=self.names[place], longest=longest, found=self.found)

    def _complete(
        self, records: Iterator[tuple[int, list[str]]]
    ) -> Iterator[tuple[int, list[str]]]:
        wanted = len(self.names)
        for line, cells in records:
            if len(cells) == wanted:
                yield line, cells
            else:
                self.found.add("cells", line, found=len(cells), wanted=wanted)

    def _long(self, records: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
        columns = self.mapping.columns
        item_at, rater_at, label_at = columns["item"], columns["rater"], columns["label"]
        time_at, comment_at = columns.get("rated_at"), columns.get("comment")
        raters = self._keys(self.staging.raters, rater_at, Rater)
        for line, cells in self._of_the_question(self._complete(records)):
            item = self.items.number(cells[item_at], line)
            rater = raters.number(cells[rater_at], line)
            label = self.labels.number(cells[label_at], line, self.names[label_at])
            rated_at = (
                None if time_at is None else self._moment(cells[time_at], line, self.names[time_at])
            )
            comment = (
                None
                if comment_at is None
                else self._comment(cells[comment_at], line, self.names[comment_at])
            )
            if item is not None and rater is not None and label is not None:
                yield item, rater, line, label, rated_at, comment

    def _of_the_question(
        self, records: Iterator[tuple[int, list[str]]]
    ) -> Iterator[tuple[int, list[str]]]:
        place = self.mapping.columns.get("question")
        if place is None:
            yield from records
            return
        for line, cells in records:
            key = clean(cells[place])
            if key == self.question_key:
                yield line, cells
            else:
                self.of_other_questions += 1
                if len(self.other_questions) < EXAMPLES:
                    self.other_questions[shown(key)] = None

    def _wide(self, records: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
        item_at = self.mapping.columns["item"]
        left_out = {item_at, *self.mapping.leave_out}
        places = [place for place in range(len(self.names)) if place not in left_out]
        columns = [(place, self._keys(self.staging.raters, place, Rater)) for place in places]
        numbered = [
            (place, keys.number(self.names[place], self.header_line)) for place, keys in columns
        ]
        for line, cells in self._complete(records):
            rated = [(place, rater) for place, rater in numbered if cells[place].strip()]
            item = self.items.number(cells[item_at], line) if rated else None
            for place, rater in rated:
                label = self.labels.number(cells[place], line, self.names[place])
                if item is not None and rater is not None and label is not None:
                    yield item, rater, line, label, None, None

    def _moment(self, cell: str, line: int, column: str) -> int | None:
        """Microseconds since 1970; None where the cell is empty or a problem."""
        text = clean(cell)
        if not text:
            return None
        try:
            return (parse_rated_at(text, now=self.now) - EPOCH) // MICROSECOND
        except WrongTime as error:
            self.found.add("time", line, column, why=error.why, time=error.time)
            return None

    def _comment(self, cell: str, line: int, column: str) -> str:
        comment = unguard(cell)
        if len(comment) > MAX_COMMENT:
            self.found.add(
                "key_long", line, column, value=comment[:40], found=len(comment), limit=MAX_COMMENT
            )
        return comment

    def look_at_the_whole(self, rows: int) -> None:
        """What can be said only after the last line."""
        label_at = self.mapping.columns.get("label")
        if label_at is not None and self.names and self.mapping.layout == "long":
            name = clean(self.names[label_at])
            if name in self.labels.numbers:
                self.found.add("no_names", self.header_line, name=name)
        if not self.found and not rows and self.of_other_questions:
            others = ", ".join(self.other_questions)
            self.found.add("question_absent", None, question=self.question_key, found=others)
        elif not self.found and not rows:
            self.found.add("only_names", self.header_line)


def check(
    reader: Reader,
    mapping: Mapping,
    *,
    project: Project | None,
    question: Question | None,
    staging: Staging,
    beat: Beat,
) -> Report:
    """Read, judge and stage the whole file."""
    checking = Check(mapping, question, staging)
    report = Report(checking.found)
    batch: list[Row] = []
    for row in checking.rows(reader):
        batch.append(row)
        if len(batch) == BATCH:
            report.rows += _stage(staging, batch, checking.found)
            beat()
    report.rows += _stage(staging, batch, checking.found)
    checking.look_at_the_whole(report.rows)
    labels = checking.labels
    report.of_other_questions = checking.of_other_questions
    report.labels = {
        label: labels.counts[number]
        for label, number in labels.numbers.items()
        if labels.counts[number]
    }
    if not checking.found:
        staging.finish([(number, label) for label, number in labels.numbers.items()])
        _describe(report, Staged(staging.db), project=project, make_new=mapping.make_new)
    return report


def _stage(staging: Staging, batch: list[Row], found: Found) -> int:
    """Put a batch aside; once there is a problem, nothing will be written and nothing needs
    staging."""
    count = len(batch)
    if not found:
        staging.add(batch)
    batch.clear()
    return count


def _describe(report: Report, staged: Staged, *, project: Project | None, make_new: bool) -> None:
    for said in staged.beyond(MAX_REPEATS, limit=EXAMPLES):
        report.found.add(
            "repeats_many", said.line, item=said.item, rater=said.rater, limit=MAX_REPEATS
        )
    report.items, report.new_items = _count_keys(
        report.found, staged, project, Item, make_new=make_new
    )
    report.raters, report.new_raters = _count_keys(
        report.found, staged, project, Rater, make_new=make_new
    )
    report.repeats = staged.count_repeats()
    report.preview = [
        [
            said.line,
            said.item,
            said.rater,
            said.label,
            moment_text(said.rated_at),
            shown(said.comment or ""),
        ]
        for said in staged.first(PREVIEW)
    ]
    report.repeat_examples = [
        [one.item, one.rater, one.line, one.label, other.line, other.label]
        for one, other in staged.repeats(EXAMPLES)
    ]


def _count_keys(
    found: Found,
    staged: Staged,
    project: Project | None,
    model: type[Item] | type[Rater],
    *,
    make_new: bool,
) -> tuple[int, int]:
    """(keys in the file, those that the project does not know); each unknown one is a problem
    unless it may be made."""
    name = model.__name__.lower()
    total = new = 0
    for batch in staged.keys(name):
        keys = [key for key, _ in batch]
        known = (
            set(
                model._default_manager.filter(project=project, key__in=keys).values_list(
                    "key", flat=True
                )
            )
            if project
            else set()
        )
        total += len(keys)
        for key, line in batch:
            if key not in known:
                new += 1
                if not make_new:
                    found.add(f"{name}_unknown", line, value=key)
    return total, new


def moment_of(microseconds: int | None) -> datetime.datetime | None:
    return None if microseconds is None else EPOCH + microseconds * MICROSECOND


def moment_text(microseconds: int | None) -> str:
    moment = moment_of(microseconds)
    return "" if moment is None else moment.isoformat().replace("+00:00", "Z")


def reader_of(path: str, mapping: Mapping) -> Reader:
    return Reader(absolute(path), encoding=mapping.encoding, delimiter=mapping.delimiter)
