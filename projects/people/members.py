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

from groundwork import security
from groundwork.text import likeness, mixes_alphabets
from projects.models import Member, Project
from projects.setup.project_rules import Refused

from .raters import tie_annotator


@transaction.atomic
def add_member(*, project: Project, username: str, role: str, by: Any) -> Member:
    """Give an existing user a role. Raises Refused for an unknown user and for somebody who has a
    role already.

    An account without a password is anybody's who gets a link to it (``who_may_get_link``): so it
    is unknown but to those who lead a project of it, and lead all of them.
    """
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is not None and not _is_owned(user) and not _is_in_hands_of(user, by):
        user = None
    if user is None:
        said = _(
            "There is no account '%(name)s' on this site, or its owner has not chosen a password"
            " yet."
        )
        raise Refused({"username": said % {"name": username}})
    return _join(project, user, role, by)


@transaction.atomic
def invite_member(*, project: Project, username: str, role: str, by: Any) -> Member:
    """Make an account without a password and give it a role; the invitation link lets its owner
    choose one."""
    users = get_user_model()
    user = users(username=users.normalize_username(username))
    try:
        if users.objects.filter(username__iexact=user.username).exists():
            raise ValidationError(_("A user with that username already exists."))
        if mixes_alphabets(user.username) or _looks_like_another(user.username):
            said = _("This name looks like another one: letters of one alphabet tell them apart.")
            raise ValidationError(said)
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        raise Refused({"username": " ".join(error.messages)}) from None
    user.set_unusable_password()
    user.save()
    return _join(project, user, role, by)


def _looks_like_another(username: str) -> bool:
    """Whether an account has the Latin letters that all of this name look like."""
    alike = likeness(username)
    users = get_user_model().objects
    return alike != username and users.filter(username__iexact=alike).exists()


@transaction.atomic
def invite_members(
    *, project: Project, usernames: Sequence[str], role: str, by: Any
) -> list[Member]:
    """The same for several at once: all or nobody. Raises Refused naming each line that cannot
    be."""
    made, troubles = [], []
    for number, username in enumerate(usernames, start=1):
        try:
            made.append(invite_member(project=project, username=username, role=role, by=by))
        except Refused as refused:
            said = _("Line %(number)s, %(name)s: %(trouble)s")
            trouble = {"number": number, "name": username, "trouble": refused}
            troubles.append(said % trouble)
    if troubles:
        raise Refused({"names": " ".join(troubles)})
    return made


def _is_owned(user: User) -> bool:
    """Whether somebody comes in by it: by a password, or by a provider."""
    return user.has_usable_password() or SocialAccount.objects.filter(user=user.pk).exists()


def _is_in_hands_of(user: User, by: Any) -> bool:
    if by.is_superuser:
        return True
    of_user = Member.objects.filter(user=user).values("project")
    led = Member.objects.filter(user=by, role=Member.Role.LEAD, project__in=of_user).count()
    return 0 < led == of_user.count()


def _join(project: Project, user: User, role: str, by: Any) -> Member:
    _check_role(role)
    Project.objects.select_for_update().get(pk=project.pk)
    if Member.objects.filter(project=project, user=user).exists():
        raise Refused(
            {
                "username": _("'%(name)s' is a member of this project already.")
                % {"name": user.username}
            }
        )
    member = Member.objects.create(project=project, user=user, role=role)
    if role == Member.Role.ANNOTATOR:
        tie_annotator(project=project, user=user)
    security.event(
        "member_added",
        project_id=project.pk,
        who=user.pk,
        role=role,
        by=by.pk,
        after={"member": user.get_username(), "role": role},
    )
    return member


@transaction.atomic
def change_role(*, member: Member, role: str, by: Any) -> Member:
    """Raises Refused for an unknown role, and when the project would be left without a lead."""
    _check_role(role)
    if role != Member.Role.LEAD:
        _refuse_last_lead(member)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    if role == Member.Role.ANNOTATOR:
        tie_annotator(project=member.project, user=member.user)
    project_id, who = member.project_id, member.user_id
    security.event(
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
    security.event(
        "member_removed",
        project_id=member.project_id,
        who=member.user_id,
        by=by.pk,
        before={"member": member.user.get_username(), "role": member.role},
    )


def _check_role(role: str) -> None:
    if role not in Member.Role.values:
        raise Refused(
            {"role": _("A role is one of %(roles)s.") % {"roles": ", ".join(Member.Role.values)}}
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
