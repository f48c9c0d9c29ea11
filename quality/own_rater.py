"""Access of annotators to their own rater."""

from __future__ import annotations

from django.http import Http404, HttpRequest

from projects.models import Member, Rater
from projects.permissions import get_project
from ratings.annotation import rater_selectors


def get_own_rater_or_404(request: HttpRequest, project_id: int) -> Rater:
    """Return the user's rater in the project.

    Raises Http404 if there is none, and PermissionDenied for a role that does not rate.
    """
    project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
    rater = rater_selectors.get_rater(project, request.user)
    if rater is None:
        raise Http404
    return rater
