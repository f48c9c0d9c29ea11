"""What changes the members of a project: they are added, invited, given a role, removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from projects.models import Member, Project
from projects.permissions import known_to
from projects.services.project_validation import Refused
from projects.services.raters.updates import tie_annotator

from . import offers
from .joining import check_role, join
from .usernames import refuse_misleading


@transaction.atomic
def add_member(*, project: Project, username: str, role: str, by: Any) -> Member | None:
    """Give an existing account a role, where ``by`` knows it (``access.known_to``); None where its
    owner, if there is one, is asked instead. Raises Refused for somebody who has a role already,
    and tells superusers of an account that is not there.

    An account without a password is anybody's who gets a link to it (``who_may_get_link``): there
    is no owner to be asked.
    """
    check_role(role)
    users = get_user_model()
    username = users.normalize_username(username)
    known = known_to(by).filter(username=username).first()
    if known is not None:
        return join(project, known, role, by)
    if by.is_superuser:
        said = _("There is no account '%(name)s' on this site.")
        raise Refused({"username": said % {"name": username}})
    user = users.objects.filter(username=username, is_active=True).first()
    owned = user if user is not None and _is_owned(user) else None
    offers.offer(project=project, username=username, user=owned, role=role, by=by)
    return None


@transaction.atomic
def invite_member(*, project: Project, username: str, role: str, by: Any) -> Member:
    """Make an account without a password and give it a role; the invitation link lets its owner
    choose one."""
    users = get_user_model()
    user = users(username=users.normalize_username(username))
    try:
        refuse_misleading(user.username)
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        raise Refused({"username": " ".join(error.messages)}) from None
    user.set_unusable_password()
    user.save()
    return join(project, user, role, by)


@transaction.atomic
def invite_members(
    *, project: Project, usernames: Sequence[str], role: str, by: Any
) -> list[Member]:
    """The same for several at once, and members at once those whom ``by`` knows: all or nobody.
    Raises Refused naming each line that cannot be."""
    made, troubles = [], []
    known = {user.username: user for user in known_to(by).filter(username__in=usernames)}
    for number, username in enumerate(usernames, start=1):
        try:
            if username in known:
                made.append(join(project, known[username], role, by))
            else:
                made.append(invite_member(project=project, username=username, role=role, by=by))
        except Refused as refused:
            said = _("Line %(number)s, %(name)s: %(trouble)s")
            trouble = {"number": number, "name": username, "trouble": refused}
            troubles.append(said % trouble)
    if troubles:
        raise Refused({"names": " ".join(troubles)})
    return made


def star(*, project: Project, user: Any, starred: bool) -> bool:
    """Whether the member wants the project first in their own list; False for who is none."""
    return bool(Member.objects.filter(project=project, user=user.pk).update(starred=starred))


def _is_owned(user: User) -> bool:
    """Whether somebody comes in by it: by a password, or by a provider."""
    return user.has_usable_password() or SocialAccount.objects.filter(user=user.pk).exists()


@transaction.atomic
def change_role(*, member: Member, role: str, by: Any) -> Member:
    """Raises Refused for an unknown role, and when the project would be left without a lead."""
    check_role(role)
    if role != Member.Role.LEAD:
        _refuse_last_lead(member)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    if role == Member.Role.ANNOTATOR:
        tie_annotator(project=member.project, user=member.user)
    project_id, who = member.project_id, member.user_id
    security_log.event(
        "role_changed",
        project_id=project_id,
        who=who,
        role=role,
        by=by.pk,
        before={"member": member.user.get_username(), "role": before},
        after={"member": member.user.get_username(), "role": role},
    )
    return member


@transaction.atomic
def remove_member(*, member: Member, by: Any) -> None:
    """Take the role away; the rater and what was rated stay. Raises Refused for the last lead."""
    _refuse_last_lead(member)
    member.delete()
    security_log.event(
        "member_removed",
        project_id=member.project_id,
        who=member.user_id,
        by=by.pk,
        before={"member": member.user.get_username(), "role": member.role},
    )


def _refuse_last_lead(member: Member) -> None:
    # The lock on the project keeps two leads from removing each other at the same time.
    Project.objects.select_for_update().get(pk=member.project_id)
    leads = Member.objects.filter(project=member.project_id, role=Member.Role.LEAD)
    if list(leads.values_list("pk", flat=True)[:2]) == [member.pk]:
        raise Refused(
            {
                "role": _(
                    "A project needs a lead, and this is the only one. Make somebody else "
                    "a lead first."
                )
            }
        )


def who_may_get_link(*, project: Project, by: Any) -> set[int]:
    """Ids of the members for whom ``by`` may make an invitation link: it gives the account to
    whoever holds the link.

    Only while its owner has not chosen a password yet, and only when ``by`` leads every project it
    belongs to.
    """
    fresh = User.objects.filter(
        memberships__project=project, is_active=True, is_staff=False, is_superuser=False
    )
    fresh = fresh.filter(password__startswith=UNUSABLE_PASSWORD_PREFIX, socialaccount__isnull=True)
    if not by.is_superuser:
        led = Member.objects.filter(user=by, role=Member.Role.LEAD).values("project")
        fresh = fresh.exclude(pk__in=Member.objects.exclude(project__in=led).values("user"))
    return set(fresh.values_list("pk", flat=True))
