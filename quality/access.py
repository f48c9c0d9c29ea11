"""The rater that a user is in a project."""

from __future__ import annotations

from django.http import Http404, HttpRequest

from projects.models import Member, Rater
from projects.permissions import get_project
from ratings.annotation import rater_work


def own_rater(request: HttpRequest, project_id: int) -> Rater:
    """404 for who is none."""
    project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
    rater = rater_work.rater_of(project, request.user)
    if rater is None:
        raise Http404
    return rater
