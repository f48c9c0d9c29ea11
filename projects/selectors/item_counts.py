"""How many items projects have: remembered, for counting a million takes longer than all else on a
page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.core.cache import cache
from django.db.models import Count, Value

from projects.models import WAITING, WITHDRAWN, Item, Project


class Sizes(NamedTuple):
    """Numbers of a project's items: all of them; those that wait for something to show, and are not
    asked for until then; those that were withdrawn."""

    items: int
    waiting: int
    withdrawn: int

    @property
    def asked(self) -> int:
        return self.items - self.waiting - self.withdrawn


def sizes(project: Project) -> Sizes:
    return sizes_by_project([project])[project.pk]


def n_items(project: Project) -> int:
    return sizes(project).items


def n_items_by_project(projects: Sequence[Project]) -> dict[int, int]:
    """Project -> number of its items."""
    return {pk: found.items for pk, found in sizes_by_project(projects).items()}


def sizes_by_project(projects: Sequence[Project]) -> dict[int, Sizes]:
    """Project -> numbers of its items. One query for the projects of which they are not known.

    Numbers hold for one catalogue_version, which moves with the items. The version was read before
    they are counted: at worst a number is newer than its version, and is counted once more.
    """
    kept = cache.get_many([_key(project) for project in projects])
    found, unknown = {}, []
    for project in projects:
        version, numbers = kept.get(_key(project), (None, ()))
        if version == project.catalogue_version:
            found[project.pk] = Sizes(*numbers)
        else:
            unknown.append(project)
    if unknown:
        counted = _counted(unknown)
        remembered = {}
        for project in unknown:
            remembered[_key(project)] = (project.catalogue_version, tuple(counted[project.pk]))
        cache.set_many(remembered)
        found |= counted
    return found


def _counted(projects: Sequence[Project]) -> dict[int, Sizes]:
    """Each number is read off an index of its own."""
    items = Item.objects.filter(project__in=projects).order_by()
    parts = []
    for place, chosen in enumerate((items, items.filter(WAITING), items.filter(WITHDRAWN))):
        numbered = chosen.annotate(place=Value(place)).values_list("project_id", "place")
        parts.append(numbered.annotate(Count("id")))
    numbers = {project.pk: [0, 0, 0] for project in projects}
    for project_id, place, number in parts[0].union(*parts[1:], all=True):
        numbers[project_id][place] = number
    return {project_id: Sizes(*found) for project_id, found in numbers.items()}


def _key(project: Project) -> str:
    return f"sizes-of-{project.pk}"
