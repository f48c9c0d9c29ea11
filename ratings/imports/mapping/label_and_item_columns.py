"""Find the columns of labels and of items by their cells, in a table with a rater column."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ratings.label_normalization import get_normal_form

from .column_cells import MAX_LABELS, MEDIA_FILE_PATTERN
from .name_tests import (
    CONTENT_ROLES,
    is_answer_name,
    is_counting_name,
    is_criterion_name,
    is_key_part_name,
    is_model_column_name,
    is_preference_name,
    normalize_name,
    rank_name,
)
from .rater_columns import differ_only_in_number, is_system_number
from .roles_by_name import RolesByName

REDUCTION = 10  # a column that makes repeats this many times rarer is a part of the item's ID
MIN_CUT_ROWS = 500  # rows of a sample that probably does not have all rows of the file
_NUMBER_LIST = re.compile(r"\[\s*\d+(\s*,\s*\d+)+\s*\]")
REPEATED_SHARE = 0.25  # with so many repeats among the rows, a part of the item's ID may be missing


class LabelAndItemColumns(RolesByName):
    """Choose the label and item columns of a table whose rater column is known."""

    def set_item_column_by_unique_pairs(self, candidates: Sequence[int]) -> None:
        """Set the item column to one in which no rater has the same value twice, if there is one.

        ``candidates`` may be the label column; of these, only the first may become the item column.
        """
        raters = self.head.columns[self.columns["rater"]]
        if not raters.has_repeats:
            return
        free = self.list_free_columns()
        # Tried last: columns with a different value in every row, which probably number ratings,
        # and numbers, which may be the item's position in the rater's own order.
        free.sort(
            key=lambda index: (
                not self.head.columns[index].has_repeats,
                self.head.columns[index].is_numeric,
            )
        )
        # In a table that was melted, the numbers of rows begin with 1 for each rater.
        described = [i for i, reason in self.reasons.items() if reason == "descriptive"]
        free += [i for i in described if is_key_part_name(self.head.names[i])]
        for index in free:
            cells = self.head.columns[index]
            pairs = set(zip(cells.texts, raters.texts, strict=True))
            is_key = len(pairs) == len(cells.texts) and len(cells.filled) == len(cells.texts)
            if is_key and len(cells.values) > 1 and index not in candidates[1:]:
                self.columns["item"] = index
                self.reasons[index] = "values"
                return

    def complete_long_key(
        self, answers: Collection[int]
    ) -> tuple[list[int], tuple[str, list[int]]]:
        """Return the further columns of the item's ID, and the doubt about it with its columns.

        The doubt is "" if there is none. ``answers`` are the label columns.
        """
        parts, doubtful = self.complete_item_key(answers)
        if doubtful:
            return parts, ("incomplete_key", doubtful)
        content = self.list_missing_content(answers)
        return parts, ("incomplete_content" if content else "", content)

    def complete_item_key(self, answers: Collection[int]) -> tuple[list[int], list[int]]:
        """Return further columns of the item's ID, and columns from which the user has to choose.

        If raters have several rows of an item, such as the sentences of a document, other columns
        may distinguish these rows. A column that does so alone becomes the item column instead.
        ``answers`` are the label columns.
        """
        item = self.columns.get("item")
        if item is None:
            return [], []
        columns = self.head.columns
        others = [self.columns[role] for role in ("rater", "question") if role in self.columns]
        n_rows = len(self.head.sample_rows)

        def count_repeats(*keys: int) -> int:
            rows = zip(*(columns[index].texts for index in [*keys, *others]), strict=True)
            return n_rows - len(set(rows))

        n_repeats = count_repeats(item)
        candidates = self._list_key_parts({*self.columns.values(), *self.content, *answers})
        for index in candidates:
            is_item = self._is_key_part(index) and REDUCTION * count_repeats(index) <= n_repeats
            if n_repeats and is_item and columns[item].is_determined_by(columns[index]):
                self.columns["item"] = index
                self.reasons[index] = "values"
                self.reasons.pop(item, None)
                return [], []
        parts = systems = self._list_systems_of_item(item)
        remaining = count_repeats(item, *parts)
        for index in candidates:
            n_left = count_repeats(item, *parts, index)
            is_part = n_left < remaining if self._is_key_part(index) else 2 * n_left <= remaining
            if REDUCTION * remaining > n_repeats and is_part and index not in parts:
                parts = [*parts, index]
                remaining = n_left
        if systems:
            return [], [item, *parts]
        if not parts or REDUCTION * remaining > n_repeats:
            return [], []
        if all(map(self._is_key_part, parts)):
            self.reasons |= dict.fromkeys(parts, "key_part")
            return parts, []
        return [], [item, *parts] if n_repeats >= REPEATED_SHARE * n_rows else []

    def list_missing_content(self, answers: Collection[int]) -> list[int]:
        """Return at most one column that distinguishes items of equal content.

        An example is the model, in a table with a row for each model that answered a prompt. Empty
        if fewer than REPEATED_SHARE of the rows repeat the content and rater of another row, and in
        a table without raters. ``answers`` are the label columns.
        """
        if "item" in self.columns or "rater" not in self.columns or not self.has_content:
            return []
        columns = self.head.columns
        keys = [*self.list_key_columns(), self.columns["rater"]]
        n_rows = len(self.head.sample_rows)

        def count_repeats(*keys: int) -> int:
            return n_rows - len(set(zip(*(columns[i].texts for i in keys), strict=True)))

        n_repeats = count_repeats(*keys)
        if n_repeats < REPEATED_SHARE * n_rows:
            return []
        parts = self._list_key_parts({*self.columns.values(), *self.content, *answers})
        return [i for i in parts if REDUCTION * count_repeats(*keys, i) <= n_repeats][:1]

    def _list_systems_of_item(self, item: int) -> list[int]:
        """Return columns such as model_a and model_b if they differ between rows of an item.

        Only in a table with a column such as `winner`; otherwise [].
        """
        names, columns = self.head.names, self.head.columns
        systems = [index for index, name in enumerate(names) if is_system_number(name)]
        is_fixed = all(columns[index].is_determined_by(columns[item]) for index in systems)
        is_comparison = any(map(is_preference_name, names)) and columns[item].has_repeats
        is_used = any(index in self.columns.values() for index in systems)
        return systems if is_comparison and not is_fixed and not is_used else []

    def _list_key_parts(self, used: Collection[int]) -> list[int]:
        """Return the columns that may be part of the item's ID, best names first."""
        columns = self.head.columns
        candidates = [
            index
            for index in range(len(columns))
            if index not in used
            and (self.reasons.get(index) in (None, "no_role", "one_value", "descriptive"))
            and len(columns[index].filled) == len(columns[index].texts)
            and columns[index].has_repeats
            and not columns[index].has_times
            and not (columns[index].is_numeric and columns[index].has_fractions)
        ]
        return sorted(candidates, key=lambda index: not self._is_key_part(index))

    def _is_key_part(self, index: int) -> bool:
        name = self.head.names[index]
        return self.is_item_name(index) or is_key_part_name(name)

    def list_key_columns(self) -> list[int]:
        """Return the columns that identify the item: its ID column, else its content columns."""
        keys = [self.columns[role] for role in ("item", *CONTENT_ROLES) if role in self.columns]
        return keys[:1] if "item" in self.columns else [*keys, *self.content]

    def has_repeated_keys(self, *, at_least: float = 0.0) -> bool:
        """Return whether rows repeat items; ``at_least``: the minimum share of such rows."""
        keys = [self.head.columns[index].texts for index in self.list_key_columns()]
        rows = list(zip(*keys, strict=True))
        n_repeats = len(rows) - len(set(rows))
        return n_repeats > 0 and n_repeats >= at_least * len(rows)

    def list_columns_distinguishing_rows(self, indexes: Sequence[int]) -> list[int]:
        """Return those of the columns that have a different value in each row of an item.

        Columns that repeat no value at all are left out, because they number the rows. Columns
        named like a column of models come first. A column must identify the items.
        """
        columns = self.head.columns
        keys = [columns[index].texts for index in self.list_key_columns()]
        return [
            index
            for index in sorted(
                indexes, key=lambda index: not is_model_column_name(self.head.names[index])
            )
            if columns[index].has_repeats
            and len(set(zip(*keys, columns[index].texts, strict=True))) == len(keys[0])
        ]

    def list_model_columns(self, indexes: Sequence[int]) -> list[int]:
        """Return those of the columns that are named like a column of models and repeat values.

        In a table of one row, they need not repeat any.
        """
        return [
            index
            for index in indexes
            if is_model_column_name(self.head.names[index])
            and (self.head.columns[index].has_repeats or len(self.head.sample_rows) == 1)
        ]

    def is_item_attribute(self, index: int) -> bool:
        """Return whether a column has one value per item; True if no column identifies items."""
        item = next(iter(self.list_key_columns()), None)
        cells = self.head.columns[index]
        if item is None:
            return True
        values: dict[str, str] = {}
        return all(
            values.setdefault(key, text) == text
            for key, text in zip(self.head.columns[item].texts, cells.texts, strict=True)
        )

    def list_attribute_columns(self, indexes: Sequence[int]) -> list[int]:
        """Return those of ``indexes`` and the descriptive columns that have one value per item."""
        described = [i for i, reason in self.reasons.items() if reason == "descriptive"]
        return [index for index in sorted([*indexes, *described]) if self.is_item_attribute(index)]

    def may_be_answers(self, index: int) -> bool:
        """Return whether a column taken for an attribute of items may have ratings instead."""
        cells = self.head.columns[index]
        name = self.head.names[index]
        if any(text.startswith(("[{", "{")) for text in cells.filled):
            return True
        if cells.filled and all(map(_NUMBER_LIST.fullmatch, cells.filled)):
            return True
        return cells.is_label_like and (is_answer_name(name) or is_criterion_name(name))

    def list_further_labels(self, indexes: Sequence[int]) -> list[int]:
        """Return the columns named like answers that have no other labels than the label column."""
        columns = self.head.columns
        labels = set(map(get_normal_form, columns[self.columns["label"]].values))
        return [
            index
            for index in indexes
            if is_answer_name(self.head.names[index])
            and columns[index].values
            and set(map(get_normal_form, columns[index].values)) <= labels
        ]

    def list_raters_with_empty_sample(self, indexes: Sequence[int]) -> list[int]:
        """Return the columns that look like labels, then the empty ones; [] unless there are both.

        If the file has more rows than were read, the labels of a rater may begin in later rows.
        """
        columns = self.head.columns
        is_cut = len(self.head.sample_rows) >= MIN_CUT_ROWS
        empty = [index for index in indexes if is_cut and not columns[index].filled]
        labels = [
            index
            for index in indexes
            if columns[index].is_label_like and len(columns[index].values) <= MAX_LABELS
        ]
        return [*labels, *empty] if labels and empty else []

    def list_label_candidates(self) -> list[int]:
        """Return the columns that may hold labels by their cells.

        Columns that describe the item or the rater are left out unless no others remain.
        """
        columns = self.head.columns
        likely = self._list_likely_columns()
        labels = self.list_independent_columns() or [
            index
            for index in likely
            if not columns[index].is_constant and len(columns[index].values) <= MAX_LABELS
        ]
        # Where all raters agree on a question, its labels seem to describe the item.
        return [
            index for index in likely if index in labels or self._resembles_any(index, labels)
        ] or likely

    def _list_likely_columns(self) -> list[int]:
        columns, names = self.head.columns, self.head.names
        has_verdict = any(map(is_preference_name, names))  # about model_a and model_b
        return [
            index
            for index in self.list_free_columns()
            if not (has_verdict and is_system_number(names[index]))
            and (columns[index].is_label_like or columns[index].is_numeric)
            and not all(map(MEDIA_FILE_PATTERN.fullmatch, columns[index].filled))
            and not normalize_name(names[index]).endswith("_id")
            and not (columns[index].is_numeric and is_counting_name(names[index]))
        ]

    def list_independent_columns(self) -> list[int]:
        """Return the columns that may hold labels and depend on neither item nor rater."""
        columns = self.head.columns
        keys = [self.columns[role] for role in ("item", *CONTENT_ROLES) if role in self.columns]
        keys += self.content
        raters = columns[self.columns["rater"]] if "rater" in self.columns else None
        return [
            index
            for index in self._list_likely_columns()
            if not columns[index].is_constant
            and not any(columns[index].is_determined_by(columns[key]) for key in keys)
            and not (raters and columns[index].is_determined_by(raters))
        ]

    def _resembles_any(self, index: int, candidates: Sequence[int]) -> bool:
        """Return whether a column resembles one of the candidates.

        Its values all occur in the candidate, their names differ only in a number, or it is named
        like a criterion and has label-like values.
        """
        names, columns = self.head.names, self.head.columns
        if is_criterion_name(names[index]) and columns[index].is_label_like:
            return bool(candidates)
        return any(
            differ_only_in_number([names[index], names[candidate]])
            or (
                columns[index].values <= columns[candidate].values
                # One number in all rows may be anything, such as a round.
                and not (columns[index].is_numeric and len(columns[index].values) == 1)
            )
            for candidate in candidates
        )

    def _set_named_item_column(self) -> None:
        """Set the item column to one whose name suggests an ID of items, such as prompt_id."""
        named = [index for index in self.list_free_columns() if self.is_item_name(index)]
        if named:
            self.columns["item"] = named[0]
            self.reasons[named[0]] = "name"

    def _names_several_raters(self, index: int) -> bool:
        """Return whether cells of a column such as `annotators` name several people."""
        name = self.head.names[index].strip()
        return (
            name.endswith("s")
            and rank_name(name.removesuffix("s"), "rater") is not None
            and any(re.search(r"[|;,]", text) for text in self.head.columns[index].filled)
        )
