"""Raters by their keys: many in one request, and the same request twice changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q

from core import security_log
from core.api.parameters import rows_error
from core.db import bulk
from projects.models import Member, Project, Rater, RaterIdentity
from projects.permissions import known_to
from projects.services.row_validation import Counts, Row, checked, standing

from . import kind_history, pseudonyms
from .fields import FIELDS

# The same of an account that is not there and of one that is none of the caller's business.
NOT_NEAR = (
    "there is no account '{}' in this project or in another one that you lead: add it under People,"
    " and its owner is asked"
)
MOST_TOLD = 100  # raters of one request that a line of the trail names
# What is said of a rater beside the key and the account, and of one of whom nothing was said.
SAID = {"name": "", "kind": Rater.Kind.HUMAN.value, "model": "", "prompt_version": "", "group": ""}
COLUMNS = ", ".join(f'"{name}"' for name in (*SAID, "user_id"))


def put_raters(*, project: Project, rows: Sequence[Any], by: Any) -> Counts:
    """Create or change raters by key; what is left out stays. All or nothing; 400 names each bad
    row.

    ``username`` ties the rater to an account that is in the project or known to ``by``
    (``access.known_to``), which becomes an annotator of the project when it has no role in it; null
    unties it. ``by`` None: whoever runs the site.
    """
    raters = checked("rater", rows, FIELDS)
    with transaction.atomic():
        # one account is tied to one rater, whoever asks
        project = Project.objects.select_for_update().get(pk=project.pk)
        raters = _as_shown(project, raters)
        hidden = pseudonyms.names(project)
        users = _users(project, raters, by)
        stored = standing("projects_rater", COLUMNS, project, raters)
        _refuse_models(raters, stored)
        counts = {"created": 0, "changed": 0, "unchanged": 0}
        writes = []
        for row in raters:
            old = stored.get(row["key"])
            if old is not None and row["key"] in hidden:
                old = (hidden[row["key"]], *old[1:])
            *said, user_id = old or (*SAID.values(), None)
            if "username" in row:
                user_id = users.get(row["username"])
            new = (*(row.get(name, at) for name, at in zip(SAID, said, strict=True)), user_id)
            if new == old:
                counts["unchanged"] += 1
                continue
            counts["created" if old is None else "changed"] += 1
            writes.append((project.pk, row["key"], *new))
        _refuse_tied(project, raters, users, {row[1]: row[-1] for row in writes})
        _keep_kinds(project, writes, stored)
        joined = _write_raters(project, writes)
        _tell(project, writes, stored=stored, joined=joined, by=by)
        if project.raters_hidden:
            _hide(project, writes, hidden)
    return counts


def _as_shown(project: Project, raters: Sequence[Row]) -> list[Row]:
    """The rows with the pseudonyms of those that are hidden; 400 where two rows mean the same."""
    shown = pseudonyms.pseudonyms(project, [row["key"] for row in raters])
    if not shown:
        return list(raters)
    renamed = [row | {"key": shown.get(row["key"], row["key"])} for row in raters]
    return checked("rater", renamed, FIELDS)


def _hide(project: Project, writes: list[tuple[Any, ...]], hidden: dict[str, str]) -> None:
    """What was said of hidden raters goes where they are kept, and new ones are hidden."""
    for _project, key, name, *_rest in writes:
        if hidden.get(key, name) != name:
            RaterIdentity.objects.filter(project=project, rater__key=key).update(name=name)
    pseudonyms.settle(project.pk)


def _keep_kinds(
    project: Project, writes: list[tuple[Any, ...]], stored: dict[str, tuple[Any, ...]]
) -> None:
    at = list(SAID).index("kind")
    was = {
        key: stored[key][at]
        for _project, key, *new in writes
        if key in stored and stored[key][at] != new[at]
    }
    known = Rater.objects.filter(project=project, key__in=list(was)).values_list("key", "pk")
    kind_history.keep({pk: was[key] for key, pk in known})


def _refuse_models(raters: Sequence[Row], stored: dict[str, tuple[Any, ...]]) -> None:
    """400 when a person would have a model or a version of a prompt."""
    wrong = {}
    for place, row in enumerate(raters):
        said = dict(zip(SAID, stored.get(row["key"], SAID.values()), strict=False)) | row
        named = said["model"] or said["prompt_version"]
        if named and said["kind"] != Rater.Kind.MODEL:
            wrong[place] = ["'model' and 'prompt_version' are of raters whose 'kind' is model"]
    if wrong:
        raise rows_error("rater", wrong)


def _users(project: Project, raters: Sequence[Row], by: Any) -> dict[str, int]:
    """username -> id of the accounts that the rows name; 400 for one that is named twice, and for
    one that is neither in the project nor known to ``by``, whether or not there is one."""
    names = [row["username"] for row in raters if row.get("username") is not None]
    if not names:
        return {}
    users = get_user_model().objects.filter(username__in=names, is_active=True)
    if by is not None:
        members = Member.objects.filter(project=project).values("user")
        users = users.filter(Q(pk__in=members) | Q(pk__in=known_to(by).values("pk")))
    known = dict(users.values_list("username", "pk"))
    wrong: dict[int, list[str]] = {}
    first: dict[str, int] = {}
    for place, row in enumerate(raters):
        name = row.get("username")
        if name is not None and name not in known:
            wrong[place] = [NOT_NEAR.format(name)]
        elif name is not None and first.setdefault(name, place) != place:
            wrong[place] = [
                f"the account '{name}' is tied to the rater of row {first[name]} already"
            ]
    if wrong:
        raise rows_error("rater", wrong)
    return known


def _refuse_tied(
    project: Project, raters: Sequence[Row], users: dict[str, int], new: dict[str, int | None]
) -> None:
    """400 when an account would be tied to two raters of the project."""
    tied = Rater.objects.filter(project=project, user__in=users.values())
    holders = {}
    for user_id, key in tied.values_list("user_id", "key"):
        if new.get(key, user_id) == user_id:
            holders[user_id] = key
    to_whom = "another rater" if project.raters_hidden else "rater '{}'"
    wrong = {}
    for place, row in enumerate(raters):
        holder = holders.get(users.get(row.get("username") or "", 0))
        if holder is not None and holder != row["key"]:
            said = to_whom.format(holder)
            wrong[place] = [f"the account '{row['username']}' is tied to {said} already"]
    if wrong:
        raise rows_error("rater", wrong)


def _write_raters(project: Project, writes: list[tuple[Any, ...]]) -> list[int]:
    """The ids of the users who become members by it."""
    # Ties that are given up first: two raters may swap their accounts.
    Rater.objects.filter(project=project, key__in=[row[1] for row in writes]).update(user=None)
    rows = [(*row, False) for row in sorted(writes, key=lambda row: row[1])]
    bulk.upsert(
        "projects_rater",
        ("project_id", "key", *SAID, "user_id", "paused"),
        rows,
        key=("project_id", "key"),
        update={name: f'excluded."{name}"' for name in (*SAID, "user_id")},
    )
    if writes:
        Project.objects.filter(pk=project.pk).catalogue_changed()
    tied = {row[-1] for row in writes if row[-1] is not None}
    members = Member.objects.filter(project=project, user__in=tied)
    strangers = tied - set(members.values_list("user_id", flat=True))
    joining = [
        Member(project=project, user_id=user_id, role=Member.Role.ANNOTATOR)
        for user_id in sorted(strangers)
    ]
    Member.objects.bulk_create(joining, ignore_conflicts=True)
    return [member.user_id for member in joining]


def _tell(
    project: Project,
    writes: list[tuple[Any, ...]],
    *,
    stored: dict[str, tuple[Any, ...]],
    joined: Sequence[int],
    by: Any,
) -> None:
    """A line for the raters that changed, the first of them with what they were, and one for each
    account that got a role."""
    user_id = None if by is None else by.pk
    if writes:
        names = (*SAID, "user_id")
        told = writes[:MOST_TOLD]
        security_log.event(
            "raters_put",
            project_id=project.pk,
            by=user_id,
            raters=len(writes),
            before={
                row[1]: dict(zip(names, stored[row[1]], strict=True))
                for row in told
                if row[1] in stored
            },
            after={row[1]: dict(zip(names, row[2:], strict=True)) for row in told},
        )
    accounts = get_user_model().objects.in_bulk(joined)
    for who in joined:
        security_log.event(
            "member_added",
            project_id=project.pk,
            by=user_id,
            who=who,
            role=Member.Role.ANNOTATOR.value,
            after={"member": accounts[who].get_username(), "role": Member.Role.ANNOTATOR.value},
        )
