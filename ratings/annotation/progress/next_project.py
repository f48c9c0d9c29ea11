"""Next project of a rater who has no items left in the current one."""

from __future__ import annotations

from typing import Any

from projects.models import Member, Project, Rater

from . import remaining

MAX_PROJECTS_CHECKED = 20  # projects, the newest first


def get_next_project(user: Any, *, exclude_project_id: int) -> Project | None:
    """Return another project in which the user is an annotator and has items left, or None."""
    member = Member.objects.filter(user=user, role=Member.Role.ANNOTATOR)
    projects = (
        Project.objects.filter(pk__in=member.values("project"), archived_at=None)
        .exclude(pk=exclude_project_id)
        .order_by("-pk")[:MAX_PROJECTS_CHECKED]
    )
    raters = Rater.objects.filter(user=user, paused=False, project__in=list(projects))
    own_raters = list(raters.select_related("project").order_by("-project"))
    remaining_by_rater = remaining.count_remaining_by_rater(own_raters)
    return next((rater.project for rater in own_raters if remaining_by_rater[rater.pk]), None)
