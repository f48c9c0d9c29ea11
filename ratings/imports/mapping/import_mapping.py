"""ImportMapping: layout, column roles and questions of a file, as decided and stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from django.utils.translation import gettext_lazy

from ratings.imports.values.label_interpretation import LabelOptions
from ratings.models import ImportRun

KEY_JOINT = "/"  # between the parts of an item ID that several columns make up
OWN_SOURCE = "concord"  # the source of this program's own exports as JSON Lines

# Policy for an item that a rater rated more than once: which row becomes the current rating.
DUPLICATE_POLICIES = {
    "last": gettext_lazy("keep the last row"),
    "first": gettext_lazy("keep the first row"),
    "repeat": gettext_lazy("save later rows as repeats"),
}
# Which of the sheets of a workbook with the same columns are read, and what each of them is.
SHEETS_ARE_RATERS, SHEETS_ARE_ROWS, FIRST_SHEET = "raters", "rows", "first"
SHEET_CHOICES = {
    SHEETS_ARE_RATERS: gettext_lazy("all sheets; each is one rater"),
    SHEETS_ARE_ROWS: gettext_lazy("all sheets, combined"),
    FIRST_SHEET: gettext_lazy("the first sheet with a table"),
}
# An additional policy, offered when the project already has ratings of the same items and raters.
KEEP_EXISTING_POLICY = (
    "again",
    gettext_lazy("save the file's ratings as repeats"),
)


@dataclass
class ImportMapping:
    """The format of a file, the meaning of its columns, and the questions its rows belong to.

    ``source`` is a name of SOURCES. The other fields apply to tables unless stated otherwise.
    ``columns`` maps a role (name_tests.ROLES) to the index of its column. ``content_columns`` are
    columns of content that raters see under the column's name; ``attribute_columns`` are columns
    that are stored and never shown to raters. ``layout`` is "long" (one row per rating; all by
    ``default_rater`` if it is set), "wide" (one row per item; every column without another meaning,
    except ``excluded_columns``, is a rater), "counts" (one row per item; such a column has the
    number of ratings of the label that it is named after), "crossed" (one row per label of a rater,
    and such a column is a label of the other), "combinations" (one row for all items with the same
    labels, and such a column is a rater), "raters" (one row per rater; such a column
    is an item) or "items" (no ratings).

    ``label_columns``: several columns of labels of the long layout, a question each.
    ``value_columns``: index -> [rater, question] of wide columns whose names have both, or [item,
    question] in the layout "raters". ``rows_are_items``: the rows are numbered, and their numbers
    are the item keys; in the layout "raters" they are the raters.
    ``key_columns``: further columns of the item's ID, which is joined from them (KEY_JOINT).
    ``key_prefix``: put before the item IDs of a tool's export. ``declared_labels``: labels of its
    questions, which ratings may give or not.
    ``key_separator``: the item column has the item and, after this separator, the rater.
    ``zone``: of times that name none; that of the project if it is empty. ``date_order``: "dmy" or
    "mdy" where the file has dates like 03/04/2026.

    Questions: with ``use_file_questions``, rows belong to the questions named in the file, which
    are created where the project does not have them. Otherwise all rows belong to one question, the
    existing ``question_id`` or a new one. ``questions`` maps question keys of the file to other
    keys, ``members`` maps rater keys of the file to user ids (see `key_matching`).
    """

    source: str = "csv"
    encoding: str = ""
    delimiter: str = ""
    sheets: str = ""  # a key of SHEET_CHOICES, or empty for a workbook with one table
    sheet_titles: list[str] = field(default_factory=list)  # sheets with the same columns
    layout: str = "long"
    columns: dict[str, int] = field(default_factory=dict)
    excluded_columns: list[int] = field(default_factory=list)
    create_missing: bool = True
    question_id: int | None = None
    question_key: str = ""
    question_text: str = ""
    project_name: str = ""
    time_zone: str = "UTC"  # of a new project
    duplicate_policy: str = "last"  # a key of DUPLICATE_POLICIES, or "again"
    content_columns: list[int] = field(default_factory=list)
    attribute_columns: list[int] = field(default_factory=list)
    label_columns: list[int] = field(default_factory=list)
    value_columns: dict[str, list[str]] = field(default_factory=dict)
    rows_are_items: bool = False
    key_columns: list[int] = field(default_factory=list)
    key_separator: str = ""
    key_prefix: str = ""
    declared_labels: dict[str, list[str]] = field(default_factory=dict)
    zone: str = ""
    date_order: str = ""
    reasons: dict[str, str] = field(default_factory=dict)  # column index -> key of COLUMN_REASONS
    doubt: str = ""  # a key of DOUBTS, or empty
    doubtful_columns: list[int] = field(default_factory=list)
    # The rater of a file that names none; applies to exports of tools, too.
    default_rater: str = ""
    use_file_questions: bool = False
    questions: dict[str, str] = field(default_factory=dict)
    members: dict[str, int] = field(default_factory=dict)
    # Choices for labels (see `LabelOptions`); they apply to exports of tools, too.
    missing: list[str] = field(default_factory=list)
    not_missing: list[str] = field(default_factory=list)
    similar_labels: str = ""
    suspected_codes: list[str] = field(default_factory=list)  # labels in places of missing values
    has_exact_labels: bool = False  # a table with the columns of this program's own exports

    @property
    def label_options(self) -> LabelOptions:
        """Return the user's choices for interpreting labels."""
        is_exact = self.has_exact_labels or self.source == OWN_SOURCE
        return LabelOptions(
            self.missing, self.not_missing, self.similar_labels, is_exact, self.suspected_codes
        )

    @property
    def has_column_questions(self) -> bool:
        """Return whether the table has columns for several questions."""
        return len(self.label_columns) > 1 or any(
            question for _rater, question in self.value_columns.values()
        )

    @classmethod
    def from_run(cls, run: ImportRun) -> ImportMapping:
        """Return the mapping stored with a run, without unknown fields."""
        field_names = {dataclass_field.name for dataclass_field in fields(cls)}
        return cls(**{name: value for name, value in run.mapping.items() if name in field_names})

    def to_json(self) -> dict[str, Any]:
        """Return the mapping as it is stored in `ImportRun.mapping`."""
        return asdict(self)
