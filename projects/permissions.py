"""The one door to a project: this user's project, or 404; 403 for a role that may not."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from core.db.bulk import Statement, several
from core.db.row_mapper import Row

from .models import Member, Project

# Who may do a thing that needs the role on the left.
ROLES_ALLOWED = {
    Member.Role.VIEWER: {Member.Role.LEAD, Member.Role.VIEWER, Member.Role.ADJUDICATOR},
    Member.Role.ADJUDICATOR: {Member.Role.LEAD, Member.Role.ADJUDICATOR},
    Member.Role.LEAD: {Member.Role.LEAD},
    Member.Role.ANNOTATOR: {Member.Role.LEAD, Member.Role.ANNOTATOR},
}
ANY = "any"


def role_in(project: Project, user: Any) -> str | None:
    """The user's role in the project; a superuser is a lead everywhere; None for a stranger."""
    if not user.is_authenticated or not user.is_active:
        return None
    if user.is_superuser:
        return Member.Role.LEAD
    return Member.objects.filter(project=project, user=user).values_list("role", flat=True).first()


def may_create_projects(user: Any) -> bool:
    """Whether the user may make projects (MAY_CREATE_PROJECTS): who does leads them, and makes
    accounts."""
    if user.is_staff or user.is_superuser:
        return True
    if settings.MAY_CREATE_PROJECTS == "leads":
        return Member.objects.filter(user=user.pk, role=Member.Role.LEAD).exists()
    return bool(settings.MAY_CREATE_PROJECTS == "everybody")


def known_to(by: Any) -> QuerySet[User]:
    """The open accounts that ``by`` may take into a project of theirs without a word of the owner:
    those in a project that ``by`` leads, and the own one. Of all others they are not even told
    that they are there."""
    found = User.objects.filter(is_active=True)
    if by.is_superuser:
        return found
    led = Member.objects.filter(user=by.pk, role=Member.Role.LEAD).values("project")
    known = Member.objects.filter(project__in=led).values("user")
    return found.filter(Q(pk__in=known) | Q(pk=by.pk))


def refuse_new_projects(user: Any) -> None:
    """Raises PermissionDenied for a user who may make no projects."""
    if not may_create_projects(user):
        raise PermissionDenied(
            _("On this site your account may not make projects. Ask somebody who leads one.")
        )


def get_project(user: Any, project_id: int, *, role: str = ANY, token: Any = None) -> Project:
    """The project, with the caller's role as ``project.role``.

    ``role`` is what the page needs: ANY (every member), VIEWER (results: all but annotators),
    ANNOTATOR (rating: leads and annotators), ADJUDICATOR (decisions: leads and adjudicators) or
    LEAD. Raises Http404 for a stranger and for a
    project that does not exist, alike; PermissionDenied for a member whose role is not enough.
    ``token`` narrows to the token's project.
    """
    project = _with_role(user, project_id, token)
    found = project.role if project else None
    if (
        project is None
        or found is None
        or (token is not None and token.project_id not in (None, project.pk))
    ):
        raise Http404(_("No such project."))
    if role != ANY and found not in ROLES_ALLOWED[Member.Role(role)]:
        named = Member.Role(found).label
        raise PermissionDenied(
            _("Your role in this project (%(role)s) does not allow this.") % {"role": named}
        )
    return project


# One plain query instead of two of the ORM: every page and every request of the API passes here.
_PROJECT = Row(Project)
_WITH_ROLE = (
    f"SELECT {_PROJECT.columns('p')}, m.role FROM projects_project p"  # noqa: S608 - only fixed names
    " LEFT JOIN projects_member m ON m.project_id = p.id AND m.user_id = %s WHERE p.id = %s"
)
_WITH_ROLE_OF_TOKEN = _WITH_ROLE.replace(
    "= %s", "= (SELECT user_id FROM projects_apitoken WHERE digest = %s)", 1
)
LARGEST_ID = 2**63 - 1


def for_token(digest: str, project_id: int) -> list[Statement]:
    """What ``get_project`` asks for the owner of a token, to be sent with the question whether
    there is such a token. ``get_project`` takes the answer from ``token.asked``: (project_id,
    rows)."""
    return [(_WITH_ROLE_OF_TOKEN, [digest, project_id])] if project_id <= LARGEST_ID else []


def _with_role(user: Any, project_id: int, token: Any) -> Any:
    """The project with the user's role in it as ``role`` (see role_in); None when there is none of
    this id."""
    if project_id > LARGEST_ID or not user.is_authenticated or not user.is_active:
        return None
    # Once: who asks again wants to know what stands by then.
    asked, rows = token.__dict__.pop("asked", (None, [])) if token is not None else (None, [])
    if asked != project_id:
        (rows,) = several([(_WITH_ROLE, [user.pk, project_id])])
    if not rows:
        return None
    *values, role = rows[0]
    project: Any = _PROJECT.made(values)
    project.role = Member.Role.LEAD.value if user.is_superuser else role
    return project
