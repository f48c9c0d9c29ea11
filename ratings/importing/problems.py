"""Everything that can be wrong with a file, each with its words. Stored by kind and values, worded
when shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratings.recording.days import WRONG_TIMES

MAX_LISTED = 1000  # all problems are counted, the first of them are listed
MAX_SHOWN = 300  # characters of a file's text in a message

# kind -> (a few words for the count, the whole message)
MESSAGES: dict[str, tuple[str | Promise, str | Promise]] = {
    # The file as a whole
    "empty": (
        _("empty file"),
        _("The file is empty. A line of column names and at least one rating are needed."),
    ),
    "too_large": (
        _("too large"),
        _("The file has more than %(limit)s bytes (unpacked), the most that is allowed."),
    ),
    "zip": (
        _("no CSV"),
        _(
            "This is a ZIP archive or an Excel workbook. Save the sheet as CSV and upload that; "
            ".csv.gz is accepted, too."
        ),
    ),
    "pdf": (_("no CSV"), _("This is a PDF document. A CSV file is needed.")),
    "html": (_("no CSV"), _("This is an HTML or XML page. A CSV file is needed.")),
    "json": (
        _("no CSV"),
        _("This looks like JSON. A CSV file is needed here; JSON goes through the REST API."),
    ),
    "binary": (
        _("no CSV"),
        _("This is no text file. A CSV file is needed: plain, or packed as .csv.gz."),
    ),
    "gzip": (
        _("broken archive"),
        _("The gzip archive cannot be unpacked: it is damaged or cut off."),
    ),
    "lost": (_("file gone"), _("The uploaded file is not there any more. Upload it again.")),
    # Its text and its lines
    "bytes": (
        _("wrong encoding"),
        _(
            "Byte %(byte)s does not belong into a text in %(encoding)s. Choose the encoding "
            "that the file was saved in."
        ),
    ),
    "nul": (
        _("NUL character"),
        _("There is a NUL character. Text of letters, digits and signs is needed."),
    ),
    "line_long": (
        _("line too long"),
        _("The line has more than %(limit)s characters, the most that is allowed."),
    ),
    "cell_long": (
        _("cell too long"),
        _("A cell has more than %(limit)s characters, the most that is allowed."),
    ),
    "quote_open": (
        _("open quote"),
        _(
            "A cell that begins with a quotation mark here is not closed. Quotation marks "
            "inside a cell are doubled."
        ),
    ),
    "quote_wrong": (
        _("wrong quote"),
        _(
            "After a closing quotation mark comes neither a delimiter nor the line's end. "
            "Quotation marks inside a cell are doubled."
        ),
    ),
    "columns_many": (_("too many columns"), _("%(found)s columns; %(limit)s at most are allowed.")),
    # Its line of names
    "one_column": (
        _("one column"),
        _(
            "There is one column only. Columns are separated by a comma, a semicolon, a tab "
            "or a vertical bar."
        ),
    ),
    "name_empty": (
        _("column without a name"),
        _("Column %(place)s has no name. The first line names every column."),
    ),
    "name_doubled": (
        _("doubled column name"),
        _(
            "'%(name)s' names column %(first)s and column %(second)s. Each column needs a "
            "name of its own."
        ),
    ),
    "no_names": (
        _("no column names"),
        _(
            "The column of labels is named '%(name)s', which is a label itself: "
            "the line of column names seems to be missing."
        ),
    ),
    "only_names": (_("no ratings"), _("There is a line of column names, but no rating below it.")),
    # Its rows
    "cells": (
        _("wrong number of cells"),
        _("%(found)s cells, where the line of names has %(wanted)s."),
    ),
    "key_empty": (
        _("empty cell"),
        _("The cell is empty. Each row needs an item, a rater and a label."),
    ),
    "key_long": (
        _("text too long"),
        _("'%(value)s…' has %(found)s characters; %(limit)s at most are allowed."),
    ),
    "key_control": (
        _("control character"),
        _("'%(value)s' holds a control character such as a line end, which is not allowed here."),
    ),
    "label_unknown": (
        _("unknown label"),
        _("'%(value)s' is no label of this question; one of %(allowed)s."),
    ),
    "labels_many": (
        _("too many labels"),
        _(
            "'%(value)s' is one label more than the %(limit)s that a question may have. Is "
            "this the column of labels?"
        ),
    ),
    "item_unknown": (
        _("unknown item"),
        _("'%(value)s' is no item of this project, and new items are not to be made."),
    ),
    "rater_unknown": (
        _("unknown rater"),
        _("'%(value)s' is no rater of this project, and new raters are not to be made."),
    ),
    "time": (_("wrong time"), _("%(reason)s.")),
    "repeats_many": (
        _("too many repeats"),
        _(
            "Rater '%(rater)s' rates item '%(item)s' more than %(limit)s times. Are these "
            "the right columns?"
        ),
    ),
    "question_absent": (
        _("no row of the question"),
        _("No row is of the question '%(question)s'; the file has %(found)s."),
    ),
}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, with its line in the file (from 1) and the name of its column, where
    it has them."""

    kind: str
    line: int | None = None
    column: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Unreadable(Exception):
    """The file cannot be read, or not further than this."""

    def __init__(self, kind: str, *, line: int | None = None, **values: Any) -> None:
        super().__init__(kind)
        self.problem = Problem(kind, line, "", values)


def shown(text: str) -> str:
    """A piece of the file as messages may carry it."""
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def message(problem: dict[str, Any]) -> str:
    """The words of a stored problem, in the reader's language."""
    values = problem["values"]
    if problem["kind"] == "time":
        values = {"reason": str(WRONG_TIMES[values["why"]]) % values}
    return str(MESSAGES[problem["kind"]][1]) % values


def in_words(error: Unreadable) -> str:
    """What is wrong with a file, with its line where it has one, in the reader's language."""
    words = message(error.problem.as_json())
    line = error.problem.line
    if line is None:
        return words
    return gettext("Line %(line)s: %(message)s") % {"line": line, "message": words}


class Found:
    """The problems of a check: all counted by kind, the first ones kept."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.listed: list[Problem] = []

    def add(self, kind: str, line: int | None, column: str = "", **values: Any) -> None:
        self.kinds[kind] += 1
        if len(self.listed) < MAX_LISTED:
            texts = {
                name: shown(value) if isinstance(value, str) else value
                for name, value in values.items()
            }
            self.listed.append(Problem(kind, line, shown(column), texts))

    def add_fatal(self, error: Unreadable) -> None:
        problem = error.problem
        self.kinds[problem.kind] += 1
        # The reading ends here: this one is named even where the list is full.
        self.listed = [*self.listed[: MAX_LISTED - 1], problem]

    def __bool__(self) -> bool:
        return bool(self.kinds)
