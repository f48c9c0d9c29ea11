"""The one door to a project: this user's project, or 404; 403 for a role that may not."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _

from .models import Member, Project

# Who may do a thing that needs the role on the left.
ROLES_ALLOWED = {
    Member.Role.VIEWER: {Member.Role.LEAD, Member.Role.VIEWER},
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


def get_project(user: Any, project_id: int, *, role: str = ANY, token: Any = None) -> Project:
    """The project, with the caller's role as ``project.role``.

    ``role`` is what the page needs: ANY (every member), VIEWER (results: leads and viewers), ANNOTATOR (rating: leads
    and annotators) or LEAD. Raises Http404 for a stranger and for a project that does not exist, alike;
    PermissionDenied for a member whose role is not enough. ``token`` narrows to the token's project.
    """
    project = _with_role(user, project_id)
    found = project.role if project else None
    if project is None or found is None or (token is not None and token.project_id not in (None, project.pk)):
        raise Http404(_("No such project."))
    if role != ANY and found not in ROLES_ALLOWED[Member.Role(role)]:
        raise PermissionDenied(_("Your role in this project (%(role)s) does not allow this.") % {"role": found})
    return project


# One plain query instead of two of the ORM: every page and every request of the API passes here.
_WITH_ROLE = (
    "SELECT p.*, m.role AS role FROM projects_project p"
    " LEFT JOIN projects_member m ON m.project_id = p.id AND m.user_id = %s WHERE p.id = %s"
)
LARGEST_ID = 2**63 - 1


def _with_role(user: Any, project_id: int) -> Any:
    """The project with the user's role in it as ``role`` (see role_in); None when there is none of this id."""
    if project_id > LARGEST_ID or not user.is_authenticated or not user.is_active:
        return None
    project: Any = next(iter(Project.objects.raw(_WITH_ROLE, [user.pk, project_id])), None)
    if project is not None and user.is_superuser:
        project.role = Member.Role.LEAD.value
    return project
