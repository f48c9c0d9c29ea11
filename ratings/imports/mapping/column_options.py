"""Apply the column roles and the layout that a user names to a guessed mapping."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

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
    """Return question key -> scale from "ordinal" or "quality=ordinal,topic=nominal".

    A scale without a key applies to all other questions and has the key "". Raises
    InvalidImportOptions.
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
    """Apply a user's options to the mapping: column roles, layout, and the only rater.

    ``rater`` is the rater of a table without raters, ``duplicates`` a key of DUPLICATE_POLICIES or
    "again"; both may be empty. ``duplicates`` is not stored: it only decides doubts about repeated
    rows. Raises InvalidImportOptions.
    """
    mapping.default_rater = rater or mapping.default_rater
    apply_column_options(mapping, head, columns=columns, layout=layout)
    if rater and mapping.doubt == "maybe_model":
        del mapping.columns["rater"]
        mapping.doubt = ""
    has_one_rater = rater and "rater" not in mapping.columns
    if mapping.doubt in ("no_raters", "joint_raters", "no_items") and has_one_rater:
        # One person rated one row after another, unless a column has the items.
        mapping.rows_are_items = mapping.doubt == "no_items"
        mapping.doubt = ""
    if duplicates and mapping.doubt in ("incomplete_key", "no_raters"):
        mapping.doubt = ""  # the user has decided what further rows of an item are


def apply_column_options(
    mapping: ImportMapping, head: TableHead, *, columns: Sequence[tuple[str, str]], layout: str
) -> None:
    """Apply (role, column name) pairs and a layout to the guessed mapping.

    An empty column name removes the guessed column of a role, but not several guessed label
    columns. Several label columns are one question each, several rater columns are the raters of a
    wide table, and several item columns are joined to one ID. Raises InvalidImportOptions.
    """
    if not columns and not layout:
        return
    roles = _get_indexes_by_role(head, columns)
    used = {index for indexes in roles.values() for index in indexes}
    guess = dataclasses.replace(mapping)
    mapping.doubt, mapping.doubtful_columns = "", []
    mapping.reasons = guess.reasons | dict.fromkeys(map(str, used), "user")
    mapping.columns = {
        role: index
        for role, index in guess.columns.items()
        if index not in used and role not in roles
    }
    mapping.content_columns = roles.get("content", _remove_used(guess.content_columns, used))
    mapping.attribute_columns = roles.get("attributes", _remove_used(guess.attribute_columns, used))
    mapping.key_columns = roles.get("item", [-1, *_remove_used(guess.key_columns, used)])[1:]
    mapping.layout = layout or _choose_layout(mapping, roles)
    _set_label_columns(mapping, roles.get("label", []), used)
    mapping.columns |= _get_single_columns(roles, mapping.layout)
    if mapping.layout != "long":
        _release_long_roles(mapping, guess, used)
    if mapping.layout == "wide" and roles.get("rater"):
        mapping.value_columns = {}
    mapping.excluded_columns = _list_excluded_columns(mapping, head, guess, roles)
    _number_rows_without_keys(mapping)
    _add_doubt_on_missing_role(mapping)
    if not mapping.doubt and "item" not in roles:
        _complete_item_key(mapping, head)
    if not layout and not _is_doubt_decided(guess, roles, used):
        mapping.doubt, mapping.doubtful_columns = guess.doubt, guess.doubtful_columns


def _get_single_columns(roles: Mapping[str, Sequence[int]], layout: str) -> dict[str, int]:
    """Return role -> column for the roles that only one column can have.

    Without the label, and in the wide layout without the rater. Of several columns of a role, it is
    the last one, of several item columns the first.
    """
    single_roles = {*ROLES} - {"label"} - ({"rater"} if layout == "wide" else set())
    return {
        role: indexes[0 if role == "item" else -1]
        for role, indexes in roles.items()
        if indexes and role in single_roles
    }


def _remove_used(indexes: Sequence[int], used: Collection[int]) -> list[int]:
    return [index for index in indexes if index not in used]


def _is_doubt_decided(guess: ImportMapping, roles: Mapping[str, object], used: set[int]) -> bool:
    """Return whether the columns that the user named decide the doubt about the guess, if any.

    They do if they have the role of raters, labels or counts, if one of them is a doubtful column,
    or if the guess has no doubtful columns. ``used`` are the named columns.
    """
    is_about_ratings = not {"rater", "label", "count"}.isdisjoint(roles)
    is_about_doubt = not used.isdisjoint(guess.doubtful_columns)
    return is_about_ratings or is_about_doubt or not guess.doubtful_columns


def _get_indexes_by_role(
    head: TableHead, columns: Sequence[tuple[str, str]]
) -> dict[str, list[int]]:
    """Return role -> indexes of the named columns; none for an empty name.

    Raises InvalidImportOptions for a name that no column has.
    """
    index_by_name = {name: index for index, name in enumerate(head.names)}
    indexes_by_role: dict[str, list[int]] = {}
    for role, name in columns:
        if name and name not in index_by_name:
            raise InvalidImportOptions(
                f"there is no column '{name}'; one of {', '.join(head.names)}"
            )
        indexes_by_role.setdefault(role, []).extend([index_by_name[name]] if name else [])
    return indexes_by_role


def _choose_layout(mapping: ImportMapping, roles: Mapping[str, Sequence[int]]) -> str:
    """Return the layout that follows from the roles the user named, else the guessed one."""
    if len(roles.get("rater", ())) > 1:
        return "wide"
    is_long = mapping.layout == "long"
    if roles.get("label") or (is_long and "label" in mapping.columns):
        return "long"
    if "rater" in roles and mapping.layout == "items":
        return "long"
    has_rater = "rater" in roles or "rater" in mapping.columns
    if is_long and len(mapping.label_columns) < 2 and not has_rater:
        return "items"
    return mapping.layout


def _set_label_columns(mapping: ImportMapping, labels: list[int], used: set[int]) -> None:
    """Set the label columns to ``labels``, else to the guessed ones that have no other role."""
    remaining = [index for index in mapping.label_columns if index not in used]
    mapping.label_columns = labels if len(labels) > 1 else ([] if labels else remaining)
    if len(mapping.label_columns) == 1:
        labels, mapping.label_columns = mapping.label_columns, []
    if len(mapping.label_columns) > 1:
        mapping.columns.pop("label", None)
    elif labels:
        mapping.columns["label"] = labels[0]


def _release_long_roles(mapping: ImportMapping, guess: ImportMapping, used: set[int]) -> None:
    """Remove guessed roles that the chosen layout, which is not long, does not have.

    Those in ``used`` stay, except in the layouts crossed and combinations. A layout whose rows are
    labels or items then gets the column that has them.
    """
    own_roles = OWN_ROLES.get(mapping.layout, frozenset())
    mapping.columns = {
        role: index
        for role, index in mapping.columns.items()
        if role not in LONG_ROLES or role in own_roles or index in used
    }
    mapping.label_columns = []
    if mapping.layout != guess.layout:
        mapping.value_columns = {}
    if mapping.layout in ("crossed", "combinations"):
        mapping.columns = {role: i for role, i in mapping.columns.items() if role in own_roles}
        mapping.content_columns = []
    if mapping.layout == "crossed":
        mapping.columns.setdefault("label", 0)
    elif guess.layout == "crossed":
        mapping.columns.setdefault("item", 0)
    elif _is_wide_not_raters(mapping, guess) and guess.columns.get("rater") not in (None, *used):
        # What names the rows names items now.
        mapping.columns.setdefault("item", guess.columns["rater"])
    if mapping.layout not in (guess.layout, "items"):
        mapping.attribute_columns = [i for i in mapping.attribute_columns if i in used]


def _is_wide_not_raters(mapping: ImportMapping, guess: ImportMapping) -> bool:
    return (guess.layout, mapping.layout) == ("raters", "wide")


def _list_excluded_columns(
    mapping: ImportMapping, head: TableHead, guess: ImportMapping, roles: Mapping[str, list[int]]
) -> list[int]:
    """Return the columns to exclude in the chosen layout: they have neither a role nor ratings.

    ``guess`` is the guessed mapping, ``roles`` has the columns that the user named.
    """
    used = {index for indexes in roles.values() for index in indexes}
    described = {*mapping.columns.values(), *mapping.content_columns}
    every_column = range(len(head.names))
    if mapping.layout == "wide" and roles.get("rater"):
        described |= {*mapping.attribute_columns, *roles["rater"]}
        excluded = _remove_used(every_column, described)
    elif mapping.layout in (guess.layout, "items"):
        excluded = _remove_used(guess.excluded_columns, used)
    else:
        guessed = {*guess.excluded_columns, *guess.columns.values()}
        guessed_unused = guessed if _is_wide_not_raters(mapping, guess) else set()
        excluded = [
            index
            for index in _remove_used(every_column, described | used)
            if index in guessed_unused or _is_no_value(mapping, head, index, guess.layout)
        ]
    return list(dict.fromkeys([*excluded, *roles.get("ignore", ())]))


def _is_no_value(mapping: ImportMapping, head: TableHead, index: int, guessed_layout: str) -> bool:
    """Return whether a column without a role has no ratings in the chosen layout either."""
    name = head.names[index]
    return (
        mapping.reasons.get(str(index)) in UNUSABLE_REASONS
        or (mapping.layout != "combinations" and is_frequency_name(name))
        or ("crossed" in (mapping.layout, guessed_layout) and is_total_name(name))
    )


def _number_rows_without_keys(mapping: ImportMapping) -> None:
    """Use row numbers as keys of items or raters if no column has any and the layout allows it."""
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
    """Complete the item ID of a long table, and set the doubt that the named roles leave."""
    if mapping.layout != "long":
        return
    guesser = LabelAndItemColumns(head, set())
    guesser.columns, guesser.content = dict(mapping.columns), mapping.content_columns
    guesser.reasons = {int(index): reason for index, reason in mapping.reasons.items()}
    if not {"rater", "count"} & mapping.columns.keys() and not mapping.key_separator:
        used = {*mapping.columns.values(), *guesser.content, *mapping.label_columns}
        free_columns = [index for index in range(len(head.names)) if index not in used]
        raters = guesser.list_columns_distinguishing_rows(free_columns)
        if raters and guesser.has_repeated_keys():
            mapping.doubt, mapping.doubtful_columns = "no_raters", raters
        return
    mapping.key_columns, doubt = guesser.complete_long_key(mapping.label_columns)
    mapping.doubt, mapping.doubtful_columns = doubt
    mapping.columns = guesser.columns
    mapping.reasons = {str(index): reason for index, reason in guesser.reasons.items()}
