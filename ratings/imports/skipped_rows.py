"""Records of a file that are not imported, counted by reason with the first lines of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NotRequired, TypedDict

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
    """Records that were skipped for one reason, as stored in `ImportRun.summary`.

    Their number, their first lines, and the first values that they quote.
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
        """Count one skipped record; ``value`` is what it says, such as the name of a sheet."""
        self.counts[reason] += 1
        lines = self.lines.setdefault(reason, [])
        if len(lines) < MAX_LISTED_LINES and (not lines or lines[-1] != line):
            lines.append(line)
        values = self.values.setdefault(reason, [])
        if value and len(values) < MAX_LISTED_LINES and value not in values:
            values.append(value[:MAX_VALUE_LENGTH])

    def add_lines(self, lines: Sequence[int], reason: str, *, count: int) -> None:
        """Count several skipped records; ``lines`` are the first of their lines."""
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
