"""Make a user a member of a project."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from core import security_log
from projects import hooks
from projects.models import Member, Project
from projects.models.roles import is_given_work
from projects.services.project_validation import InvalidProjectChange
from projects.services.raters.updates import get_or_link_rater


def join_project(project: Project, user: User, role: str, by: Any, *, email: str = "") -> Member:
    """Create the user's membership with this role, in the caller's transaction.

    ``email``: where a new account is invited by mail, if the site sends mail. Raises
    InvalidProjectChange for an unknown role, and for a user who is a member already.
    """
    validate_role(role)
    Project.objects.select_for_update().get(pk=project.pk)
    if Member.objects.filter(project=project, user=user).exists():
        message = _("“%(name)s” is already a member.")
        raise InvalidProjectChange({"username": message % {"name": user.username}})
    member = Member.objects.create(project=project, user=user, role=role)
    if is_given_work(role):
        get_or_link_rater(project=project, user=user)
    security_log.log_event(
        "member_added",
        project_id=project.pk,
        target_user_id=user.pk,
        role=role,
        by=by.pk,
        after={"member": user.get_username(), "role": role},
    )
    if by.pk != user.pk:
        hooks.MEMBER_INVITED.call(member, by, email)
    return member


def validate_role(role: str) -> None:
    """Raise InvalidProjectChange for an unknown role."""
    if role not in Member.Role.values:
        raise InvalidProjectChange(
            {
                "role": _("Choose one of these roles: %(roles)s.")
                % {"roles": ", ".join(Member.Role.values)}
            }
        )
