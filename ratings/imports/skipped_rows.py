"""Records of a file that are not imported, counted by reason with the first lines of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NotRequired, TypedDict

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

MAX_LISTED_LINES = 20  # lines listed for each reason
MAX_VALUE_LENGTH = 100  # characters of a part of the file that is quoted

# Reason -> description. The reasons are also keys of the output of `manage.py import_file`.
SKIPPED_RECORD_REASONS: dict[str, str | Promise] = {
    "spans": _("labels of text spans, not of items"),
    "boxes": _("boxes and marks in an image or recording; a rating is about a whole item"),
    "relations": _("relations between parts of items"),
    "several_labels": _("several labels at once"),
    "free_text": _("free text instead of a label"),
    "ranking": _("rankings; a rating is one label"),
    "number": _("numbers next to labels"),
    "no_label": _("items without a label"),
    "missing": _("missing values instead of labels"),
    "no_content": _("records without content or ID"),
    "no_rater": _("answers without a single rater"),
    "rejected": _("rejected answers"),
    "about_raters": _("descriptions of raters"),
    "merged": _("labels merged from several raters"),
    "lists_differ": _("rater and label lists of different lengths"),
    "draft": _("drafts"),
    "ignored": _("records without answers"),
    "other_question": _("rows of other questions"),
    "review": _("reviews of annotations"),
    "other_sheets": _("other sheets"),
    "unknown_fields": _("fields the first records don't have"),
    "title_row": _("rows above the header row"),
    "comment_row": _("comment lines"),
    "header_row": _("extra header rows of survey tools"),
    "repeated_header": _("rows that repeat the header row"),
    "notes": _("labels, reasons and notes of decisions"),
    "further_answers": _("other fields of answers"),
    "rule_row": _("lines that frame the printed table"),
    "no_label_row": _("rows without any label"),
    "total_row": _("totals at the end"),
    "note_row": _("notes below the table"),
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
