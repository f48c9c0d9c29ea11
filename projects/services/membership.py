"""Add, invite and remove members of a project, one or many at once, and change their roles.

The data to undo an action on many is signed and sent to the user who did it: nothing is stored, and
nobody else can use or change it. It is valid for an hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from core.text import fold_lookalikes, has_invisible_character, has_mixed_scripts
from projects import hooks
from projects.models import Member, Project, Rater
from projects.models.roles import Capability, is_given_work, may
from projects.permissions import get_addable_users, get_leads, get_led_memberships
from projects.services import joining
from projects.services.joining import join_project, validate_role
from projects.services.project_validation import InvalidProjectChange
from projects.services.rater_changes import get_or_link_rater, set_raters_paused


@transaction.atomic
def add_member(*, project: Project, username: str, role: str, by: Any) -> Member | None:
    """Give an existing account a role if ``by`` knows it (``permissions.get_addable_users``).

    Otherwise offer the role to its owner, if there is one, and return None. Raises
    InvalidProjectChange for a user who has a role already; superusers also learn that an account
    does not exist.

    An account without a password belongs to the person who has its invitation link
    (``get_linkable_user_ids``), so there is no owner to ask.
    """
    validate_role(role)
    user_model = get_user_model()
    username = user_model.normalize_username(username)
    known_user = get_addable_users(by).filter(username=username).first()
    if known_user is not None:
        return join_project(project, known_user, role, by)
    if by.is_superuser:
        message = _("No account “%(name)s”.")
        raise InvalidProjectChange({"username": message % {"name": username}})
    user = user_model.objects.filter(username=username, is_active=True).first()
    owner = user if user is not None and _has_login(user) else None
    joining.create_offer(project=project, username=username, user=owner, role=role, by=by)
    return None


@transaction.atomic
def create_invited_account(
    *, project: Project, username: str, role: str, by: Any, email: str = ""
) -> Member:
    """Create an account without a password and give it a role.

    The invitation link lets its owner choose a password. It is mailed to ``email`` where the site
    sends mail. The address becomes the account's when the mailed link is used: until then only the
    lead knows that it is the person's. Raises InvalidProjectChange for an invalid name or address,
    for a name that exists or resembles another, and for an unknown role.
    """
    if email:
        try:
            validate_email(email)
        except ValidationError as error:
            raise InvalidProjectChange({"email": " ".join(error.messages)}) from None
    user_model = get_user_model()
    user = user_model(username=user_model.normalize_username(username))
    try:
        reject_misleading_username(user.username)
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        raise InvalidProjectChange({"username": " ".join(error.messages)}) from None
    user.set_unusable_password()
    user.save()
    return join_project(project, user, role, by, email=email)


def reject_misleading_username(username: str, *, user: User | None = None) -> None:
    """Raise ValidationError for a username that may be mistaken for another one.

    It equals an existing name except for case or lookalike characters, or it mixes alphabets or has
    invisible characters. ``user`` is the account that the name is for, if it exists already.
    """
    other_users = User.objects.all() if user is None else User.objects.exclude(pk=user.pk)
    if other_users.filter(username__iexact=username).exists():
        raise ValidationError(_("This name already exists."))
    folded = fold_lookalikes(username)
    is_lookalike = folded != username and other_users.filter(username__iexact=folded).exists()
    if is_lookalike or has_mixed_scripts(username) or has_invisible_character(username):
        message = _("Looks like another name. Use one alphabet.")
        raise ValidationError(message)


@transaction.atomic
def invite_members(
    *,
    project: Project,
    usernames: Sequence[str],
    role: str,
    by: Any,
    emails: Mapping[str, str] | None = None,
) -> list[Member]:
    """Invite several people; those whom ``by`` knows become members at once. All or nobody.

    ``emails``: {username: address}. Raises InvalidProjectChange with the error of each name.
    """
    emails = emails or {}
    new_members, errors = [], []
    known_users = {
        user.username: user for user in get_addable_users(by).filter(username__in=usernames)
    }
    for username in usernames:
        try:
            if username in known_users:
                new_members.append(join_project(project, known_users[username], role, by))
            else:
                new_members.append(
                    create_invited_account(
                        project=project,
                        username=username,
                        role=role,
                        by=by,
                        email=emails.get(username, ""),
                    )
                )
        except InvalidProjectChange as error:
            message = _("%(what)s: %(value)s")
            errors.append(message % {"what": username, "value": error})
    if errors:
        raise InvalidProjectChange({"names": " ".join(errors)})
    return new_members


@transaction.atomic
def repeat_invitation(*, member: Member, by: Any) -> None:
    """Mail another invitation, if the site sends mail and knows the address."""
    hooks.MEMBER_INVITED.call(member, by, "")


def set_starred(*, project: Project, user: Any, starred: bool) -> bool:
    """Set whether the user's list shows the project first; return False if they are no member."""
    return bool(Member.objects.filter(project=project, user=user.pk).update(starred=starred))


def _has_login(user: User) -> bool:
    """Return whether the account has a password or a connected identity provider."""
    return user.has_usable_password() or SocialAccount.objects.filter(user=user.pk).exists()


@transaction.atomic
def change_role(*, member: Member, role: str, by: Any) -> Member:
    """Change a member's role.

    Raises InvalidProjectChange for an unknown role, and if the project would be left without a
    lead.
    """
    validate_role(role)
    if not may(role, Capability.MANAGE):
        _reject_last_lead(member)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    if is_given_work(role):
        get_or_link_rater(project=member.project, user=member.user)
    project_id, user_id = member.project_id, member.user_id
    security_log.log_event(
        "role_changed",
        project_id=project_id,
        target_user_id=user_id,
        role=role,
        by=by.pk,
        before={"member": member.user.get_username(), "role": before},
        after={"member": member.user.get_username(), "role": role},
    )
    return member


@transaction.atomic
def remove_member(*, member: Member, by: Any) -> None:
    """Delete the membership; the person's rater and ratings stay.

    Raises InvalidProjectChange for the last lead.
    """
    _reject_last_lead(member)
    member.delete()
    security_log.log_event(
        "member_removed",
        project_id=member.project_id,
        target_user_id=member.user_id,
        by=by.pk,
        before={"member": member.user.get_username(), "role": member.role},
    )


def _reject_last_lead(member: Member) -> None:
    # The lock on the project keeps two leads from removing each other at the same time.
    Project.objects.select_for_update().get(pk=member.project_id)
    leads = get_leads(member.project_id)
    if list(leads.values_list("pk", flat=True)[:2]) == [member.pk]:
        raise InvalidProjectChange({"role": _("Make another member a lead first.")})


def get_linkable_user_ids(*, project: Project, by: Any) -> set[int]:
    """Return the user ids of the members for whom ``by`` may create an invitation link.

    The link gives the account to any person who has it. So it is allowed only until the owner has
    chosen a password, and only if ``by`` leads every project that the account belongs to.
    """
    users_without_login = User.objects.filter(
        memberships__project=project, is_active=True, is_staff=False, is_superuser=False
    )
    users_without_login = users_without_login.filter(
        password__startswith=UNUSABLE_PASSWORD_PREFIX, socialaccount__isnull=True
    )
    if not by.is_superuser:
        led_projects = get_led_memberships(by).values("project")
        users_without_login = users_without_login.exclude(
            pk__in=Member.objects.exclude(project__in=led_projects).values("user")
        )
    return set(users_without_login.values_list("pk", flat=True))


_UNDO_SALT = "projects.services.members.undo"
_UNDO_SECONDS = 60 * 60
PAUSE, RESUME, ROLES, JOIN = "pause", "resume", "roles", "join"


@transaction.atomic
def pause_or_resume_raters(
    *, project: Project, raters: Sequence[Rater], paused: bool, by: Any
) -> tuple[list[Rater], str]:
    """Pause or resume raters; return those that changed, and a token for ``undo_action``."""
    changed = set_raters_paused(raters=raters, paused=paused, by=by)
    undo_data = [rater.pk for rater in changed]
    return changed, _sign_undo_token(project, by, RESUME if paused else PAUSE, undo_data)


@transaction.atomic
def set_role_of_members(*, project: Project, members: Sequence[Member], role: str, by: Any) -> str:
    """Give all members this role, or none of them; return a token for ``undo_action``.

    Raises InvalidProjectChange for an unknown role, and if no lead would be left.
    """
    undo_data = [[member.pk, member.role] for member in members if member.role != role]
    for member in members:
        if member.role != role:
            change_role(member=member, role=role, by=by)
    return _sign_undo_token(project, by, ROLES, undo_data)


@transaction.atomic
def remove_members(*, project: Project, members: Sequence[Member], by: Any) -> str:
    """Remove all of the members, or none of them; return a token for ``undo_action``.

    Raises InvalidProjectChange if no lead would be left.
    """
    undo_data = [[member.user_id, member.role, member.starred] for member in members]
    for member in members:
        remove_member(member=member, by=by)
    return _sign_undo_token(project, by, JOIN, undo_data)


def _sign_undo_token(project: Project, by: Any, action: str, undo_data: list[Any]) -> str:
    return signing.dumps([project.pk, by.pk, action, undo_data], salt=_UNDO_SALT, compress=True)


def can_undo(*, project: Project, token: str, by: Any) -> bool:
    """Return True if the token undoes an action of this user in this project in the last hour."""
    return _parse_undo_token(project, token, by) is not None


def _parse_undo_token(project: Project, token: str, by: Any) -> tuple[str, list[Any]] | None:
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
    """Undo the bulk action that ``token`` identifies.

    Pauses and roles are restored for those who are still in the project; removed members join
    again. Raises InvalidProjectChange if the action cannot be undone any more.
    """
    parsed = _parse_undo_token(project, token, by)
    if parsed is None:
        raise InvalidProjectChange({"undo": _("Too late to undo this.")})
    action, undo_data = parsed
    if action in (PAUSE, RESUME):
        raters = list(project.raters.filter(pk__in=undo_data))
        set_raters_paused(raters=raters, paused=action == PAUSE, by=by)
    elif action == ROLES:
        members = project.members.select_related("user", "project")
        members_by_id = members.in_bulk([pk for pk, _role in undo_data])
        for pk, role in undo_data:
            if pk in members_by_id:
                change_role(member=members_by_id[pk], role=role, by=by)
    else:
        _restore_members(project, undo_data, by)


def _restore_members(project: Project, undo_data: list[Any], by: Any) -> None:
    users = User.objects.filter(is_active=True).in_bulk([pk for pk, _role, _starred in undo_data])
    current_user_ids = {*project.members.values_list("user_id", flat=True)}
    for pk, role, starred in undo_data:
        if pk in users and pk not in current_user_ids:
            join_project(project, users[pk], role, by)
            if starred:
                set_starred(project=project, user=users[pk], starred=True)
