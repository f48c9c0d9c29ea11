"""Records that every reader yields, independent of the tool that wrote the file.

A reader knows its tool and nothing of Concord's tables; the code after it knows no tool. Every
record has its line number in the file, counted from 1; in formats without lines, the number of its
row or image. Texts are as in the file: row validation reports what is wrong with them. Records that
are not imported are counted by reason, with the first lines of each.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

MAX_LISTED_LINES = 20  # lines listed for each reason
MAX_VALUE_LENGTH = 100  # characters of a part of the file that is quoted

_PARTS_OF_ITEMS = _("labels of parts of items")
_NO_LABEL = _("rows without a label")
_HEADER_ROWS = _("extra header rows")
_AROUND_TABLE = _("lines around the table")
_INCOMPLETE = _("incomplete records")
_NO_SINGLE_RATER = _("labels without a single rater")
_OTHER_FIELDS = _("other fields")
# Reason -> description. The reasons are also keys of the output of `manage.py import_file`.
SKIPPED_RECORD_REASONS: dict[str, str | Promise] = {
    "spans": _PARTS_OF_ITEMS,
    "boxes": _PARTS_OF_ITEMS,
    "relations": _PARTS_OF_ITEMS,
    "several_labels": _("several labels at once"),
    "free_text": _("free text"),
    "ranking": _("rankings"),
    "number": _("numbers next to labels"),
    "no_label": _NO_LABEL,
    "missing": _("missing values"),
    "no_content": _INCOMPLETE,
    "no_rater": _NO_SINGLE_RATER,
    "rejected": _("rejected answers"),
    "about_raters": _("descriptions of raters"),
    "merged": _NO_SINGLE_RATER,
    "lists_differ": _INCOMPLETE,
    "draft": _("drafts"),
    "ignored": _INCOMPLETE,
    "other_question": _("rows of other questions"),
    "review": _("reviews of annotations"),
    "other_sheets": _("other sheets"),
    "unknown_fields": _("fields that the first records lack"),
    "title_row": _AROUND_TABLE,
    "comment_row": _("comment lines"),
    "header_row": _HEADER_ROWS,
    "repeated_header": _HEADER_ROWS,
    "notes": _OTHER_FIELDS,
    "further_answers": _OTHER_FIELDS,
    "rule_row": _AROUND_TABLE,
    "no_label_row": _NO_LABEL,
    "total_row": _("totals at the end"),
    "note_row": _AROUND_TABLE,
    "unnamed_column": _("cells in unnamed columns"),
}


class StoredSkippedRecords(TypedDict):
    """Number, first lines and first values of the records skipped for one reason.

    As stored in `ImportRun.summary`; a value is the part of the file that the report quotes.
    """

    count: int
    lines: list[int]
    values: NotRequired[list[str]]


class SkippedRecordCounts:
    """Counts of skipped records by reason."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.lines: dict[str, list[int]] = {}
        self.values: dict[str, list[str]] = {}

    def add(self, line: int, reason: str, value: str = "") -> None:
        """Count one skipped record; ``value`` is quoted in reports, such as a sheet's name."""
        self.counts[reason] += 1
        lines = self.lines.setdefault(reason, [])
        if len(lines) < MAX_LISTED_LINES and (not lines or lines[-1] != line):
            lines.append(line)
        values = self.values.setdefault(reason, [])
        if value and len(values) < MAX_LISTED_LINES and value not in values:
            values.append(value[:MAX_VALUE_LENGTH])

    def add_lines(self, lines: Sequence[int], reason: str, *, count: int) -> None:
        """Count ``count`` skipped records; ``lines`` are the first lines that have them."""
        self.counts[reason] += count
        listed = sorted({*self.lines.get(reason, []), *lines})
        self.lines[reason] = listed[:MAX_LISTED_LINES]

    def to_json(self) -> dict[str, StoredSkippedRecords]:
        """Return the skipped records by reason, the most frequent one first."""
        stored: dict[str, StoredSkippedRecords] = {}
        for reason, count in self.counts.most_common():
            stored[reason] = {"count": count, "lines": self.lines[reason]}
            if values := self.values.get(reason):
                stored[reason]["values"] = values
        return stored


# A time of a record: ISO 8601 text with its zone, or a datetime.
RecordTime = str | datetime.datetime | None


class ItemRecord(NamedTuple):
    """An item of the file.

    ``body`` and ``attributes`` have the form they have in the API. None means that the file does
    not mention them, and the stored values stay.
    """

    line: int
    key: str
    body: dict[str, Any] | None = None
    attributes: dict[str, Any] | None = None


class RaterRecord(NamedTuple):
    """A rater of the file.

    The prompt version of a model is part of its key, because another version is another rater (see
    `build_model_key`).
    """

    line: int
    key: str
    kind: str = "human"  # "human" or "model"
    name: str = ""
    column: str = ""
    model: str = ""
    prompt_version: str = ""


class QuestionRecord(NamedTuple):
    """A question for which the file has a text or a list of labels, besides the answers.

    ``labels`` may include labels that no rating has.
    """

    line: int
    key: str
    text: str = ""
    labels: Sequence[str] = ()


class RatingRecord(NamedTuple):
    """One rating: the answer of one rater to one question about one item.

    ``question`` is the key used in the file, empty if the file has a single question without a
    name. ``label`` is None if the rater skipped the item. ``column`` is the column of the label,
    for messages about problems. ``seconds`` is the time spent. ``guidelines`` is the version of the
    guidelines that applied: empty if the file says that it is unknown, None if the file does not
    mention it.
    """

    line: int
    item: str
    rater: str
    question: str
    label: str | None
    rated_at: RecordTime = None
    comment: str | None = None
    seconds: float | None = None
    column: str = ""
    guidelines: str | None = None


class GoldRecord(NamedTuple):
    """A gold answer of an item. Several for one item and question are all accepted."""

    line: int
    item: str
    question: str
    label: str
    column: str = ""


class SkippedRecord(NamedTuple):
    """A part of the file that is not imported.

    ``reason`` is a key of `SKIPPED_RECORD_REASONS`.
    """

    line: int
    reason: str
    value: str = ""


class ReaderProblem(NamedTuple):
    """A problem that the reader found in the file.

    ``kind`` is a key of `messages.MESSAGES`. ``fatal``: the file cannot be read further.
    """

    line: int | None
    kind: str
    column: str = ""
    values: dict[str, Any] = {}
    fatal: bool = False


Record = (
    ItemRecord
    | RaterRecord
    | QuestionRecord
    | RatingRecord
    | GoldRecord
    | SkippedRecord
    | ReaderProblem
)


def build_model_key(name: str, version: str = "") -> str:
    """Return the rater key of a model in one prompt version."""
    name, version = name.strip(), version.strip()
    if not version or version == name:
        return name
    return f"{name}@{version}" if name else version
