"""The number of a project's items is remembered, and never wrong."""

from __future__ import annotations

from typing import Any

from projects.models import Project
from projects.selectors.item_counts import count_items, count_items_by_project
from projects.services.items.upsert import upsert_items
from tests.ratings.imports.wizard_client import Wizard


def put(project: Project, *keys: str) -> Project:
    """The project as the next request reads it."""
    upsert_items(project=project, rows=[{"key": key, "body": {}} for key in keys])
    return Project.objects.get(pk=project.pk)


def test_number_of_items_follows_the_catalogue(
    project: Project, django_assert_num_queries: Any
) -> None:
    assert count_items(project) == 0
    project = put(project, "a", "b")
    assert count_items(project) == 2
    with django_assert_num_queries(0):
        assert count_items(project) == 2
    assert count_items(put(project, "b", "c")) == 3


def test_numbers_of_many_projects_take_one_query(
    project: Project, make_project: Any, django_assert_num_queries: Any
) -> None:
    empty, other = make_project("Empty"), put(make_project("Other"), "x")
    project = put(project, "a", "b")
    assert count_items(project) == 2
    with django_assert_num_queries(1):
        found = count_items_by_project([project, empty, other])
    assert found == {project.pk: 2, empty.pk: 0, other.pk: 1}


def test_a_number_counted_later_than_its_version_is_counted_again(project: Project) -> None:
    newer = put(project, "a")
    assert count_items(project) == 1  # of a request that began before the item came
    assert count_items(put(newer, "b")) == 2


def test_items_of_a_file_are_counted(
    project: Project, question: Any, lead: Any, client_for: Any
) -> None:
    assert count_items(project) == 0
    wizard = Wizard(client_for(lead), project)
    for content, items in (
        (b"item,rater,label\na,r,minor\nb,r,major\n", 2),
        (b"item,rater,label\nb,s,minor\n", 2),
    ):
        wizard.check(content)
        wizard.start()
        assert wizard.work().state == "done"
        assert count_items(Project.objects.get(pk=project.pk)) == items
