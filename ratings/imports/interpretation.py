"""Interpretation of a file: column roles, questions, skipped parts; for wizard and command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from .decoding.table_times import is_zoned_or_not_a_time
from .mapping.column_cells import TableHead
from .mapping.display_texts import (
    COLUMN_REASONS,
    DOUBTFUL_LAYOUTS,
    DOUBTS,
    LAYOUT_TEXTS,
    ROLE_TEXTS,
)
from .mapping.import_mapping import FIRST_SHEET, ImportMapping
from .mapping.rater_columns import get_item_name
from .problems import MAX_SHOWN_LINES, quote_argument
from .readers import SOURCES
from .records import SKIPPED_RECORD_REASONS

MAX_LISTED_COLUMNS = 10  # columns that a doubt lists
REPEATED_ROWS_TEXT = (
    "Items are in several rows, and {count} labels repeat an earlier one: {items}. Choose another "
    "item column by --map item=COLUMN, or what to do with repeats by --duplicates last, first or "
    "repeat."
)


class InterpretedColumn(NamedTuple):
    """A column of the file with its role and the reason for it.

    ``role`` is a key of ROLE_TEXTS; ``detail`` is the rater, question, item or label that the
    column stands for, if any.
    """

    name: str
    role: str
    reason: str
    detail: str = ""

    @property
    def role_text(self) -> str:
        """Return the meaning of the column, in the user's language."""
        return f"{ROLE_TEXTS[self.role]} {self.detail}".rstrip()

    @property
    def reason_text(self) -> str:
        """Return the reason for the meaning, in the user's language."""
        return str(COLUMN_REASONS[self.reason])

    def format(self) -> str:
        """Return the line about the column in the user's language."""
        return f"{self.name}: {self.role_text} ({self.reason_text})"


@dataclass
class InterpretedQuestion:
    """A question: its labels with numbers of ratings; a new question also has scale and order.

    ``missing`` are the texts of the file that are read as missing values.
    """

    labels: dict[str, int] = field(default_factory=dict)
    scale: str = ""
    order: list[str] = field(default_factory=list)
    order_basis: str = ""
    missing: list[str] = field(default_factory=list)


@dataclass
class Repeats:
    """Ratings that repeat an earlier rating of the same item by the same rater.

    ``examples`` are [item, rater, line, label, later line, later label].
    """

    count: int = 0
    examples: list[list[Any]] = field(default_factory=list)


@dataclass
class SkippedParts:
    """Parts of the file that are skipped for one reason: number, first lines and first values."""

    count: int
    lines: list[int] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


@dataclass
class FileInterpretation:
    """Layout, columns, questions, numbers and skipped parts of a file.

    ``sheets`` are the sheets that are read. ``default_rater`` is the rater of all ratings of a
    table without raters. ``zone`` applies to times that name none; it is empty if all do.
    ``questions`` are by key. ``counts`` are numbers of items, raters, ratings, gold answers and
    skips, ``left_out`` maps a reason to the parts skipped for it.
    """

    source: str
    sheets: list[str] = field(default_factory=list)
    layout: str = ""
    columns: list[InterpretedColumn] = field(default_factory=list)
    rows_are_items: bool = False
    default_rater: str = ""
    zone: str = ""
    questions: dict[str, InterpretedQuestion] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    repeats: Repeats = field(default_factory=Repeats)
    left_out: dict[str, SkippedParts] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, mapping: ImportMapping, head: TableHead | None) -> FileInterpretation:
        """Return the interpretation of the columns; ``head`` is None for the export of a tool."""
        if head is None:
            return cls(mapping.source)
        return cls(
            mapping.source,
            mapping.sheet_titles[: 1 if mapping.sheets in ("", FIRST_SHEET) else None],
            mapping.layout,
            list_columns(mapping, head),
            rows_are_items=mapping.rows_are_items,
            default_rater=_get_default_rater(mapping),
            zone=_get_zone(mapping, head),
        )

    def add_skipped_records(self, skipped_records: Mapping[str, Mapping[str, Any]]) -> None:
        """Add the records that a check or a reader skipped (see `SkippedRecordCounts.to_json`)."""
        self.left_out = {reason: SkippedParts(**parts) for reason, parts in skipped_records.items()}

    def to_json(self) -> Mapping[str, Any]:
        """Return the value of ``understood`` in JSON, with the texts of all codes.

        ``scale`` and ``order`` are those of the only question, empty if there are several.
        """
        columns = [
            {
                "name": column.name,
                "role": column.role,
                "detail": column.detail,
                "meaning": column.role_text,
                "why": column.reason_text,
            }
            for column in self.columns
        ]
        questions = list(self.questions.values())
        only = questions[0] if len(questions) == 1 else InterpretedQuestion()
        missing = dict.fromkeys(text for question in questions for text in question.missing)
        left_out = {
            reason: {**asdict(parts), "reason": str(SKIPPED_RECORD_REASONS[reason])}
            for reason, parts in self.left_out.items()
        }
        return {
            **asdict(self),
            "columns": columns,
            "left_out": left_out,
            "scale": only.scale,
            "order": only.order or list(only.labels),
            "missing": list(missing),
        }

    def format_lines(self) -> list[str]:
        """Return how the file was understood, one fact a line, in the user's language."""
        lines = [str(SOURCES[self.source].name)]
        if self.sheets:
            lines.append(_("sheets read: %(sheets)s") % {"sheets": _join_first_names(self.sheets)})
        if self.layout:
            lines.append(str(LAYOUT_TEXTS[self.layout]))
        lines += [column.format() for column in self.columns]
        if self.rows_are_items:
            lines.append(
                _("rows are numbered raters")
                if self.layout == "raters"
                else _("rows are numbered items")
            )
        if self.default_rater:
            lines.append(_("all ratings are by %(rater)s") % {"rater": self.default_rater})
        if self.zone:
            lines.append(_("times without zone: %(zone)s") % {"zone": self.zone})
        lines += [_format_question(key, question) for key, question in self.questions.items()]
        if self.counts:
            lines.append(
                _("items: %(items)s; raters: %(raters)s; ratings: %(ratings)s") % self.counts
            )
        if self.repeats.count:
            lines.append(self.format_repeats())
        return lines + self.format_left_out()

    def format_repeats(self) -> str:
        """Return the line on raters who rated an item twice, in the user's language."""
        examples = "; ".join(
            _("%(rater)s in lines %(first)s and %(second)s")
            % {"rater": rater, "first": first, "second": second}
            for _item, rater, first, _label, second, _other in self.repeats.examples[
                :MAX_SHOWN_LINES
            ]
        )
        return _("repeated ratings: %(count)s (%(examples)s)") % {
            "count": self.repeats.count,
            "examples": examples,
        }

    def _has_item_ids(self) -> bool:
        """Return whether the items have IDs from the file, not computed ones or row numbers."""
        return not self.layout or any(column.role == "item" for column in self.columns)

    def format_repeated_rows(self) -> str:
        """Return what the user has to decide about repeated items of a table, else "".

        Only for tables without a column of raters.
        """
        if not (self.layout == "wide" or self.default_rater) or not self.repeats.count:
            return ""
        rows = {item: (first, second) for item, _, first, _, second, _ in self.repeats.examples}
        listed = ", ".join(
            f"{item} (lines {first} and {second})"
            if self._has_item_ids()
            else f"lines {first} and {second}"
            for item, (first, second) in rows.items()
        )
        return REPEATED_ROWS_TEXT.format(count=self.repeats.count, items=listed)

    def format_left_out(self) -> list[str]:
        """Return a line for each reason for which parts of the file were left out."""
        return [_format_skipped_part(reason, parts) for reason, parts in self.left_out.items()]


def list_columns(mapping: ImportMapping, head: TableHead) -> list[InterpretedColumn]:
    """Return the interpretation of each column: role, reason and details."""
    role_by_index = {index: role for role, index in mapping.columns.items()}
    role_by_index |= dict.fromkeys(mapping.key_columns, "item")
    role_by_index |= dict.fromkeys(mapping.label_columns, "label")
    role_by_index |= dict.fromkeys(mapping.content_columns, "content")
    role_by_index |= dict.fromkeys(mapping.attribute_columns, "attribute")
    value_role = {
        "wide": "rater_column",
        "combinations": "rater_column",
        "counts": "count_column",
        "crossed": "count_column",
        "raters": "item_column",
    }
    columns = []
    for index, name in enumerate(head.names):
        role = role_by_index.get(index, "ignored")
        detail = ""
        is_value = index not in role_by_index and index not in mapping.excluded_columns
        if is_value and mapping.layout in value_role:
            role = value_role[mapping.layout]
            detail = _describe_value_column(mapping, index, name)
        reason = mapping.reasons.get(str(index), "no_role")
        columns.append(InterpretedColumn(name, role, reason, detail))
    return columns


def _describe_value_column(mapping: ImportMapping, index: int, name: str) -> str:
    own_name = get_item_name(name) if mapping.layout == "raters" else name
    value, question = mapping.value_columns.get(str(index), (own_name, ""))
    return f"{value}, {question}" if question else value


def _get_default_rater(mapping: ImportMapping) -> str:
    """Return the rater of all ratings of a table without raters, else an empty text."""
    has_raters = {"rater", "count"} & mapping.columns.keys() or mapping.key_separator
    return mapping.default_rater if mapping.layout == "long" and not has_raters else ""


def _get_zone(mapping: ImportMapping, head: TableHead) -> str:
    """Return the zone for times in the file that name none; empty if there are no such times."""
    index = mapping.columns.get("rated_at")
    if index is None or all(is_zoned_or_not_a_time(text) for text in head.columns[index].filled):
        return ""
    return mapping.zone or mapping.time_zone


def format_doubt(mapping: ImportMapping, head: TableHead) -> str:
    """Return the text on what the user has to decide because of the mapping's doubt."""
    text, _options = DOUBTS[mapping.doubt]
    return str(text) % _list_doubt_values(mapping, head)


def format_command_doubt(mapping: ImportMapping, head: TableHead) -> str:
    """Return the text on what the user has to decide, with the command options that decide it."""
    text, options = DOUBTS[mapping.doubt]
    values = _list_doubt_values(mapping, head)
    return f"{str(text) % values} ({options % values})" if options else str(text) % values


def _list_doubt_values(mapping: ImportMapping, head: TableHead) -> dict[str, object]:
    """Return name -> value of the placeholders in the texts of DOUBTS."""
    columns = [head.names[index] for index in mapping.doubtful_columns]
    interpreted = list_columns(mapping, head)
    raters = [column.name for column in interpreted if column.role == "rater_column"]
    unused = [column.name for column in interpreted if column.role in ("ignored", "attribute")]
    return {
        "columns": _join_first_names(columns),
        "layout": LAYOUT_TEXTS.get(DOUBTFUL_LAYOUTS.get(mapping.doubt, ""), ""),
        "meanings": _join_first_names(
            [f"{column.name} ({column.detail})" for column in interpreted if column.detail]
        ),
        "label": _format_column_options("label", unused if len(unused) == 1 else ["COLUMN"]),
        "labels": _format_column_options("label", columns),
        "raters": _format_column_options("rater", columns),
        "items": _format_column_options("item", columns),
        "first_rater": _format_column_options("rater", columns[:1] or ["COLUMN"]),
        "first_question": _format_column_options("question", columns[:1] or ["COLUMN"]),
        "other_labels": _format_column_options("label", columns[1:]),
        "first_item": _format_column_options("item", columns[:1]),
        "contents": _format_column_options("content", columns),
        "counts": _format_column_options("count", columns),
        "ignored": _format_column_options("ignore", columns),
        "all_raters": _format_column_options("rater", [*raters, *columns]),
        "first": "".join(columns[:1]),
        "others": _join_first_names(columns[1:]),
        "n_sheets": len(mapping.sheet_titles),
        "sheets": _join_first_names(mapping.sheet_titles),
    }


def _format_column_options(role: str, columns: list[str]) -> str:
    """Return the command options that give the first of these columns a role."""
    return " ".join(f"{role}={quote_argument(name)}" for name in columns[:MAX_LISTED_COLUMNS])


def _join_first_names(names: list[str]) -> str:
    """Return the first of the names (of columns or sheets) as one text."""
    first_names = names[:MAX_LISTED_COLUMNS]
    return ", ".join(first_names) + ("" if first_names == names else ", …")


def _format_question(key: str, question: InterpretedQuestion) -> str:
    return _("question %(key)s: %(scale)s; ordered labels: %(labels)s") % {
        "key": key,
        "scale": question.scale
        or (_("no scale yet") if question.order else _("the project's scale")),
        "labels": ", ".join(question.order or question.labels),
    }


def _format_skipped_part(reason: str, parts: SkippedParts) -> str:
    text = _("left out: %(count)s, %(reason)s") % {
        "count": parts.count,
        "reason": SKIPPED_RECORD_REASONS[reason],
    }
    if parts.values:
        text += _(": ") + ", ".join(parts.values)
    # The numbers of sheets are no lines; sheets are quoted by name.
    if parts.lines and reason != "other_sheets":
        lines = ", ".join(map(str, parts.lines[:MAX_SHOWN_LINES]))
        text += _(" (lines %(lines)s)") % {"lines": lines}
    return text
