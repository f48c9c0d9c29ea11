"""The guessed layout of a table, with the role of each column."""

from __future__ import annotations

from dataclasses import dataclass, field

# Roles that ratings of a wide table do not have.
LONG_ROLES = ("rated_at", "comment", "question", "seconds", "guidelines", "label", "rater", "count")


@dataclass
class ColumnGuess:
    """Guessed layout and column roles of a table; the fields are those of `ImportMapping`.

    ``reasons`` has the reason (a key of COLUMN_REASONS) of each column by its index. ``doubt`` is
    empty or a key of DOUBTS: what a person has to decide before anything is stored.
    """

    layout: str = "long"
    columns: dict[str, int] = field(default_factory=dict)  # role -> column index
    # Columns of the wide layout that are not raters.
    excluded_columns: list[int] = field(default_factory=list)
    content_columns: list[int] = field(default_factory=list)
    attribute_columns: list[int] = field(default_factory=list)
    label_columns: list[int] = field(default_factory=list)
    value_columns: dict[str, list[str]] = field(default_factory=dict)
    rows_are_items: bool = False
    key_columns: list[int] = field(default_factory=list)
    key_separator: str = ""
    reasons: dict[int, str] = field(default_factory=dict)
    doubt: str = ""
    doubtful_columns: list[int] = field(default_factory=list)
    suspected_codes: list[str] = field(default_factory=list)
    has_exact_labels: bool = False  # the columns are those of this program's own exports
