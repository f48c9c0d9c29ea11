"""Cached numbers of items of projects.

Counting a million takes longer than the rest of a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.core.cache import cache
from django.db.models import Count, Value

from projects.models import WITHDRAWN, WITHOUT_CONTENT, Item, Project


class ItemCounts(NamedTuple):
    """Numbers of a project's items: all, those without content, and withdrawn ones.

    Items without content are not given to raters.
    """

    items: int
    without_content: int
    withdrawn: int

    @property
    def available(self) -> int:
        """Number of items that can be given to raters."""
        return self.items - self.without_content - self.withdrawn


def get_item_counts(project: Project) -> ItemCounts:
    return get_item_counts_by_project([project])[project.pk]


def count_items(project: Project) -> int:
    return get_item_counts(project).items


def count_items_by_project(projects: Sequence[Project]) -> dict[int, int]:
    """Return {project id: number of its items}."""
    return {pk: counts.items for pk, counts in get_item_counts_by_project(projects).items()}


def get_item_counts_by_project(projects: Sequence[Project]) -> dict[int, ItemCounts]:
    """Return {project id: item counts}, with one query for the projects that are not cached.

    The counts belong to one items_and_raters_version, which is incremented when items change. The
    version is read before counting: at worst, a count is newer than its version and is counted
    once more.
    """
    cached = cache.get_many([_get_cache_key(project) for project in projects])
    counts, uncached = {}, []
    for project in projects:
        version, values = cached.get(_get_cache_key(project), (None, ()))
        if version == project.items_and_raters_version:
            counts[project.pk] = ItemCounts(*values)
        else:
            uncached.append(project)
    if uncached:
        fresh_counts = _query_item_counts(uncached)
        cache_entries = {}
        for project in uncached:
            cache_entries[_get_cache_key(project)] = (
                project.items_and_raters_version,
                tuple(fresh_counts[project.pk]),
            )
        cache.set_many(cache_entries)
        counts |= fresh_counts
    return counts


def _query_item_counts(projects: Sequence[Project]) -> dict[int, ItemCounts]:
    """Count the items; each number is read from an index of its own."""
    items = Item.objects.filter(project__in=projects).order_by()
    queries = []
    for position, filtered in enumerate(
        (items, items.filter(WITHOUT_CONTENT), items.filter(WITHDRAWN))
    ):
        annotated = filtered.annotate(place=Value(position)).values_list("project_id", "place")
        queries.append(annotated.annotate(Count("id")))
    counts = {project.pk: [0, 0, 0] for project in projects}
    for project_id, position, count in queries[0].union(*queries[1:], all=True):
        counts[project_id][position] = count
    return {project_id: ItemCounts(*values) for project_id, values in counts.items()}


def _get_cache_key(project: Project) -> str:
    return f"sizes-of-{project.pk}"
