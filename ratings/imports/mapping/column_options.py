"""Apply the column roles and the layout that a user names to a guessed mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from projects.models import Scale

from .import_mapping import ImportMapping
from .label_and_item_columns import LabelAndItemColumns
from .layout_guess import CONTENT_ROLES, LONG_ROLES, MULTI_COLUMN_ROLES, ROLES, TableHead
from .name_tests import RESPONDENT_ROLES, is_frequency_name
from .tables_without_ratings import is_total_name

# Roles of ratings that other layouts than the long one have.
OWN_ROLES = {
    "raters": RESPONDENT_ROLES,
    "crossed": frozenset({"label"}),
    "combinations": frozenset({"count"}),
}
# Columns that are no raters unless the user says so.
UNUSABLE_REASONS = (
    "derived", "computed", "descriptive", "beside_other", "probability", "row_numbers", "row_id"
)  # fmt: skip


class InvalidImportOptions(ValueError):
    """The options cannot be applied to this file; the message says why."""


def parse_column_roles(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Return (role, column name) of each ROLE=COLUMN. Raises InvalidImportOptions."""
    column_roles = []
    allowed = (*ROLES, *MULTI_COLUMN_ROLES)
    for argument in arguments:
        role, separator, column = argument.partition("=")
        if not separator or role not in allowed:
            raise InvalidImportOptions(
                f"--map {argument}: use ROLE=COLUMN with one of the roles {', '.join(allowed)}."
            )
        column_roles.append((role, column))
    return column_roles


def parse_scales(text: str) -> dict[str, str]:
    """Return question key -> scale of "ordinal" or "quality=ordinal,topic=nominal".

    The key of all other questions is empty. Raises InvalidImportOptions.
    """
    scales = {}
    for part in text.split(","):
        key, _separator, scale = part.strip().rpartition("=")
        if scale not in Scale.values:
            raise InvalidImportOptions(
                f"--scale {text}: use one of {', '.join(Scale.values)}, or QUESTION=SCALE for each "
                "question, separated by commas."
            )
        scales[key] = scale
    return scales


def apply_options(
    mapping: ImportMapping,
    head: TableHead,
    *,
    columns: Sequence[tuple[str, str]],
    layout: str,
    rater: str,
    duplicates: str,
) -> None:
    """Apply the roles of columns, the layout, the only rater and the policy that a user names.

    ``duplicates``: a key of DUPLICATE_POLICIES, or empty. Raises InvalidImportOptions.
    """
    mapping.default_rater = rater or mapping.default_rater
    apply_column_options(mapping, head, columns=columns, layout=layout)
    has_one_rater = rater and "rater" not in mapping.columns
    if mapping.doubt in ("no_raters", "joint_raters", "no_items") and has_one_rater:
        # One person rated one row after another, unless a column has the items.
        mapping.rows_are_items = mapping.doubt == "no_items"
        mapping.doubt = ""
    if duplicates and mapping.doubt == "incomplete_key":
        mapping.doubt = ""  # the user has decided what further rows of an item are


def apply_column_options(
    mapping: ImportMapping, head: TableHead, *, columns: Sequence[tuple[str, str]], layout: str
) -> None:
    """Apply (role, column name) pairs and a layout to the guessed mapping.

    An empty name removes the guess of a role. Several columns of labels are a question each,
    several columns of raters are the raters of a wide table, several columns of items are the parts
    of one ID. Raises InvalidImportOptions.
    """
    if not columns and not layout:
        return
    indexes_by_role = _get_indexes_by_role(head, columns)
    used = {index for indexes in indexes_by_role.values() for index in indexes}
    is_decided = layout or _decides_doubt(mapping, indexes_by_role, used)
    guessed_doubt = ("", []) if is_decided else (mapping.doubt, mapping.doubtful_columns)
    mapping.doubt, mapping.doubtful_columns = "", []
    for index in used:
        mapping.reasons[str(index)] = "user"
    mapping.columns = {
        role: index
        for role, index in mapping.columns.items()
        if index not in used and role not in indexes_by_role
    }
    ignored = indexes_by_role.pop("ignore", [])
    for role, name in (("content", "content_columns"), ("attributes", "attribute_columns")):
        guessed = [index for index in getattr(mapping, name) if index not in used]
        setattr(mapping, name, indexes_by_role.pop(role, guessed))
    guessed_layout = mapping.layout
    mapping.excluded_columns = [i for i in mapping.excluded_columns if i not in used] + ignored
    raters = indexes_by_role.get("rater", [])
    labels = indexes_by_role.pop("label", [])
    mapping.key_columns = [index for index in mapping.key_columns if index not in used]
    has_item = "item" in indexes_by_role
    if has_item:
        mapping.key_columns = indexes_by_role["item"][1:]
        del indexes_by_role["item"][1:]
    mapping.layout = layout or _choose_layout(mapping, indexes_by_role, labels)
    if mapping.layout == "wide" and raters:
        indexes_by_role.pop("rater")
    _set_label_columns(mapping, labels, used)
    mapping.columns |= {role: indexes[-1] for role, indexes in indexes_by_role.items() if indexes}
    if mapping.layout != "long":
        _release_long_roles(mapping, head, guessed_layout, used)
    if mapping.layout == "wide" and raters:
        mapping.value_columns = {}
        described = {*mapping.columns.values(), *mapping.content_columns}
        described |= {*mapping.attribute_columns, *raters}
        mapping.excluded_columns = [i for i in range(len(head.names)) if i not in described]
    mapping.excluded_columns = list(dict.fromkeys([*mapping.excluded_columns, *ignored]))
    _number_rows_without_keys(mapping)
    _add_doubt_on_missing_role(mapping)
    if not mapping.doubt and not has_item:
        _complete_item_key(mapping, head)
    if guessed_doubt[0]:
        mapping.doubt, mapping.doubtful_columns = guessed_doubt


def _decides_doubt(
    mapping: ImportMapping, indexes_by_role: Mapping[str, object], used: set[int]
) -> bool:
    """Return whether the named roles decide the doubt about the guess.

    They do if they name raters, labels or counts, or one of the doubtful columns.
    """
    is_about_ratings = not {"rater", "label", "count"}.isdisjoint(indexes_by_role)
    return (
        is_about_ratings
        or not mapping.doubtful_columns
        or not used.isdisjoint(mapping.doubtful_columns)
    )


def _get_indexes_by_role(
    head: TableHead, columns: Sequence[tuple[str, str]]
) -> dict[str, list[int]]:
    """Return role -> indexes of the named columns."""
    index_by_name = {name: index for index, name in enumerate(head.names)}
    indexes_by_role: dict[str, list[int]] = {}
    for role, name in columns:
        if name and name not in index_by_name:
            raise InvalidImportOptions(
                f"there is no column '{name}'; one of {', '.join(head.names)}"
            )
        indexes_by_role.setdefault(role, []).extend([index_by_name[name]] if name else [])
    return indexes_by_role


def _choose_layout(
    mapping: ImportMapping, indexes_by_role: dict[str, list[int]], labels: Sequence[int]
) -> str:
    """Return the layout that follows from the named roles, else the guessed one."""
    if len(indexes_by_role.get("rater", [])) > 1:
        return "wide"
    if labels or (mapping.layout == "long" and "label" in mapping.columns):
        return "long"
    if mapping.layout == "long" and len(mapping.label_columns) < 2:
        return "items"
    return mapping.layout


def _set_label_columns(mapping: ImportMapping, labels: list[int], used: set[int]) -> None:
    """Set the column of labels, or several of them."""
    remaining = [index for index in mapping.label_columns if index not in used]
    mapping.label_columns = labels if len(labels) > 1 else ([] if labels else remaining)
    if len(mapping.label_columns) == 1:
        labels, mapping.label_columns = mapping.label_columns, []
    if len(mapping.label_columns) > 1:
        mapping.columns.pop("label", None)
    elif labels:
        mapping.columns["label"] = labels[0]


def _release_long_roles(
    mapping: ImportMapping, head: TableHead, guessed_layout: str, used: set[int]
) -> None:
    """Free the columns whose roles the layout does not have."""
    roles = OWN_ROLES.get(mapping.layout, frozenset())
    released = {
        role: mapping.columns.pop(role)
        for role in LONG_ROLES
        if role not in roles and mapping.columns.get(role, -1) not in (-1, *used)
    }
    is_turned = (guessed_layout, mapping.layout) == ("raters", "wide")
    if is_turned and "rater" in released:  # what names the rows names items now
        mapping.columns.setdefault("item", released.pop("rater"))
    other_columns = [*mapping.excluded_columns, *released.values()] if is_turned else []
    mapping.label_columns = []
    if mapping.layout != guessed_layout:
        mapping.value_columns = {}
    if mapping.layout in ("crossed", "combinations"):
        mapping.columns = {role: i for role, i in mapping.columns.items() if role in roles}
        mapping.content_columns = []
    if mapping.layout == "crossed":
        mapping.columns.setdefault("label", 0)
    elif guessed_layout == "crossed":
        mapping.columns.setdefault("item", 0)
    if mapping.layout not in (guessed_layout, "items"):
        described = {*mapping.columns.values(), *mapping.content_columns, *used}
        mapping.attribute_columns = [i for i in mapping.attribute_columns if i in used]
        mapping.excluded_columns = [
            index
            for index in range(len(head.names))
            if index not in described
            and (index in other_columns or _is_no_value(mapping, head, index, guessed_layout))
        ]


def _is_no_value(mapping: ImportMapping, head: TableHead, index: int, guessed_layout: str) -> bool:
    """Return whether a column has neither a rater's labels nor numbers in the chosen layout."""
    name = head.names[index]
    return (
        mapping.reasons.get(str(index)) in UNUSABLE_REASONS
        or (mapping.layout != "combinations" and is_frequency_name(name))
        or ("crossed" in (mapping.layout, guessed_layout) and is_total_name(name))
    )


def _number_rows_without_keys(mapping: ImportMapping) -> None:
    """Take the row numbers for items (or raters) if no column has them and the layout allows it."""
    has_keys = "item" in mapping.columns or _has_content(mapping)
    mapping.rows_are_items = not has_keys and mapping.layout in ("wide", "counts", "items")
    if mapping.layout == "raters":
        mapping.rows_are_items = "rater" not in mapping.columns


def _has_content(mapping: ImportMapping) -> bool:
    return bool(mapping.content_columns) or any(role in mapping.columns for role in CONTENT_ROLES)


def _add_doubt_on_missing_role(mapping: ImportMapping) -> None:
    """Add a doubt to the mapping if no column has a role that its layout needs."""
    if mapping.layout == "long":
        if "label" not in mapping.columns and len(mapping.label_columns) < 2:
            mapping.doubt = "no_labels"
        elif "item" not in mapping.columns and not _has_content(mapping):
            mapping.doubt = "no_items"
    if mapping.layout == "combinations" and "count" not in mapping.columns:
        mapping.doubt = "no_count"


def _complete_item_key(mapping: ImportMapping, head: TableHead) -> None:
    """Complete the guessed item ID, or add the doubt about it that the named roles leave."""
    if mapping.layout != "long" or "rater" not in mapping.columns:
        return
    guesser = LabelAndItemColumns(head, set())
    guesser.columns, guesser.content = dict(mapping.columns), mapping.content_columns
    guesser.reasons = {int(index): reason for index, reason in mapping.reasons.items()}
    mapping.key_columns, doubt = guesser.complete_long_key(mapping.label_columns)
    mapping.doubt, mapping.doubtful_columns = doubt
    mapping.columns = guesser.columns
    mapping.reasons = {str(index): reason for index, reason in guesser.reasons.items()}
