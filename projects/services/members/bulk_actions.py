"""What is done about many people at once, and how it is taken back.

What takes an act back is told to whoever did it, signed: nothing is stored for it, and nobody else
can use it or change it. It may be used for an hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.utils.translation import gettext as _

from projects.models import Member, Project, Rater
from projects.services.project_validation import Refused
from projects.services.raters.updates import pause_raters

from . import membership as members_of
from .joining import join

_SALT = "projects.services.members.undo"
_SECONDS = 60 * 60
PAUSE, RESUME, ROLES, JOIN = "pause", "resume", "roles", "join"


@transaction.atomic
def set_paused(
    *, project: Project, raters: Sequence[Rater], paused: bool, by: Any
) -> tuple[list[Rater], str]:
    """Stop or resume handing out items to them; those who were otherwise before, and what takes it
    back."""
    changed = pause_raters(raters=raters, paused=paused, by=by)
    back = [rater.pk for rater in changed]
    return changed, _signed(project, by, RESUME if paused else PAUSE, back)


@transaction.atomic
def set_role(*, project: Project, members: Sequence[Member], role: str, by: Any) -> str:
    """Give them all this role, or none of them; what takes it back. Raises Refused."""
    back = [[member.pk, member.role] for member in members if member.role != role]
    for member in members:
        if member.role != role:
            members_of.change_role(member=member, role=role, by=by)
    return _signed(project, by, ROLES, back)


@transaction.atomic
def remove(*, project: Project, members: Sequence[Member], by: Any) -> str:
    """Take the roles of all of them away, or of none; what takes it back. Raises Refused."""
    back = [[member.user_id, member.role, member.starred] for member in members]
    for member in members:
        members_of.remove_member(member=member, by=by)
    return _signed(project, by, JOIN, back)


def _signed(project: Project, by: Any, do: str, what: list[Any]) -> str:
    return signing.dumps([project.pk, by.pk, do, what], salt=_SALT, compress=True)


def can_undo(*, project: Project, text: str, by: Any) -> bool:
    """Whether it takes back something that this user did here lately."""
    return _read(project, text, by) is not None


def _read(project: Project, text: str, by: Any) -> tuple[str, list[Any]] | None:
    try:
        pk, user, do, what = signing.loads(text, salt=_SALT, max_age=_SECONDS)
    except signing.BadSignature:
        return None
    return (do, what) if (pk, user) == (project.pk, by.pk) and what else None


@transaction.atomic
def undo(*, project: Project, text: str, by: Any) -> None:
    """Take an act back, of those who are still there. Raises Refused where it cannot be."""
    found = _read(project, text, by)
    if found is None:
        raise Refused({"undo": _("This cannot be taken back any more.")})
    do, what = found
    if do in (PAUSE, RESUME):
        raters = list(project.raters.filter(pk__in=what))
        pause_raters(raters=raters, paused=do == PAUSE, by=by)
    elif do == ROLES:
        those = project.members.select_related("user", "project")
        known = those.in_bulk([pk for pk, _role in what])
        for pk, role in what:
            if pk in known:
                members_of.change_role(member=known[pk], role=role, by=by)
    else:
        _join_again(project, what, by)


def _join_again(project: Project, what: list[Any], by: Any) -> None:
    users = User.objects.filter(is_active=True).in_bulk([pk for pk, _role, _starred in what])
    here = {*project.members.values_list("user_id", flat=True)}
    for pk, role, starred in what:
        if pk in users and pk not in here:
            join(project, users[pk], role, by)
            if starred:
                members_of.star(project=project, user=users[pk], starred=True)
