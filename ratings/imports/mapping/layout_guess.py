"""Guess the layout of a table and the role of each column, with the reason for each guess.

The lead confirms or changes the guess; an import without the wizard rejects a doubtful one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ratings.exports import documents
from ratings.label_normalization import get_normal_form

from . import rater_columns
from .column_cells import LONG_ROLES, MEDIA_FILE_PATTERN, ColumnGuess, TableHead
from .label_and_item_columns import REPEATED_SHARE
from .name_tests import (
    CONTENT_ROLES,
    MEDIA_ROLES,
    MULTI_COLUMN_ROLES,
    ROLES,
    are_rater_numbers,
    is_author_name,
    is_content_part_name,
    is_criterion_name,
    is_score_name,
    rank_name,
)
from .role_words import NAMES_BY_ROLE
from .tables_without_ratings import (
    detect_table_without_ratings,
    find_counts_with_total,
    find_crossed_counts,
    find_frequency,
    find_named_counters,
    find_named_counts,
)
from .wide_tables import WideTables

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


def guess_columns(head: TableHead, *, labels: Iterable[str] = ()) -> ColumnGuess:
    """Guess the layout and the roles of the columns.

    ``labels`` are those of the project's existing questions.
    """
    if tuple(head.names) == documents.COLUMNS:
        return _build_export_guess()
    return _ColumnGuesser(head, set(labels)).guess()


def _build_export_guess() -> ColumnGuess:
    """Return the roles of the columns of Concord's own exports, whatever their values are."""
    names = documents.COLUMNS
    columns = {role: names.index(role) for role in NAMES_BY_ROLE if role in names}
    reasons = {
        index: "name" if name in NAMES_BY_ROLE else "no_role" for index, name in enumerate(names)
    }
    return ColumnGuess("long", columns, reasons=reasons, has_exact_labels=True)


class _ColumnGuesser(WideTables):
    """Guesses the layout of one table."""

    def guess(self) -> ColumnGuess:
        """Return the layout and the role of each column, with the reasons and at most one doubt."""
        self.exclude_unusable_columns()
        self.assign_roles_by_name()
        guess = self._guess_layout()
        if shape := detect_table_without_ratings(self.head):
            guess.doubt, guess.doubtful_columns = shape
        guess.columns = {**self.columns, **guess.columns}
        guess.content_columns = self.content
        for role, index in guess.columns.items():
            is_named = rank_name(self.head.names[index], role) is not None
            self.reasons.setdefault(index, "name" if is_named else "values")
        reasons = dict.fromkeys(guess.attribute_columns, "attribute")
        guess.reasons = reasons | dict.fromkeys(self.content, "content") | self.reasons
        return guess

    # --- layouts

    def _guess_layout(self) -> ColumnGuess:
        if (
            guess := self._guess_counted_labels()
            or self._guess_counted_rows()
            or self._guess_counts_with_total()
        ):
            return guess
        if guess := self._guess_survey() or self._guess_wide_by_names():
            return guess
        self._drop_rater_of_single_rows()
        if "rater" not in self.columns:
            self._set_rater_column_by_values()
        if "rater" in self.columns:
            return self._guess_long()
        if guess := self._guess_double_entry():
            return guess
        self._move_unique_response_to_content()
        if "label" in self.columns:
            return self._guess_without_raters()
        return self._guess_wide_or_items()

    def _guess_counted_labels(self) -> ColumnGuess | None:
        """Return the guess for rows of an item, a label and its number of raters, or None."""
        label, counts = self.columns.get("label"), find_named_counts(self.head)
        if label is None or "rater" in self.columns or len(counts) != 1:
            return None
        free_columns = [index for index in self.list_free_columns() if index not in counts]
        keys = self.list_key_columns() or (free_columns if len(free_columns) == 1 else [])
        rows = list(zip(*(self.head.columns[index].texts for index in keys), strict=True))
        pairs = set(zip(rows, self.head.columns[label].texts, strict=True)) if rows else set()
        if len(set(rows)) == len(rows) or len(pairs) < len(rows):
            return None
        if keys == free_columns:
            self.columns["item"] = keys[0]
            self.reasons[keys[0]] = "only_one_left"
        self.reasons[counts[0]] = "name"
        unused = self.list_free_columns()
        self.reasons |= dict.fromkeys(unused, "no_role")
        return ColumnGuess(
            "long", {"count": counts[0]}, doubt="label_counts", doubtful_columns=counts
        )

    def _move_unique_response_to_content(self) -> None:
        """Make a label column named `response` or similar content if it repeats no text.

        Only in a table that has other content, such as a prompt.
        """
        label = self.columns.get("label")
        if label is None or self.head.columns[label].has_repeats or not self.has_content:
            return
        if is_content_part_name(self.head.names[label]):
            self.content.append(self.columns.pop("label"))

    def _guess_counted_rows(self) -> ColumnGuess | None:
        """Return the guess for a cross table of two raters or a table of combinations, or None."""
        if counts := find_crossed_counts(self.head):
            layout, doubt, role, index = "crossed", "crossed_counts", "label", 0
        elif frequency := find_frequency(self.head):
            layout, doubt, role, index = "combinations", "frequencies", "count", frequency[0]
            counts = [i for i in range(len(self.head.names)) if i not in frequency]
            counts = [i for i in counts if self.reasons.get(i) != "row_numbers"]
        else:
            return None
        self.columns, self.content = {role: index}, []
        used = {index, *counts}
        other_columns = [i for i in range(len(self.head.names)) if i not in used]
        for column in other_columns:
            self.reasons.setdefault(column, "no_role")
        for column in used:
            self.reasons[column] = "values"
        doubtful = counts if layout == "crossed" else [index]
        return ColumnGuess(
            layout, {}, excluded_columns=other_columns, doubt=doubt, doubtful_columns=doubtful
        )

    def _guess_counts_with_total(self) -> ColumnGuess | None:
        """Return the guess for columns that count the ratings of each label, or None."""
        counts = find_named_counters(self.head) or find_counts_with_total(self.head)
        if not counts or "rater" in self.columns:
            return None
        self._release_long_roles()
        return self.build_counts_guess(counts)

    def _drop_rater_of_single_rows(self) -> None:
        """Take the rater role from a column named like `author` if no item has two rows."""
        rater = self.columns.get("rater")
        is_author = rater is not None and is_author_name(self.head.names[rater])
        if rater is not None and is_author and not self.has_repeated_keys():
            del self.columns["rater"]
            self.reasons[rater] = "author"

    def _set_rater_column_by_values(self) -> None:
        """Set the rater column to one whose values are numbered raters: rater_1, rater_2."""
        if self.list_key_columns() and not self.has_repeated_keys():
            return
        for index, cells in enumerate(self.head.columns):
            if (
                index not in self.columns.values()
                and self.reasons.get(index) in (None, "descriptive")
                and cells.has_repeats
                and are_rater_numbers(cells.values)
            ):
                self.columns["rater"] = index
                self.reasons[index] = "values"
                return

    def _guess_long(self) -> ColumnGuess:
        """Return the guess for a table with a column of raters."""
        guess = ColumnGuess("long", {})
        self._set_question_column_as_item()
        self._release_scores_of_raters()
        self._correct_label_column(guess)
        if "label" not in self.columns and not guess.doubt:
            candidates = self._set_item_and_list_label_candidates()
            has_keys = "item" in self.columns or self.has_content
            guess_in_rows = None if has_keys else self._guess_raters_in_rows(candidates)
            if guess_in_rows:
                return guess_in_rows
            self._set_label_columns(guess, candidates)
            if objects := self._list_label_objects():
                guess.doubt, guess.doubtful_columns = "label_objects", objects
        elif "item" not in self.columns and not self.has_content:
            self.set_item_column_by_unique_pairs([])
        if "item" not in self.columns and not self.has_content and not guess.doubt:
            guess.doubt = "no_items"
        if not guess.doubt:
            guess.key_columns, doubt = self.complete_long_key(guess.label_columns)
            guess.doubt, guess.doubtful_columns = doubt
        unused = self.list_free_columns()
        unused = [index for index in unused if index not in guess.label_columns]
        if self.has_content:
            guess.attribute_columns = self.list_attribute_columns(unused)
        for index in unused:
            if index not in guess.attribute_columns:
                self.reasons.setdefault(index, "no_role")
        return guess

    def _list_label_objects(self) -> list[int]:
        """Return the columns named like labels whose cells are all JSON objects or lists."""
        return [
            index
            for index in self.list_free_columns()
            if rank_name(self.head.names[index], "label") is not None
            and self.head.columns[index].filled
            and all(text.startswith(("{", "[")) for text in self.head.columns[index].filled)
        ]

    def _set_item_and_list_label_candidates(self) -> list[int]:
        """Set the item column if there is none, and return the columns that may hold labels."""
        candidates = self.list_label_candidates()
        if "item" in self.columns or self.has_content:
            return candidates
        self.set_item_column_by_unique_pairs(candidates)
        # Another ID of the item is no label.
        return self.list_label_candidates() if "item" in self.columns else candidates

    def _set_question_column_as_item(self) -> None:
        """Use the column `question` as the item column, as in crowd data, if there is no other."""
        question = self.columns.get("question")
        if question is None or "item" in self.columns or self.has_content:
            return
        raters = self.head.columns[self.columns["rater"]]
        cells = self.head.columns[question]
        if len(set(zip(cells.texts, raters.texts, strict=True))) == len(cells.texts):
            self.columns["item"] = self.columns.pop("question")
            self.reasons[question] = "values"

    def _release_scores_of_raters(self) -> None:
        """Release columns named like scores whose values follow from neither item nor rater."""
        for index, reason in list(self.reasons.items()):
            if reason == "derived" and is_score_name(self.head.names[index]):
                del self.reasons[index]
                if index not in self.list_independent_columns():
                    self.reasons[index] = reason

    def _correct_label_column(self, guess: ColumnGuess) -> None:
        """Release a label column that was chosen by its name but whose cells speak against it.

        If it has one value per item, while another column differs between the raters of an item, it
        describes the item. If another such column is named like labels too, the user has to choose.
        """
        label = self.columns.get("label")
        if label is None:
            return
        independent = self.list_independent_columns()
        if independent and self.is_item_attribute(label) and self.has_repeated_keys():
            del self.columns["label"]
            if is_content_part_name(self.head.names[label]):
                self.content.append(label)
            else:
                self.reasons[label] = "one_value"
            return
        rivals = [
            index for index in independent if rank_name(self.head.names[index], "label") is not None
        ]
        if rivals:
            del self.columns["label"]
            guess.doubt, guess.doubtful_columns = "labels_unclear", sorted([label, *rivals])

    def _set_label_columns(self, guess: ColumnGuess, candidates: Sequence[int]) -> None:
        """Set the candidates as label columns, one for each question; add a doubt if unclear."""
        columns = self.head.columns
        if len(candidates) == 1:
            self.columns["label"] = candidates[0]
            self.reasons[candidates[0]] = "only_one_left"
            if columns[candidates[0]].is_constant:
                guess.doubt, guess.doubtful_columns = "labels_unclear", list(candidates)
        elif candidates:
            shared = set.intersection(
                *(set(map(get_normal_form, columns[index].values)) for index in candidates)
            )
            names = [self.head.names[index] for index in candidates]
            is_certain = bool(shared) or rater_columns.differ_only_in_number(names)
            is_certain = is_certain or all(map(is_criterion_name, names))
            guess.label_columns = list(candidates)
            for index in candidates:
                self.reasons[index] = "values"
            marks = {text for index in candidates for text in columns[index].values}
            has_gaps = any(not all(columns[index].texts) for index in candidates)
            if len(marks) == 1 and has_gaps:
                guess.doubt, guess.doubtful_columns = "marks", list(candidates)
            elif not is_certain:
                guess.doubt, guess.doubtful_columns = "labels_unclear", list(candidates)
        else:
            guess.doubt = "no_labels"

    def _guess_double_entry(self) -> ColumnGuess | None:
        """Return the guess for records that two people entered (record_id 1--1, 1--2), or None."""
        item = self.columns.get("item", 0)
        parts = [text.rpartition(DOUBLE_ENTRY) for text in self.head.columns[item].filled]
        keys = [key for key, _, person in parts if key and person.isdigit()]
        # A record without a person was merged from both.
        merged = [text for key, _, text in parts if not key]
        if len(keys) + len(merged) < len(parts) or len(set(keys)) == len(keys):
            return None
        if not set(merged) <= set(keys):
            return None
        self.columns["item"] = item
        self.reasons[item] = "values"
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

    def _doubt_single_rater(self, guess: ColumnGuess, free: Sequence[int]) -> None:
        """Doubt that one rater gave all ratings, or set a column of models as rater to confirm."""
        if joint := [index for index in free if self._names_several_raters(index)]:
            guess.doubt, guess.doubtful_columns = "joint_raters", joint
        elif self.has_repeated_keys(at_least=0 if "item" in self.columns else REPEATED_SHARE):
            guess.doubt = "no_raters"
            guess.doubtful_columns = self.list_columns_distinguishing_rows(free)
        elif models := [] if self.content else self.list_model_columns(free):
            # Beside content, such as a response, it is mostly the author of the content.
            guess.doubt, guess.doubtful_columns = "maybe_model", models[:1]
            self.columns["rater"], self.reasons[models[0]] = models[0], "name"

    def _guess_without_raters(self) -> ColumnGuess:
        """Return the guess for a table that has labels, but no column of raters."""
        guess = ColumnGuess("long", {})
        if not self.has_content and "item" not in self.columns:
            self._set_named_item_column()
        item = self.columns.get("item")
        free = self.list_free_columns()
        if not self.has_content and item is not None:
            label = self.columns["label"]
            shared = rater_columns.find_columns_with_shared_values(
                self.head, [label, *free], self.labels, sure=True
            )
            if len(shared) >= 2 and label in shared and not self.head.columns[item].has_repeats:
                self._release_long_roles()
                return self._build_wide_guess(
                    rater_columns.ValueColumns(
                        {index: (self.head.names[index], "") for index in shared}, "values"
                    )
                )
        if item is None and not self.has_content:
            keys = [index for index in free if self.head.columns[index].is_unique]
            if keys:
                self.columns["item"] = keys[0]
                self.reasons[keys[0]] = "values"
            else:
                guess.doubt = "no_items"
        else:
            self._doubt_single_rater(guess, free)
        free = self.list_free_columns()
        if self.has_content:
            guess.attribute_columns = self.list_attribute_columns(free)
            if further := self.list_further_labels(guess.attribute_columns):
                further.insert(0, self.columns["label"])
                guess.doubt, guess.doubtful_columns = "maybe_labels", further
        for index in self.list_free_columns():
            if index not in guess.attribute_columns:
                self.reasons[index] = "no_role"
        return guess
