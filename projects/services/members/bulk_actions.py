"""Actions on many people at once, and their undo.

The data to undo an action is signed and sent to the user who did it: nothing is stored, and nobody
else can use or change it. It is valid for an hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.utils.translation import gettext as _

from projects.models import Member, Project, Rater
from projects.services.project_validation import InvalidProjectChange
from projects.services.raters.updates import set_raters_paused

from . import membership
from .joining import join_project

_UNDO_SALT = "projects.services.members.undo"
_UNDO_SECONDS = 60 * 60
PAUSE, RESUME, ROLES, JOIN = "pause", "resume", "roles", "join"


@transaction.atomic
def set_paused(
    *, project: Project, raters: Sequence[Rater], paused: bool, by: Any
) -> tuple[list[Rater], str]:
    """Pause or resume raters; return the changed ones, and a token to undo the action."""
    changed = set_raters_paused(raters=raters, paused=paused, by=by)
    undo_data = [rater.pk for rater in changed]
    return changed, _sign_undo(project, by, RESUME if paused else PAUSE, undo_data)


@transaction.atomic
def set_role(*, project: Project, members: Sequence[Member], role: str, by: Any) -> str:
    """Give all members this role, or none of them; return a token to undo the action.

    Raises InvalidProjectChange.
    """
    undo_data = [[member.pk, member.role] for member in members if member.role != role]
    for member in members:
        if member.role != role:
            membership.change_role(member=member, role=role, by=by)
    return _sign_undo(project, by, ROLES, undo_data)


@transaction.atomic
def remove_members(*, project: Project, members: Sequence[Member], by: Any) -> str:
    """Remove all of the members, or none of them; return a token to undo the action.

    Raises InvalidProjectChange.
    """
    undo_data = [[member.user_id, member.role, member.starred] for member in members]
    for member in members:
        membership.remove_member(member=member, by=by)
    return _sign_undo(project, by, JOIN, undo_data)


def _sign_undo(project: Project, by: Any, action: str, undo_data: list[Any]) -> str:
    return signing.dumps([project.pk, by.pk, action, undo_data], salt=_UNDO_SALT, compress=True)


def can_undo(*, project: Project, token: str, by: Any) -> bool:
    """Return True if the token undoes a recent action of this user in this project."""
    return _parse_undo(project, token, by) is not None


def _parse_undo(project: Project, token: str, by: Any) -> tuple[str, list[Any]] | None:
    try:
        project_id, user_id, action, undo_data = signing.loads(
            token, salt=_UNDO_SALT, max_age=_UNDO_SECONDS
        )
    except signing.BadSignature:
        return None
    return (
        (action, undo_data) if (project_id, user_id) == (project.pk, by.pk) and undo_data else None
    )


@transaction.atomic
def undo_action(*, project: Project, token: str, by: Any) -> None:
    """Undo the action that a token signs.

    Pauses and roles change for those who are still there; removed members join again. Raises
    InvalidProjectChange if it cannot be undone.
    """
    parsed = _parse_undo(project, token, by)
    if parsed is None:
        raise InvalidProjectChange({"undo": _("This can no longer be undone.")})
    action, undo_data = parsed
    if action in (PAUSE, RESUME):
        raters = list(project.raters.filter(pk__in=undo_data))
        set_raters_paused(raters=raters, paused=action == PAUSE, by=by)
    elif action == ROLES:
        members = project.members.select_related("user", "project")
        members_by_id = members.in_bulk([pk for pk, _role in undo_data])
        for pk, role in undo_data:
            if pk in members_by_id:
                membership.change_role(member=members_by_id[pk], role=role, by=by)
    else:
        _restore_members(project, undo_data, by)


def _restore_members(project: Project, undo_data: list[Any], by: Any) -> None:
    users = User.objects.filter(is_active=True).in_bulk([pk for pk, _role, _starred in undo_data])
    current_user_ids = {*project.members.values_list("user_id", flat=True)}
    for pk, role, starred in undo_data:
        if pk in users and pk not in current_user_ids:
            join_project(project, users[pk], role, by)
            if starred:
                membership.set_starred(project=project, user=users[pk], starred=True)
