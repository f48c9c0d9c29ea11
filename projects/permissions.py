"""Permissions: fetch a project for a user, and legal holds, under which nothing may be deleted.

A project is answered with 404 for strangers, and 403 for members whose role is not sufficient. The
operator sets a legal hold, not a lead (setting LEGAL_HOLD: numbers of projects, or ``all``).
"""

from __future__ import annotations

import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from core.db.bulk import Statement, execute_statements
from core.db.prepared_query import RowMapper

from .models import Member, Project
from .models.roles import Capability, list_roles_with, may

# What a page needs that names a role.
_NEEDED = {
    Member.Role.LEAD: Capability.MANAGE,
    Member.Role.ANNOTATOR: Capability.RATE,
    Member.Role.VIEWER: Capability.SEE_RESULTS,
    Member.Role.ADJUDICATOR: Capability.REVIEW,
}
ANY_ROLE = "any"


def get_role(project: Project, user: Any) -> str | None:
    """Return the user's role in the project, or None for a stranger.

    Superusers are leads everywhere but in examples (see get_effective_role).
    """
    if not user.is_authenticated or not user.is_active:
        return None
    members = Member.objects.filter(project=project, user=user)
    role = Member.Role.LEAD if user.is_superuser else members.values_list("role", flat=True).first()
    return get_effective_role(project, role)


def get_effective_role(project: Project, role: str | None) -> str | None:
    """Return "viewer" for any role in an example, which is read-only; elsewhere the role itself.

    None, which stands for a stranger, stays None.
    """
    return Member.Role.VIEWER.value if role and project.is_example else role


def get_led_memberships(user: Any) -> QuerySet[Member]:
    """Return the user's memberships with a role that manages the project."""
    return Member.objects.filter(user=user.pk, role__in=list_roles_with(Capability.MANAGE))


def get_leads(project: Project | int) -> QuerySet[Member]:
    """Return the members of a project who manage it."""
    return Member.objects.filter(project=project, role__in=list_roles_with(Capability.MANAGE))


def can_create_projects(user: Any) -> bool:
    """Return True if the user may create projects (setting MAY_CREATE_PROJECTS).

    The creator leads the project and can create accounts in it.
    """
    if user.is_staff or user.is_superuser:
        return True
    if settings.MAY_CREATE_PROJECTS == "leads":
        return get_led_memberships(user).exists()
    return bool(settings.MAY_CREATE_PROJECTS == "everybody")


def get_addable_users(by: Any) -> QuerySet[User]:
    """Return the active accounts that ``by`` may add to projects without asking their owners.

    For superusers these are all; for others the accounts in projects that ``by`` leads, and their
    own. The existence of all other accounts is not disclosed to ``by``.
    """
    users = User.objects.filter(is_active=True)
    if by.is_superuser:
        return users
    led_projects = get_led_memberships(by).values("project")
    member_ids = Member.objects.filter(project__in=led_projects).values("user")
    return users.filter(Q(pk__in=member_ids) | Q(pk=by.pk))


def require_can_create_projects(user: Any) -> None:
    """Raise PermissionDenied for a user who may not create projects."""
    if not can_create_projects(user):
        raise PermissionDenied(_("You can't create projects. Ask a project lead."))


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
        if project.is_example:
            raise PermissionDenied(_("Examples are read-only. Create a project to try this."))
        role_label = Member(role=user_role).get_role_display()
        raise PermissionDenied(_("Your role (%(role)s) doesn't allow this.") % {"role": role_label})
    return project


def get_project_or_site(user: Any, project_id: int | None, *, token: Any = None) -> Project | None:
    """Return the project if the user leads it; None (the whole site) if ``project_id`` is None.

    Only superusers may have the site, and not with a token that is restricted to a project. Raises
    PermissionDenied for all others, and Http404 for a project that the user may not know of.
    """
    if project_id is not None:
        return get_project(user, project_id, role=Member.Role.LEAD, token=token)
    if not user.is_superuser or (token is not None and token.project_id is not None):
        raise PermissionDenied(_("Only administrators can do this."))
    return None


# Plain SQL, because every page and API request runs it: the ORM takes ten times as long to build
# these queries, and needs two of them for a project and a role.
_ACTIVE_TOKEN_SQL = (
    "SELECT t.id, t.user_id, t.project_id, t.scope, u.username, u.is_staff, u.is_superuser,"  # noqa: S105
    " t.last_used_at IS NULL OR t.last_used_at < %s"
    " FROM projects_apitoken t JOIN auth_user u ON u.id = t.user_id"
    " WHERE t.digest = %s AND t.revoked_at IS NULL"
    " AND (t.expires_at IS NULL OR t.expires_at > %s) AND u.is_active"
)
_PROJECT = RowMapper(Project)
_WITH_ROLE = (
    f"SELECT {_PROJECT.build_select_list('p')}, m.role FROM projects_project p"  # noqa: S608 - only fixed names
    " LEFT JOIN projects_member m ON m.project_id = p.id AND m.user_id = %s WHERE p.id = %s"
)
_WITH_ROLE_OF_TOKEN = _WITH_ROLE.replace(
    "= %s", "= (SELECT user_id FROM projects_apitoken WHERE digest = %s)", 1
)
MAX_ID = 2**63 - 1


def build_token_queries(
    digest: str, project_id: int | None, *, now: datetime.datetime, used_before: datetime.datetime
) -> list[Statement]:
    """Build the queries of an API token with its user, and of the project that it is used for.

    The token's query has at most one row; its last column says whether the token was never used, or
    last used before ``used_before``. The project's has the row by which ``get_project`` finds the
    project and the token owner's role in it, where it is stored as ``token.prefetched_project``:
    (project_id, rows). It is left out for None and for an id that no row can have.
    """
    adapt_datetime = connection.ops.adapt_datetimefield_value
    token_values = [adapt_datetime(used_before), digest, adapt_datetime(now)]
    queries: list[Statement] = [(_ACTIVE_TOKEN_SQL, token_values)]
    if project_id is not None and project_id <= MAX_ID:
        queries.append((_WITH_ROLE_OF_TOKEN, [digest, project_id]))
    return queries


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
    role = Member.Role.LEAD.value if user.is_superuser else role
    project.role = get_effective_role(project, role)
    return project


ALL = "all"


def is_site_under_legal_hold() -> bool:
    """Return True where nothing on the site may be deleted."""
    return ALL in settings.LEGAL_HOLD


def list_projects_under_legal_hold() -> list[int]:
    """Return the ids of the projects that LEGAL_HOLD lists.

    The list is empty if the setting is only ``all``.
    """
    return [int(text) for text in settings.LEGAL_HOLD if text != ALL]


def is_under_legal_hold(project_id: int) -> bool:
    return is_site_under_legal_hold() or project_id in list_projects_under_legal_hold()


def raise_if_under_legal_hold(project_id: int) -> None:
    """Raise PermissionDenied where nothing of the project may be deleted."""
    if is_under_legal_hold(project_id):
        raise PermissionDenied(
            _("Nothing can be deleted until an administrator ends the legal hold.")
        )
