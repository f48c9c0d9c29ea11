"""Where a rater who is done in one project goes on."""

from __future__ import annotations

from typing import Any

from projects.models import Member, Project, Rater

from . import remaining

MOST_LOOKED_AT = 20  # projects; the latest first


def next_project(user: Any, *, besides: int) -> Project | None:
    """Another project of which the user is an annotator and where items are left for them."""
    member = Member.objects.filter(user=user, role=Member.Role.ANNOTATOR)
    projects = (
        Project.objects.filter(pk__in=member.values("project"), archived_at=None)
        .exclude(pk=besides)
        .order_by("-pk")[:MOST_LOOKED_AT]
    )
    raters = Rater.objects.filter(user=user, paused=False, project__in=list(projects))
    mine = list(raters.select_related("project").order_by("-project"))
    number = remaining.of_raters(mine)
    return next((rater.project for rater in mine if number[rater.pk]), None)
