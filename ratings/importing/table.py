"""The ratings of a table with a line of names: what CSV files are, and sheets of a workbook.

Long: a row a rating. Wide: a row an item, and a column for each rater.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ratings.files.formulas import unguard

from .columns import checked_names
from .judging import Judge, Row
from .mapping import Mapping
from .problems import Unreadable

Record = tuple[int, list[str]]  # line, cells


def clean(cell: str) -> str:
    """A key or label as meant: without blanks around it and without the guard of an export."""
    return unguard(cell.strip())


class Table:
    """Yields the good rows of a table's records."""

    def __init__(self, records: Iterable[Record], mapping: Mapping, judge: Judge) -> None:
        self.records = iter(records)
        self.mapping = mapping
        self.judge = judge
        self.names: list[str] = []
        self.names_line = 1

    def __iter__(self) -> Iterator[Row]:
        count = 0
        try:
            self._read_names()
            for row in self._long() if self.mapping.layout == "long" else self._wide():
                count += 1
                yield row
        except Unreadable as error:
            self.judge.found.add_fatal(error)
        self._look_at_the_whole(count)

    def _read_names(self) -> None:
        self.names_line, cells = next(self.records, (1, []))
        if not cells:
            raise Unreadable("empty")
        self.names = checked_names(cells, self.names_line)

    def _complete(self) -> Iterator[Record]:
        wanted = len(self.names)
        for line, cells in self.records:
            if len(cells) == wanted:
                yield line, cells
            else:
                self.judge.found.add("cells", line, found=len(cells), wanted=wanted)

    def _long(self) -> Iterator[Row]:
        judge, names, columns = self.judge, self.names, self.mapping.columns
        item_at, rater_at, label_at = columns["item"], columns["rater"], columns["label"]
        time_at, comment_at = columns.get("rated_at"), columns.get("comment")
        items = judge.items(names[item_at])
        raters = judge.raters(names[rater_at])
        rated_at = comment = None
        for line, cells in self._of_the_question():
            item = items.number(clean(cells[item_at]), line)
            rater = raters.number(clean(cells[rater_at]), line)
            label = judge.labels.number(clean(cells[label_at]), line, names[label_at])
            if time_at is not None:
                rated_at = judge.moment(clean(cells[time_at]), line, names[time_at])
            if comment_at is not None:
                comment = judge.comment(unguard(cells[comment_at]), line, names[comment_at])
            if item is not None and rater is not None and label is not None:
                yield item, rater, line, label, rated_at, comment

    def _of_the_question(self) -> Iterator[Record]:
        place = self.mapping.columns.get("question")
        for line, cells in self._complete():
            if place is None or self.judge.is_of_the_question(clean(cells[place])):
                yield line, cells

    def _wide(self) -> Iterator[Row]:
        judge, names = self.judge, self.names
        item_at = self.mapping.columns["item"]
        left_out = {item_at, *self.mapping.leave_out}
        items = judge.items(names[item_at])
        raters = []
        for place, name in enumerate(names):
            if place not in left_out:
                number = judge.raters(name).number(clean(name), self.names_line)
                raters.append((place, number))
        for line, cells in self._complete():
            rated = [(place, rater) for place, rater in raters if cells[place].strip()]
            item = items.number(clean(cells[item_at]), line) if rated else None
            for place, rater in rated:
                label = judge.labels.number(clean(cells[place]), line, names[place])
                if item is not None and rater is not None and label is not None:
                    yield item, rater, line, label, None, None

    def _look_at_the_whole(self, count: int) -> None:
        """What can be said only after the last line."""
        judge = self.judge
        label_at = self.mapping.columns.get("label")
        if label_at is not None and self.names and self.mapping.layout == "long":
            name = clean(self.names[label_at])
            if name in judge.labels.numbers:
                judge.found.add("no_names", self.names_line, name=name)
        if judge.found or count:
            return
        if judge.of_other_questions:
            others = judge.other_questions()
            judge.found.add("question_absent", None, question=judge.question_key, found=others)
        else:
            judge.found.add("only_names", self.names_line)
