"""Permissions: fetch a project for a user (404 for strangers, 403 for roles without the right)."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from core.db.bulk import Statement, execute_statements
from core.db.row_mapper import RowMapper

from .models import Member, Project


class Capability(Enum):
    """Something that a member may do in a project."""

    RATE = auto()
    SEE_OWN_RATINGS = auto()  # on a page of one's own
    SEE_RESULTS = auto()
    REVIEW = auto()
    MANAGE = auto()


# A new role is a row here, its label in Member.Role and a migration of the constraint.
CAPABILITIES = {
    Member.Role.LEAD.value: {
        Capability.RATE,
        Capability.SEE_RESULTS,
        Capability.REVIEW,
        Capability.MANAGE,
    },
    Member.Role.ANNOTATOR.value: {Capability.RATE, Capability.SEE_OWN_RATINGS},
    Member.Role.VIEWER.value: {Capability.SEE_RESULTS},
    Member.Role.ADJUDICATOR.value: {Capability.SEE_RESULTS, Capability.REVIEW},
}
# The capability that each value of ``role`` requires in `get_project`.
_NEEDED = {
    Member.Role.LEAD: Capability.MANAGE,
    Member.Role.ANNOTATOR: Capability.RATE,
    Member.Role.VIEWER: Capability.SEE_RESULTS,
    Member.Role.ADJUDICATOR: Capability.REVIEW,
}
ANY_ROLE = "any"


def may(role: str | None, capability: Capability) -> bool:
    """Return whether a role has a capability; a stranger (None) has none."""
    return capability in CAPABILITIES.get(role or "", ())


def list_roles_with(capability: Capability) -> list[str]:
    return [role for role in CAPABILITIES if may(role, capability)]


def get_role(project: Project, user: Any) -> str | None:
    """Return the user's role in the project, or None for a stranger.

    Superusers are leads everywhere.
    """
    if not user.is_authenticated or not user.is_active:
        return None
    if user.is_superuser:
        return Member.Role.LEAD
    return Member.objects.filter(project=project, user=user).values_list("role", flat=True).first()


def can_create_projects(user: Any) -> bool:
    """Return True if the user may create projects (setting MAY_CREATE_PROJECTS).

    The creator leads the project and can create accounts in it.
    """
    if user.is_staff or user.is_superuser:
        return True
    if settings.MAY_CREATE_PROJECTS == "leads":
        return Member.objects.filter(user=user.pk, role=Member.Role.LEAD).exists()
    return bool(settings.MAY_CREATE_PROJECTS == "everybody")


def get_addable_users(by: Any) -> QuerySet[User]:
    """Return the active accounts that ``by`` may add to their projects without the owner's consent.

    These are the accounts in projects that ``by`` leads, and their own. The existence of all other
    accounts is not disclosed to ``by``.
    """
    users = User.objects.filter(is_active=True)
    if by.is_superuser:
        return users
    led_projects = Member.objects.filter(user=by.pk, role=Member.Role.LEAD).values("project")
    member_ids = Member.objects.filter(project__in=led_projects).values("user")
    return users.filter(Q(pk__in=member_ids) | Q(pk=by.pk))


def require_can_create_projects(user: Any) -> None:
    """Raise PermissionDenied for a user who may not create projects."""
    if not can_create_projects(user):
        raise PermissionDenied(_("Your account can't create projects. Ask a project lead."))


def get_project(user: Any, project_id: int, *, role: str = ANY_ROLE, token: Any = None) -> Project:
    """Return the project, with the caller's role as ``project.role``.

    ``role`` is what the page needs: ANY_ROLE (every member), VIEWER (results: all but
    annotators), ANNOTATOR (rating: leads and annotators), ADJUDICATOR (decisions: leads and
    adjudicators) or LEAD. Raises Http404 both for a stranger and for a project that does not
    exist, and PermissionDenied for a member whose role is not sufficient. ``token`` restricts
    access to the token's project.
    """
    project = _fetch_project_with_role(user, project_id, token)
    user_role = project.role if project else None
    if (
        project is None
        or user_role is None
        or (token is not None and token.project_id not in (None, project.pk))
    ):
        raise Http404(_("Project not found."))
    if role != ANY_ROLE and not may(user_role, _NEEDED[Member.Role(role)]):
        role_label = Member(role=user_role).get_role_display()
        raise PermissionDenied(
            _("Your role in this project (%(role)s) doesn't allow this.") % {"role": role_label}
        )
    return project


# One plain query instead of two of the ORM, because every page and API request runs it.
_PROJECT = RowMapper(Project)
_WITH_ROLE = (
    f"SELECT {_PROJECT.build_select_list('p')}, m.role FROM projects_project p"  # noqa: S608 - only fixed names
    " LEFT JOIN projects_member m ON m.project_id = p.id AND m.user_id = %s WHERE p.id = %s"
)
_WITH_ROLE_OF_TOKEN = _WITH_ROLE.replace(
    "= %s", "= (SELECT user_id FROM projects_apitoken WHERE digest = %s)", 1
)
MAX_ID = 2**63 - 1


def build_token_project_query(digest: str, project_id: int) -> list[Statement]:
    """Build the query of ``get_project`` for the owner of a token.

    It is sent with the token's own query.

    The result is stored as ``token.prefetched_project``, (project_id, rows), and read by
    ``get_project``.
    """
    return [(_WITH_ROLE_OF_TOKEN, [digest, project_id])] if project_id <= MAX_ID else []


def _fetch_project_with_role(user: Any, project_id: int, token: Any) -> Any:
    """Return the project with the user's role as ``role``, or None if there is no such project.

    The role of a stranger is None, that of a superuser is lead.
    """
    if project_id > MAX_ID or not user.is_authenticated or not user.is_active:
        return None
    # Used once: a later call reads the current role.
    prefetched_id, rows = (
        token.__dict__.pop("prefetched_project", (None, [])) if token is not None else (None, [])
    )
    if prefetched_id != project_id:
        (rows,) = execute_statements([(_WITH_ROLE, [user.pk, project_id])])
    if not rows:
        return None
    *values, role = rows[0]
    project: Any = _PROJECT.build(values)
    project.role = Member.Role.LEAD.value if user.is_superuser else role
    return project
