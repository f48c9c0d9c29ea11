"""Where a rater who is done in one project goes on."""

from __future__ import annotations

from typing import Any

from projects.models import Member, Project, Rater

from . import progress

MOST_LOOKED_AT = 20  # projects; the latest first


def next_project(user: Any, *, besides: int) -> Project | None:
    """Another project of which the user is an annotator and where items may be left for them; by
    their own figures alone, so that it tells nothing of what others rated."""
    member = Member.objects.filter(user=user, role=Member.Role.ANNOTATOR)
    projects = (
        Project.objects.filter(pk__in=member.values("project"))
        .exclude(pk=besides)
        .order_by("-pk")[:MOST_LOOKED_AT]
    )
    raters = {
        rater.project_id: rater
        for rater in Rater.objects.filter(user=user, project__in=list(projects))
    }
    for project in projects:
        rater = raters.get(project.pk)
        if rater is None or rater.paused:
            continue
        rater.project = project
        if progress.of_rater(rater).left:
            return project
    return None
