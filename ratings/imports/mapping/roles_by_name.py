"""Assign roles to the columns of a table by their names, and exclude unusable columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from projects.services import question_validation
from ratings.imports.decoding.table_times import is_numeric_time

from .column_cells import (
    MAX_LABEL_LENGTH,
    MAX_SHORT_LABEL,
    MEDIA_FILE_PATTERN,
    MIN_COMPUTED_ROWS,
    NUMBER_PATTERN,
    TableHead,
    are_row_numbers,
    is_object_text,
)
from .name_tests import (
    CONTENT_ROLES,
    ITEM_ID_PATTERN,
    MEDIA_ROLES,
    MODEL_ROLES,
    compact_name,
    is_beside_other_name,
    is_content_part_name,
    is_derived_name,
    is_descriptive_name,
    is_index_name,
    is_rating_or_rater_id_name,
    normalize_name,
    rank_name,
    split_numbered_name,
)
from .role_words import NAMES_BY_ROLE
from .tables_without_ratings import find_probability_columns

_NUMBERED_KEY = re.compile(r"[A-Za-z]{0,8}[-_]?\d+([.,]\d+)?")  # 12, p12, post_12


class RolesByName:
    """Roles that the names of the columns suggest, checked against their cells."""

    def __init__(self, head: TableHead, labels: set[str]) -> None:
        self.head = head
        self.labels = labels
        self.columns: dict[str, int] = {}
        self.content: list[int] = []
        self.reasons: dict[int, str] = {}

    # --- columns by name

    def exclude_unusable_columns(self) -> None:
        """Exclude columns that hardly are items, raters or labels, with a reason for each.

        The user can choose them all the same, and some guesses look at excluded columns again.
        """
        head = self.head
        normalized_names = list(map(normalize_name, head.names))
        for index, name in enumerate(head.names):
            cells = head.columns[index]
            if is_index_name(name) and are_row_numbers(cells) and len(head.names) > 1:
                self.reasons[index] = "row_numbers"
            elif is_derived_name(name):
                self.reasons[index] = "derived"
            elif is_beside_other_name(name, normalized_names):
                self.reasons[index] = "beside_other"
            elif (
                is_descriptive_name(name)
                and not is_content_part_name(name)
                and not any(rank_name(name, role) is not None for role in NAMES_BY_ROLE)
            ):
                self.reasons[index] = "descriptive"
        free = self.list_free_columns()
        for index in find_probability_columns(head, free):
            self.reasons[index] = "probability"

    def assign_roles_by_name(self) -> None:
        for role in NAMES_BY_ROLE:
            index = self.find_named_column(role)
            if index is not None:
                self.columns[role] = index
        if not {"rater", "model", "prompt_version"} <= self.columns.keys():
            # Without the other two, `model` is mostly the author of the text that is rated.
            for role in MODEL_ROLES:
                self.columns.pop(role, None)
        self.correct_item_column()
        self.assign_content_columns()
        self.refine_item_column()

    def find_named_column(self, role: str) -> int | None:
        """Return the free column with the best name for the role and suitable cells, or None."""
        # A constant ID, such as that of a task, identifies no items.
        columns = self.head.columns
        ranked = [
            (role == "item" and columns[index].is_constant, rank, index)
            for index in self.list_free_columns()
            if (rank := rank_name(self.head.names[index], role)) is not None
            and self.can_have_role(role, index)
        ]
        return min(ranked)[2] if ranked else None

    def can_have_role(self, role: str, index: int) -> bool:
        """Return whether the cells of a column are compatible with a role."""
        cells = self.head.columns[index]
        texts = cells.filled
        if role == "item" and normalize_name(self.head.names[index]) in MEDIA_ROLES:
            return not self.can_have_role("image", index)
        if role in ("item", "rater"):
            return not texts or not all(text.startswith(("[", "{")) for text in texts)
        if role in ("label", "text") and not self._may_be_label_or_text(role, index):
            return False
        if role in MEDIA_ROLES:
            return bool(texts) and all(MEDIA_FILE_PATTERN.fullmatch(text) for text in texts)
        if role == "rated_at":
            return not cells.is_numeric or all(map(is_numeric_time, texts))
        checks: dict[str, Callable[[str], object]] = {
            "gold": lambda text: len(text) <= MAX_LABEL_LENGTH,
            "question": question_validation.KEY_PATTERN.fullmatch,
            "guidelines": str.isdigit,
            "seconds": NUMBER_PATTERN.fullmatch,
        }
        return all(map(checks.get(role, bool), texts))

    def _may_be_label_or_text(self, role: str, index: int) -> bool:
        """Return whether the cells of a column are compatible with the role `label` or `text`.

        Long texts that are never repeated, such as responses of a model, are content and no labels;
        under a name such as `response`, shorter texts are, too, if there are enough of them.
        Numbers, and numbered keys (of posts, for example) if no other column has IDs of items, are
        no texts.
        """
        cells = self.head.columns[index]
        if role == "label" and cells.filled and all(map(is_object_text, cells.filled)):
            return False
        if role == "text":
            is_only_id = "item" not in self.columns and len(cells.filled) > 1
            is_key = is_only_id and all(map(_NUMBERED_KEY.fullmatch, cells.filled))
            return not (is_key or cells.is_numeric)
        if is_content_part_name(self.head.names[index]):
            is_content = len(cells.filled) >= MIN_COMPUTED_ROWS or self.is_long_text(
                index, factor=1
            )
            return cells.has_repeats or cells.is_numeric or not is_content
        factor = 1 if len(cells.filled) >= MIN_COMPUTED_ROWS else 2
        return cells.has_repeats or not self.is_long_text(index, factor=factor)

    def correct_item_column(self) -> None:
        """Set or correct the item column by the cells of the columns.

        Without an item column but with a rater column, a column named like an ID of items becomes
        it. An item column named `id`, `key` or `record` is replaced by such a column that repeats
        its values; the replaced column then has IDs of rows or of raters.
        """
        head, item = self.head, self.columns.get("item")
        named_items = [index for index in self.list_free_columns() if self.is_item_name(index)]
        if item is None:
            # Not a column of the ratings themselves, such as annotation_id.
            named_items = [index for index in named_items if head.columns[index].filled]
            if named_items and "rater" in self.columns:
                repeated = [index for index in named_items if head.columns[index].has_repeats]
                self.columns["item"] = (repeated or named_items)[0]
                self.reasons[self.columns["item"]] = "name"
            return
        cells = head.columns[item]
        repeated = [index for index in named_items if head.columns[index].has_repeats]
        name = compact_name(head.names[item])
        # In an experiment, a subject responds to stimuli.
        stimuli = [index for index in repeated if compact_name(head.names[index])[:4] == "stim"]
        is_subject = name.startswith("subj") and bool(stimuli)
        if not repeated or not (is_subject or name in ("id", "key", "record")):
            return
        named_item = (stimuli or repeated)[0]
        pairs = set(zip(cells.texts, head.columns[named_item].texts, strict=True))
        if "rater" in self.columns:
            if cells.is_unique:
                self.reasons[item] = "row_id"
                self.columns["item"] = named_item
        elif cells.has_repeats and len(pairs) == len(cells.texts):
            self.columns |= {"item": named_item, "rater": item}
            self.reasons |= {item: "values", named_item: "name"}

    def refine_item_column(self) -> None:
        """Replace an item column such as `doc` whose keys have several contents each.

        The new column, such as `segment_id`, has one content for each key. Without raters, and
        beside content, a column named like an ID of items becomes the item column.
        """
        item = self.columns.get("item")
        content = [self.columns[role] for role in CONTENT_ROLES if role in self.columns]
        content += self.content
        if item is None and content and "rater" not in self.columns:
            self._set_item_column_beside_content()
            return
        if (
            item is None
            or "rater" not in self.columns
            or self._has_one_content_per_key(item, content)
        ):
            return
        for index in self.list_free_columns():
            cells = self.head.columns[index]
            if (
                self.is_item_name(index)
                and cells.has_repeats
                and len(cells.filled) == len(cells.texts)
                and self._has_one_content_per_key(index, content)
            ):
                self.columns["item"] = index
                self.reasons[index] = "one_content"
                return

    def _set_item_column_beside_content(self) -> None:
        """Set the item column to one named like an ID (prompt_id) that differs in every row."""
        for index in self.list_free_columns():
            if self.is_item_name(index) and self.head.columns[index].is_unique:
                self.columns["item"] = index
                self.reasons[index] = "name"
                return

    def _has_one_content_per_key(self, item: int, content: Sequence[int]) -> bool:
        """Return whether rows with the same key in the column ``item`` have the same content."""
        keys = self.head.columns[item]
        return all(
            not keys.has_repeats or self.head.columns[index].is_determined_by(keys)
            for index in content
        )

    def is_item_name(self, index: int) -> bool:
        name = normalize_name(self.head.names[index])
        if rank_name(name, "item") is not None:
            return True
        return bool(ITEM_ID_PATTERN.fullmatch(name)) and not is_rating_or_rater_id_name(name)

    def assign_content_columns(self) -> None:
        """Make columns content by their names; if there are none, by the length of the texts."""
        free = self.list_free_columns()
        self.content = [
            index
            for index in free
            if is_content_part_name(self.head.names[index])
            and not self.head.columns[index].is_numeric
            and (
                split_numbered_name(self.head.names[index]) is None
                or self.is_long_text(index, factor=1)
            )
        ]
        if self.content or any(role in self.columns for role in CONTENT_ROLES):
            return
        self.content = [index for index in free if self.is_long_text(index, factor=2)]

    def is_long_text(self, index: int, *, factor: int) -> bool:
        texts = self.head.columns[index].filled
        mean_limit = factor * MAX_SHORT_LABEL
        is_list = all(text.startswith(("[", "{")) for text in texts)
        return bool(texts) and not is_list and sum(map(len, texts)) > mean_limit * len(texts)

    def list_free_columns(self) -> list[int]:
        """Return the columns without a role, content, or a reason in ``reasons``."""
        used = {*self.columns.values(), *self.content, *self.reasons}
        return [index for index in range(len(self.head.names)) if index not in used]

    @property
    def has_content(self) -> bool:
        return bool(self.content) or any(role in self.columns for role in CONTENT_ROLES)
