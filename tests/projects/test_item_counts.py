"""The cached number of items of a project is always current."""

from __future__ import annotations

from typing import Any

from projects.models import Project
from projects.selectors import count_items, count_items_by_project
from projects.services.item_upsert import upsert_items
from tests.ratings.imports.wizard_client import WizardClient


def store_items(project: Project, *keys: str) -> Project:
    """Store the items; return the project as the next request reads it."""
    upsert_items(project=project, rows=[{"key": key, "body": {}} for key in keys])
    return Project.objects.get(pk=project.pk)


def test_number_of_items_follows_the_catalogue(
    project: Project, django_assert_num_queries: Any
) -> None:
    assert count_items(project) == 0
    project = store_items(project, "a", "b")
    assert count_items(project) == 2
    with django_assert_num_queries(0):
        assert count_items(project) == 2
    assert count_items(store_items(project, "b", "c")) == 3


def test_item_counts_of_many_projects_take_one_query(
    project: Project, make_project: Any, django_assert_num_queries: Any
) -> None:
    empty, other = make_project("Empty"), store_items(make_project("Other"), "x")
    project = store_items(project, "a", "b")
    assert count_items(project) == 2
    with django_assert_num_queries(1):
        counts = count_items_by_project([project, empty, other])
    assert counts == {project.pk: 2, empty.pk: 0, other.pk: 1}


def test_stale_cached_count_is_recounted(project: Project) -> None:
    updated_project = store_items(project, "a")
    assert count_items(project) == 1  # by a request that started before the item was added
    assert count_items(store_items(updated_project, "b")) == 2


def test_imported_items_are_counted(
    project: Project, question: Any, lead: Any, client_for: Any
) -> None:
    assert count_items(project) == 0
    wizard = WizardClient(client_for(lead), project)
    for content, expected in (
        (b"item,rater,label\na,r,minor\nb,r,major\n", 2),
        (b"item,rater,label\nb,s,minor\n", 2),
    ):
        wizard.upload_and_validate(content)
        wizard.start_import()
        assert wizard.run_worker().state == "done"
        assert count_items(Project.objects.get(pk=project.pk)) == expected
