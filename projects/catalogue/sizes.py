"""How many items projects have: remembered, for counting a million takes longer than all else on a
page."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.cache import cache
from django.db.models import Count

from projects.models import Item, Project


def n_items(project: Project) -> int:
    return n_items_by_project([project])[project.pk]


def n_items_by_project(projects: Sequence[Project]) -> dict[int, int]:
    """Project -> number of its items. One query for the projects whose number is not known.

    A number holds for one catalogue_version, which moves with the items. The version was read
    before they are counted: at worst a number is newer than its version, and is counted once more.
    """
    kept = cache.get_many([_key(project) for project in projects])
    found, unknown = {}, []
    for project in projects:
        version, number = kept.get(_key(project), (None, 0))
        if version == project.catalogue_version:
            found[project.pk] = number
        else:
            unknown.append(project)
    if unknown:
        rows = (
            Item.objects.filter(project__in=unknown)
            .order_by()
            .values_list("project_id")
            .annotate(Count("id"))
        )
        counted = {project.pk: 0 for project in unknown} | dict(rows)
        cache.set_many(
            {_key(project): (project.catalogue_version, counted[project.pk]) for project in unknown}
        )
        found |= counted
    return found


def _key(project: Project) -> str:
    return f"items-of-{project.pk}"
