"""Create and update raters by key, many in one call; repeating a call changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q

from core import security_log
from core.api.errors import Conflict, RowProblem
from core.api.parameters import build_rows_error
from core.db import bulk
from projects.models import Member, Project, Rater, RaterIdentity
from projects.permissions import get_addable_users
from projects.services import pseudonyms
from projects.services.rater_changes import FIELDS, record_previous_kinds
from projects.services.row_validation import Counts, RowData, get_existing_rows, validate_rows

# The same message whether the account does not exist or is unknown to the caller.
UNKNOWN_ACCOUNT_MESSAGE = (
    "there is no account '{}' in this project or in another one that you lead: add it under People,"
    " and its owner is asked"
)
MAX_LOGGED_RATERS = 100  # raters listed in one entry of the audit log
# Fields of a rater other than the key and the account, with their defaults.
FIELD_DEFAULTS = {
    "name": "",
    "kind": Rater.Kind.HUMAN.value,
    "model": "",
    "prompt_version": "",
    "group": "",
}
COLUMNS_SQL = ", ".join(f'"{name}"' for name in (*FIELD_DEFAULTS, "user_id"))


def upsert_raters(
    *, project: Project, rows: Sequence[Any], by: Any, is_partial: bool = False
) -> Counts:
    """Create or change raters by key, all or none; fields that are left out keep their values.

    ``username`` links the rater to an account that is in the project or known to ``by``
    (``permissions.get_addable_users``), and makes it an annotator if it has no role in the project;
    null unlinks it. ``by``: None for an operator, who knows all accounts. ``is_partial``: raises
    Conflict if a rater does not exist. Raises BadRequest with the errors of each row.
    """
    raters = validate_rows("rater", rows, FIELDS)
    with transaction.atomic():
        # This lock prevents that one account is linked to two raters.
        project = Project.objects.select_for_update().get(pk=project.pk)
        raters = _replace_keys_by_pseudonyms(project, raters)
        true_names = pseudonyms.get_true_names(project)
        users = _get_valid_user_ids(project, raters, by)
        existing = get_existing_rows("projects_rater", COLUMNS_SQL, project, raters)
        if is_partial and len(existing) < len(raters):
            raise Conflict()
        _reject_models_of_people(raters, existing)
        counts = {"created": 0, "changed": 0, "unchanged": 0}
        writes = []
        for row in raters:
            old_values = existing.get(row["key"])
            if old_values is not None and row["key"] in true_names:
                old_values = (true_names[row["key"]], *old_values[1:])
            new_values = _build_new_values(row, old_values, users)
            if new_values == old_values:
                counts["unchanged"] += 1
                continue
            counts["created" if old_values is None else "changed"] += 1
            writes.append((project.pk, row["key"], *new_values))
        _reject_linked_accounts(project, raters, users, {row[1]: row[-1] for row in writes})
        _record_kinds(project, writes, existing)
        joined = _write_raters_and_add_members(project, writes)
        _log_changes(project, writes, existing=existing, joined_ids=joined, by=by)
        if project.hides_raters:
            _hide_names(project, writes, true_names)
    return counts


def _build_new_values(
    row: RowData, old_values: tuple[Any, ...] | None, users: Mapping[str, int]
) -> tuple[Any, ...]:
    """Return the values of FIELD_DEFAULTS, then the user id, after the row is applied.

    ``old_values``: the stored ones, None for a new rater. ``users``: {username: user id}.
    """
    *current_values, user_id = old_values or (*FIELD_DEFAULTS.values(), None)
    if "username" in row:
        user_id = users.get(row["username"])
    current = zip(FIELD_DEFAULTS, current_values, strict=True)
    return (*(row.get(name, value) for name, value in current), user_id)


def _replace_keys_by_pseudonyms(project: Project, raters: Sequence[RowData]) -> list[RowData]:
    """Return the rows, with the pseudonym in place of the key of each hidden rater.

    Raises BadRequest if two rows are then of the same rater.
    """
    pseudonym_by_key = pseudonyms.get_pseudonyms(project, [row["key"] for row in raters])
    if not pseudonym_by_key:
        return list(raters)
    renamed = [row | {"key": pseudonym_by_key.get(row["key"], row["key"])} for row in raters]
    return validate_rows("rater", renamed, FIELDS)


def _hide_names(
    project: Project, writes: list[tuple[Any, ...]], true_names: dict[str, str]
) -> None:
    """Store changed names of hidden raters in their identities; give new raters pseudonyms.

    ``true_names``: {pseudonym: true name}.
    """
    for _project, key, name, *_rest in writes:
        if true_names.get(key, name) != name:
            RaterIdentity.objects.filter(project=project, rater__key=key).update(name=name)
    pseudonyms.assign_pseudonyms(project.pk)


def _record_kinds(
    project: Project, writes: list[tuple[Any, ...]], existing: dict[str, tuple[Any, ...]]
) -> None:
    kind_position = list(FIELD_DEFAULTS).index("kind")
    old_kinds = {
        key: existing[key][kind_position]
        for _project, key, *new_values in writes
        if key in existing and existing[key][kind_position] != new_values[kind_position]
    }
    rater_ids = Rater.objects.filter(project=project, key__in=list(old_kinds)).values_list(
        "key", "pk"
    )
    record_previous_kinds({pk: old_kinds[key] for key, pk in rater_ids})


def _reject_models_of_people(
    raters: Sequence[RowData], existing: dict[str, tuple[Any, ...]]
) -> None:
    """Raise BadRequest if a rater who is a person would have a model name or prompt version."""
    errors = {}
    for index, row in enumerate(raters):
        values = (
            dict(
                zip(FIELD_DEFAULTS, existing.get(row["key"], FIELD_DEFAULTS.values()), strict=False)
            )
            | row
        )
        model_or_version = values["model"] or values["prompt_version"]
        if model_or_version and values["kind"] != Rater.Kind.MODEL:
            message = "'model' and 'prompt_version' are of raters whose 'kind' is model"
            errors[index] = [RowProblem("not_a_model", "model", message)]
    if errors:
        raise build_rows_error("rater", errors)


def _get_valid_user_ids(project: Project, raters: Sequence[RowData], by: Any) -> dict[str, int]:
    """Return {username: id} of the accounts in the rows.

    Raises BadRequest for an account in two rows, and for one that is neither in the project nor
    known to ``by``, whether or not it exists.
    """
    names = [row["username"] for row in raters if row.get("username") is not None]
    if not names:
        return {}
    users = get_user_model().objects.filter(username__in=names, is_active=True)
    if by is not None:
        members = Member.objects.filter(project=project).values("user")
        users = users.filter(Q(pk__in=members) | Q(pk__in=get_addable_users(by).values("pk")))
    ids_by_username = dict(users.values_list("username", "pk"))
    errors: dict[int, list[RowProblem]] = {}
    first_indexes: dict[str, int] = {}
    for index, row in enumerate(raters):
        name = row.get("username")
        if name is not None and name not in ids_by_username:
            message = UNKNOWN_ACCOUNT_MESSAGE.format(name)
            errors[index] = [RowProblem("unknown_account", "username", message)]
        elif name is not None and first_indexes.setdefault(name, index) != index:
            message = (
                f"the account '{name}' is tied to the rater of row {first_indexes[name]} already"
            )
            errors[index] = [RowProblem("account_in_use", "username", message)]
    if errors:
        raise build_rows_error("rater", errors)
    return ids_by_username


def _reject_linked_accounts(
    project: Project,
    raters: Sequence[RowData],
    users: dict[str, int],
    new_user_ids: dict[str, int | None],
) -> None:
    """Raise BadRequest if an account would be linked to two raters of the project."""
    linked_raters = Rater.objects.filter(project=project, user__in=users.values())
    holders = {}
    for user_id, key in linked_raters.values_list("user_id", "key"):
        if new_user_ids.get(key, user_id) == user_id:
            holders[user_id] = key
    other_rater_format = "another rater" if project.hides_raters else "rater '{}'"
    errors = {}
    for index, row in enumerate(raters):
        holder = holders.get(users.get(row.get("username") or "", 0))
        if holder is not None and holder != row["key"]:
            other_rater = other_rater_format.format(holder)
            message = f"the account '{row['username']}' is tied to {other_rater} already"
            errors[index] = [RowProblem("account_in_use", "username", message)]
    if errors:
        raise build_rows_error("rater", errors)


def _write_raters_and_add_members(project: Project, writes: list[tuple[Any, ...]]) -> list[int]:
    """Write the rows and make the linked users members; return the user ids of new members."""
    # Untie all of them first, because two raters may swap their accounts.
    Rater.objects.filter(project=project, key__in=[row[1] for row in writes]).update(user=None)
    rows = [(*row, False) for row in sorted(writes, key=lambda row: row[1])]
    bulk.upsert(
        "projects_rater",
        ("project_id", "key", *FIELD_DEFAULTS, "user_id", "paused"),
        rows,
        key=("project_id", "key"),
        update={name: f'excluded."{name}"' for name in (*FIELD_DEFAULTS, "user_id")},
    )
    if writes:
        Project.objects.filter(pk=project.pk).increment_items_and_raters_version()
    tied_ids = {row[-1] for row in writes if row[-1] is not None}
    members = Member.objects.filter(project=project, user__in=tied_ids)
    new_member_ids = tied_ids - set(members.values_list("user_id", flat=True))
    new_members = [
        Member(project=project, user_id=user_id, role=Member.Role.ANNOTATOR)
        for user_id in sorted(new_member_ids)
    ]
    Member.objects.bulk_create(new_members, ignore_conflicts=True)
    return [member.user_id for member in new_members]


def _log_changes(
    project: Project,
    writes: list[tuple[Any, ...]],
    *,
    existing: dict[str, tuple[Any, ...]],
    joined_ids: Sequence[int],
    by: Any,
) -> None:
    """Record the written raters, and each new member, in the audit log.

    Values are recorded for the first MAX_LOGGED_RATERS raters. ``joined_ids``: user ids.
    """
    user_id = None if by is None else by.pk
    if writes:
        names = (*FIELD_DEFAULTS, "user_id")
        logged = writes[:MAX_LOGGED_RATERS]
        security_log.log_event(
            "raters_upserted",
            project_id=project.pk,
            by=user_id,
            raters=len(writes),
            before={
                row[1]: dict(zip(names, existing[row[1]], strict=True))
                for row in logged
                if row[1] in existing
            },
            after={row[1]: dict(zip(names, row[2:], strict=True)) for row in logged},
        )
    accounts, role = get_user_model().objects.in_bulk(joined_ids), Member.Role.ANNOTATOR.value
    for user_id_joined in joined_ids:
        security_log.log_event(
            "member_added",
            project_id=project.pk,
            by=user_id,
            target_user_id=user_id_joined,
            role=role,
            after={"member": accounts[user_id_joined].get_username(), "role": role},
        )
