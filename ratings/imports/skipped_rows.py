"""Records of a file that are not imported, counted by reason with the first lines of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

MAX_LISTED_LINES = 20  # lines listed for each reason
MAX_VALUE_LENGTH = 100  # characters of a part of the file that is quoted

# Reason -> description. The reasons are also keys of the output of `manage.py import_file`.
SKIPPED_RECORD_REASONS: dict[str, str | Promise] = {
    "spans": _("labels of parts of a text (spans); an answer is about a whole item"),
    "boxes": _("boxes, shapes and marks in an image or a recording; an answer is about an item"),
    "relations": _("relations between parts; an answer is about a whole item"),
    "several_labels": _("several labels at once; an answer is one label"),
    "free_text": _("free text where a label is needed"),
    "ranking": _("rankings; an answer is one label"),
    "number": _("a number beside a label"),
    "no_label": _("items without a label; they come in without a rating"),
    "missing": _("missing values in the place of a label"),
    "no_content": _("records without content or key"),
    "no_rater": _("answers that name no rater; several people's answers in one"),
    "rejected": _("answers that were rejected"),
    "merged": _("labels that were merged from several raters; they are no rater's answer"),
    "lists_differ": _("lists of raters and labels with different lengths"),
    "draft": _("drafts that were not handed in"),
    "ignored": _("records of kinds that hold no answer"),
    "other_question": _("rows of other questions"),
    "review": _("reviews of annotations"),
    "other_sheets": _("further sheets of the workbook"),
    "unknown_fields": _("fields that the first records do not have"),
    "title_row": _("rows above the names of the columns, such as a title"),
    "header_row": _("further lines of names, as survey tools write them"),
    "notes": _("labels, reasons and notes beside the decisions"),
    "further_answers": _("further fields of raters' answers beside the label"),
    "rule_row": _("lines of dashes between names and rows"),
    "no_label_row": _("rows without any label"),
    "total_row": _("rows of totals at the end"),
    "unnamed_column": _("cells of a column without a name"),
}


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

    def to_json(self) -> dict[str, Any]:
        """Return reason -> {"count": number of records, "lines": first lines, "values"}.

        The most frequent reason comes first.
        """
        return {
            reason: {
                "count": count,
                "lines": self.lines[reason],
                **({"values": values} if (values := self.values.get(reason)) else {}),
            }
            for reason, count in self.counts.most_common()
        }
