"""Roles from the groups that the identity provider reports (setting PROVIDER_GROUP_ROLES).

At each sign-in the account gets the roles of its groups in the projects that the setting names, and
loses those that it had there without a group. Other projects are not touched.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from core import security_log
from projects.models import Member, Project
from projects.services import membership
from projects.services.joining import join_project
from projects.services.project_validation import InvalidProjectChange

logger = logging.getLogger(__name__)

# Of several groups the first of these roles counts.
ROLES = (Member.Role.LEAD, Member.Role.ADJUDICATOR, Member.Role.VIEWER, Member.Role.ANNOTATOR)


def get_groups(claims: Mapping[str, Any]) -> set[str] | None:
    """Return the user's groups from the claims, or None if the provider does not report groups.

    OpenID Connect reports them in the user info or the ID token, SAML as an attribute.
    """
    for part in (claims.get("userinfo"), claims.get("id_token"), claims):
        groups = part.get(settings.PROVIDER_GROUPS_CLAIM) if isinstance(part, dict) else None
        if isinstance(groups, list):
            return {group for group in groups if isinstance(group, str)}
    return None


@transaction.atomic
def apply_groups(user: User, claims: Mapping[str, Any]) -> None:
    """Grant and remove roles according to the groups in the claims."""
    groups = get_groups(claims)
    if not settings.PROVIDER_GROUP_ROLES or groups is None:
        return
    entries = settings.PROVIDER_GROUP_ROLES
    if any(target is None for _group, target, _role in entries):
        _set_administrator(
            user, any(target is None and group in groups for group, target, _role in entries)
        )
    for project in Project.objects.filter(pk__in={target for _group, target, _role in entries}):
        roles = {
            role for group, target, role in entries if target == project.pk and group in groups
        }
        highest_role = next((role for role in ROLES if role in roles), None)
        try:
            _set_role(user, project, highest_role)
        except InvalidProjectChange as error:  # the last lead stays one
            logger.warning("project %s keeps its member %s: %s", project.pk, user.pk, error)


def _set_role(user: User, project: Project, role: str | None) -> None:
    member = Member.objects.filter(project=project, user=user).first()
    if member is None and role is not None:
        join_project(project, user, role, user)
    elif member is not None and role is None:
        membership.remove_member(member=member, by=user)
    elif member is not None and role is not None and member.role != role:
        membership.change_role(member=member, role=role, by=user)


def _set_administrator(user: User, is_administrator: bool) -> None:
    """Make the user an administrator (staff and superuser), or revoke that.

    The last active superuser stays one.
    """
    remaining = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if user.is_superuser == is_administrator or (not is_administrator and not remaining.exists()):
        return
    user.is_staff = user.is_superuser = is_administrator
    user.save(update_fields=["is_staff", "is_superuser"])
    security_log.log_event(
        "admin_changed",
        by=user.pk,
        model=user._meta.label,
        target=user.pk,
        name=user.get_username(),
        before={"is_superuser": not is_administrator},
        after={"is_superuser": is_administrator},
        how="provider",
    )
