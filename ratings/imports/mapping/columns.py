"""Guess the layout of a table and the role of each column, with the reason for each guess.

The lead confirms or changes the guess; what runs unattended rejects a file with a doubt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from ratings.exports import rating_files

from . import rater_columns
from .column_cells import MEDIA_FILE_PATTERN, TableHead
from .column_names import (
    CONTENT_ROLES,
    MEDIA_ROLES,
    MULTI_COLUMN_ROLES,
    RATER_STEMS,
    RESPONDENT_ROLES,
    ROLES,
    is_respondent_name,
    rank_name,
    split_number,
)
from .label_and_item_columns import LabelAndItemColumns

__all__ = [
    "CONTENT_ROLES",
    "LONG_ROLES",
    "MEDIA_FILE_PATTERN",
    "MEDIA_ROLES",
    "MULTI_COLUMN_ROLES",
    "ROLES",
    "ColumnGuess",
    "TableHead",
    "guess_columns",
]

DOUBLE_ENTRY = "--"  # separates record and person in tables that were entered twice
# Roles that ratings of a wide table do not have.
LONG_ROLES = ("rated_at", "comment", "question", "seconds", "guidelines", "label", "rater")


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
    key_separator: str = ""
    reasons: dict[int, str] = field(default_factory=dict)
    doubt: str = ""
    doubtful_columns: list[int] = field(default_factory=list)
    has_exact_labels: bool = False  # the columns are those of this program's own exports


def guess_columns(head: TableHead, *, labels: Iterable[str] = ()) -> ColumnGuess:
    """Guess the layout and the roles of the columns.

    ``labels`` are those of the project's existing questions.
    """
    return _ColumnGuesser(head, set(labels)).guess()


class _ColumnGuesser(LabelAndItemColumns):
    """Guesses the layout of one table."""

    def guess(self) -> ColumnGuess:
        """Return the guess: wide if the names of columns say so, else long, wide or items."""
        self.exclude_unusable_columns()
        self.assign_roles_by_name()
        guess = self._guess_layout()
        guess.columns = {**self.columns, **guess.columns}
        guess.content_columns = self.content
        for role, index in guess.columns.items():
            self.reasons.setdefault(
                index, "name" if rank_name(self.head.names[index], role) is not None else "values"
            )
        for index in self.content:
            self.reasons.setdefault(index, "content")
        for index in guess.attribute_columns:
            self.reasons.setdefault(index, "attribute")
        guess.reasons = self.reasons
        guess.has_exact_labels = tuple(self.head.names) == rating_files.COLUMNS
        return guess

    # --- layouts

    def _guess_layout(self) -> ColumnGuess:
        if guess := self._guess_wide_by_names():
            return guess
        if "rater" in self.columns:
            return self._guess_long()
        if guess := self._guess_double_entry():
            return guess
        if "label" in self.columns:
            return self._guess_without_raters()
        return self._guess_wide_or_items()

    def _release_long_roles(self) -> list[int]:
        """Free the columns of roles that wide tables do not have, and return them."""
        indexes = [self.columns.pop(role) for role in LONG_ROLES if role in self.columns]
        for index in indexes:
            self.reasons.pop(index, None)
        return indexes

    def _guess_wide_by_names(self) -> ColumnGuess | None:
        """Return the wide guess if columns are named like raters, or None."""
        free = self.list_free_columns()
        single_rater = self.columns.get("rater")
        values = rater_columns.find_patterned_columns(self.head, free)
        if values is None or "question" in self.columns:
            return None
        stems = {
            number[0] for index in values.places if (number := split_number(self.head.names[index]))
        }
        if single_rater is not None:
            # A column of raters beside label1, label2: these are questions.
            return None
        if "label" in self.columns and not values.is_certain:
            return None
        if "label" in self.columns and stems and not stems <= RATER_STEMS:
            return None
        self._release_long_roles()
        return self._build_wide(values)

    def _build_wide(self, values: rater_columns.ValueColumns) -> ColumnGuess:
        """Return the wide guess with these columns of ratings."""
        for index in values.places:
            self.reasons[index] = values.reason
        guess = ColumnGuess("wide", {})
        self._set_wide_item_column(guess, values.places)
        rest = [
            index
            for index in range(len(self.head.names))
            if index not in values.places
            and index not in self.columns.values()
            and index not in self.content
        ]
        self._exclude_columns(
            rest, guess, "not_alike" if values.reason == "pattern" else "other_values"
        )
        has_own_names = all(
            place == (self.head.names[index].strip(), "") for index, place in values.places.items()
        )
        if not has_own_names:
            guess.value_columns = {
                str(index): list(place) for index, place in values.places.items()
            }
        if not values.is_certain:
            guess.doubt = "raters_or_questions"
            guess.doubtful_columns = list(values.places)
        return guess

    def _set_wide_item_column(self, guess: ColumnGuess, places: Collection[int]) -> None:
        """Set the item column: by name, else a first column of unique keys, else the row number."""
        if "item" in self.columns or self.has_content:
            return
        first = next((index for index in range(len(self.head.names)) if index not in places), None)
        if first is not None:
            cells = self.head.columns[first]
            if cells.is_unique and self.reasons.get(first) in (None, "row_numbers"):
                self.columns["item"] = first
                self.reasons[first] = "first_keys"
                return
        guess.rows_are_items = True

    def _exclude_columns(self, indexes: Sequence[int], guess: ColumnGuess, reason: str) -> None:
        """Exclude columns, or keep them as attributes of items that have content."""
        for index in indexes:
            is_attribute = self.has_content and self.reasons.get(index) != "row_numbers"
            (guess.attribute_columns if is_attribute else guess.excluded_columns).append(index)
            self.reasons.setdefault(index, "attribute" if is_attribute else reason)

    def _guess_long(self) -> ColumnGuess:
        """Return the guess for a table with a column of raters."""
        guess = ColumnGuess("long", {})
        if "label" not in self.columns:
            candidates = self.list_label_candidates()
            if "item" not in self.columns and not self.has_content:
                self.set_long_item_column(candidates)
                candidates = [index for index in candidates if index != self.columns.get("item")]
            has_keys = "item" in self.columns or self.has_content
            guess_in_rows = None if has_keys else self._guess_raters_in_rows(candidates)
            if guess_in_rows:
                return guess_in_rows
            self._set_label_columns(guess, candidates)
        elif "item" not in self.columns and not self.has_content:
            self.set_long_item_column([])
        if "item" not in self.columns and not self.has_content and not guess.doubt:
            guess.doubt = "no_items"
        rest = self.list_free_columns()
        rest = [index for index in rest if index not in guess.label_columns]
        if self.has_content:
            described = [i for i, reason in self.reasons.items() if reason == "descriptive"]
            guess.attribute_columns = [
                index for index in sorted([*rest, *described]) if self.describes_item(index)
            ]
        for index in rest:
            if index not in guess.attribute_columns:
                self.reasons.setdefault(index, "no_role")
        return guess

    def _set_label_columns(self, guess: ColumnGuess, candidates: Sequence[int]) -> None:
        """Choose the column of labels, or several that answer a question each."""
        columns = self.head.columns
        if len(candidates) == 1:
            self.columns["label"] = candidates[0]
            self.reasons[candidates[0]] = "only_one_left"
        elif candidates:
            shared = set.intersection(*(columns[index].values for index in candidates))
            names = [self.head.names[index] for index in candidates]
            is_certain = bool(shared) or rater_columns.differ_only_in_number(names)
            guess.label_columns = list(candidates)
            for index in candidates:
                self.reasons[index] = "questions"
            if not is_certain:
                guess.doubt, guess.doubtful_columns = "labels_unclear", list(candidates)
        else:
            guess.doubt = "no_labels"

    def _guess_respondents(
        self, candidates: Sequence[int], *, has_keys: bool
    ) -> ColumnGuess | None:
        """Return the guess for a survey whose rows are responses, or None."""
        names = [self.head.names[index] for index in candidates]
        if has_keys or not rater_columns.differ_only_in_number(names):
            return None
        for index, name in enumerate(self.head.names):
            if is_respondent_name(name) and self.head.columns[index].is_unique:
                self.columns["rater"] = index
                self.reasons[index] = "name"
                return self._guess_raters_in_rows(candidates)
        return None

    def _guess_raters_in_rows(self, candidates: Sequence[int]) -> ColumnGuess | None:
        """Return the guess for a table with a row for each rater and a column for each item."""
        columns = self.head.columns
        if columns[self.columns["rater"]].has_repeats:
            return None
        shared = rater_columns.find_columns_with_shared_values(
            self.head, candidates, self.labels, sure=True
        )
        names = [self.head.names[index] for index in candidates]
        if len(shared) >= 2 and rater_columns.differ_only_in_number(names):
            shared = list(candidates)
        if len(shared) < 2:
            return None
        guess = ColumnGuess("raters", {})
        for index in shared:
            self.reasons[index] = "item_column"
        self.columns = {role: self.columns[role] for role in RESPONDENT_ROLES & set(self.columns)}
        rest = [
            index
            for index in range(len(self.head.names))
            if index not in shared and index not in self.columns.values()
        ]
        self.content = []
        self._exclude_columns(rest, guess, "no_role")
        if not rater_columns.differ_only_in_number([self.head.names[index] for index in shared]):
            guess.doubt, guess.doubtful_columns = "raters_in_rows", list(shared)
        return guess

    def _guess_double_entry(self) -> ColumnGuess | None:
        """Return the guess for records that two people entered: record_id 1--1, 1--2."""
        item = self.columns.get("item", 0)
        parts = [text.rpartition(DOUBLE_ENTRY) for text in self.head.columns[item].filled]
        if not parts or not all(key and person.isdigit() for key, _, person in parts):
            return None
        if len({key for key, _, _ in parts}) == len(parts):
            return None
        self.columns["item"] = item
        self.reasons[item] = "double_entry"
        guess = ColumnGuess("long", {}, key_separator=DOUBLE_ENTRY)
        if "label" not in self.columns:
            columns = self.head.columns
            self._set_label_columns(
                guess,
                [
                    index
                    for index in self.list_free_columns()
                    if columns[index].filled and not columns[index].is_constant
                ],
            )
        for index in self.list_free_columns():
            if index not in guess.label_columns:
                self.reasons[index] = "no_role"
        return guess

    def _guess_without_raters(self) -> ColumnGuess:
        """Return the guess for a table that has labels, but no column of raters."""
        guess = ColumnGuess("long", {})
        item = self.columns.get("item")
        free = self.list_free_columns()
        if not self.has_content and item is not None:
            label = self.columns["label"]
            shared = rater_columns.find_columns_with_shared_values(
                self.head, [label, *free], self.labels, sure=True
            )
            if len(shared) >= 2 and label in shared and not self.head.columns[item].has_repeats:
                self._release_long_roles()
                return self._build_wide(
                    rater_columns.ValueColumns(
                        {index: (self.head.names[index], "") for index in shared}, "shared"
                    )
                )
        if item is None and not self.has_content:
            keys = [index for index in free if self.head.columns[index].is_unique]
            if keys:
                self.columns["item"] = keys[0]
                self.reasons[keys[0]] = "first_keys"
            else:
                guess.doubt = "no_items"
        elif item is not None and self.head.columns[item].has_repeats:
            guess.doubt = "no_raters"
        free = self.list_free_columns()
        if self.has_content:
            described = [i for i, reason in self.reasons.items() if reason == "descriptive"]
            guess.attribute_columns = [
                index for index in sorted([*free, *described]) if self.describes_item(index)
            ]
        for index in self.list_free_columns():
            if index not in guess.attribute_columns:
                self.reasons[index] = "no_role"
        return guess

    def _guess_wide_or_items(self) -> ColumnGuess:
        """Return the guess for a table without names of raters and labels."""
        self._release_long_roles()
        free = self.list_free_columns()
        if counts := rater_columns.find_count_columns(self.head, free):
            for index in counts:
                self.reasons[index] = "count"
            guess = ColumnGuess("counts", {}, doubt="counts", doubtful_columns=counts)
            self._set_wide_item_column(guess, counts)
            used = {*counts, *self.columns.values(), *self.content}
            self._exclude_columns(
                [index for index in range(len(self.head.names)) if index not in used],
                guess,
                "no_role",
            )
            return guess
        has_keys = "item" in self.columns or self.has_content
        first = 0 if not has_keys else None
        if first is not None and (
            first not in free
            or not self.head.columns[first].is_unique
            or self._shares_values_with(first, free)
        ):
            first = None
        candidates = [index for index in free if index != first]
        shared = rater_columns.find_columns_with_shared_values(
            self.head, candidates, self.labels, sure=self.has_content
        )
        if len(shared) >= 2:
            if guess_in_rows := self._guess_respondents(candidates, has_keys=has_keys):
                return guess_in_rows
            values = rater_columns.ValueColumns(
                {index: (self.head.names[index], "") for index in shared}, "shared"
            )
            if len(shared) > 2 or has_keys or first is not None or len(self.head.names) == 2:
                return self._build_wide(values)
        guess = ColumnGuess("items", {})
        self._exclude_columns(free, guess, "no_role")
        if not self.has_content:
            guess.excluded_columns, guess.attribute_columns = [], list(guess.excluded_columns)
            guess.doubt = "no_labels"
            guess.doubtful_columns = free
        else:
            guess.attribute_columns = [
                index
                for index in range(len(self.head.names))
                if index not in self.columns.values()
                and index not in self.content
                and self.reasons.get(index) != "row_numbers"
            ]
        return guess

    def _shares_values_with(self, index: int, others: Sequence[int]) -> bool:
        """Return whether the column has only values of the other columns, as a rater's has."""
        values = self.head.columns[index].values
        return (
            any(
                2 * len(values & self.head.columns[other].values) > len(values)
                for other in others
                if other != index
            )
            and self.head.columns[index].has_repeats
        )
