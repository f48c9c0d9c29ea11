"""Find the columns of labels and of items by their cells, in a table with a rater column."""

from __future__ import annotations

from collections.abc import Sequence

from .column_cells import MAX_LABELS
from .column_names import CONTENT_ROLES, normalize_name
from .named_roles import NamedRoles
from .rater_columns import differ_only_in_number


class LabelAndItemColumns(NamedRoles):
    """Chooses columns of a table that has a column of raters."""

    def set_item_column_by_unique_pairs(self, candidates: Sequence[int]) -> None:
        """Set the item column: with the raters it makes each row unique."""
        raters = self.head.columns[self.columns["rater"]]
        if not raters.has_repeats:
            return
        for index in self.list_free_columns():
            cells = self.head.columns[index]
            pairs = set(zip(cells.texts, raters.texts, strict=True))
            is_key = len(pairs) == len(cells.texts) and len(cells.filled) == len(cells.texts)
            if is_key and len(cells.values) > 1 and index not in candidates[1:]:
                self.columns["item"] = index
                self.reasons[index] = "pairs"
                return

    def list_key_columns(self) -> list[int]:
        """Return the columns that identify the item: its ID, else its content."""
        keys = [self.columns[role] for role in ("item", *CONTENT_ROLES) if role in self.columns]
        return keys[:1] if "item" in self.columns else [*keys, *self.content]

    def is_item_attribute(self, index: int) -> bool:
        """Return whether a column has one value for each item: an attribute of the item."""
        item = next(iter(self.list_key_columns()), None)
        cells = self.head.columns[index]
        if item is None:
            return True
        values: dict[str, str] = {}
        return all(
            values.setdefault(key, text) == text
            for key, text in zip(self.head.columns[item].texts, cells.texts, strict=True)
        )

    def list_label_candidates(self) -> list[int]:
        """Return the columns that may hold labels by their cells.

        Not those that describe the item or the rater, unless none else is left.
        """
        columns = self.head.columns
        likely = self._list_likely_columns()
        varied = [index for index in likely if not columns[index].is_constant]
        independent = self.list_independent_columns()
        if independent:
            # Where all raters agree on a question, its labels seem to describe the item.
            return [
                index
                for index in likely
                if index in independent or self._resembles_any(index, independent)
            ]
        return [index for index in varied if len(columns[index].values) <= MAX_LABELS] or likely

    def _list_likely_columns(self) -> list[int]:
        columns = self.head.columns
        return [
            index
            for index in self.list_free_columns()
            if (columns[index].is_label_like or columns[index].is_numeric)
            and not normalize_name(self.head.names[index]).endswith("_id")
        ]

    def list_independent_columns(self) -> list[int]:
        """Return the columns that may hold labels and depend on neither the item nor the rater."""
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
        """Return whether all values of a column are in another one, or the names are alike."""
        names, columns = self.head.names, self.head.columns
        return any(
            differ_only_in_number([names[index], names[candidate]])
            or (
                columns[index].values <= columns[candidate].values
                # One number in all rows may be anything, such as a round.
                and not (columns[index].is_numeric and len(columns[index].values) == 1)
            )
            for candidate in candidates
        )
