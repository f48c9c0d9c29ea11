"""The project list of an annotator: remaining work in each project, and its link."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from projects.models import Item, Project
from quality.exams import exam_rules as exam_settings
from ratings.models import Exam

LEAD_TOOLS = ('id="search"', "Running", "Needs attention", "Lowest agreement")


@pytest.fixture
def annotator_client(client_for: Any, annotator: Any, settings: Any) -> Client:
    settings.MAY_CREATE_PROJECTS = "leads"
    return client_for(annotator)


@pytest.fixture
def make_own_project(make_project: Any, annotator: Any) -> Any:
    """Return a function that creates a project with items in which ann rates."""

    def make(name: str, *, items: int = 4, **fields: Any) -> Project:
        project: Project = make_project(name, **fields)
        project.members.create(user=annotator, role="annotator")
        project.raters.create(key="ann", user=annotator)
        Item.objects.bulk_create(
            Item(project=project, key=f"i{number}", body={"text": "x"}) for number in range(items)
        )
        return project

    return make


def get_row(client: Client, name: str) -> str:
    """Return the HTML of a project's row."""
    rows = client.get("/").text.split('<li class="own-projects__row">')[1:]
    [row] = [" ".join(row.split("</li>")[0].split()) for row in rows if f">{name}</a>" in row]
    return row


def test_row_shows_remaining_work_and_description(
    project: Project, make_own_project: Any, annotator_client: Client
) -> None:
    make_own_project("Posts", description="Posts of a forum.")
    row = get_row(annotator_client, "Posts")
    assert "Rate the next item" in row and "up to 4 left" in row and "Posts of a forum." in row
    page = annotator_client.get("/").text
    assert not [tool for tool in LEAD_TOOLS if tool in page]


def test_project_offers_no_work_to_paused_rater(
    project: Project, make_own_project: Any, annotator_client: Client
) -> None:
    paused, other = make_own_project("Rests"), make_own_project("Goes on")
    paused.raters.update(paused=True)
    row = get_row(annotator_client, "Rests")
    assert ">paused</span>" in row and "Rate the next item" not in row
    page = annotator_client.get(f"/projects/{paused.pk}/rate/").text
    assert "Your rating is paused" in page
    assert f'href="/projects/{paused.pk}/rate/">Check again</a>' in page
    assert f'href="/projects/{other.pk}/rate/">Continue with Goes on</a>' in page
    assert 'href="/">My projects</a>' in page
    next_page = annotator_client.get(
        f"/projects/{paused.pk}/rate/next/", headers={"X-Annotation": "sheet"}
    )
    assert next_page.status_code == 403 and ">Continue with Goes on</a>" in next_page.text


def test_required_exam_is_shown_in_the_list(
    project: Project, make_own_project: Any, annotator_client: Client, lead: Any
) -> None:
    tested = make_own_project("Tested")
    question = tested.questions.get()
    exam_settings.set_exam_rules(question=question, by=lead, required=True, max_attempts=1)
    assert "Start exam" in get_row(annotator_client, "Tested") and " left" not in get_row(
        annotator_client, "Tested"
    )
    rater = tested.raters.get()
    exam = Exam.objects.create(
        question=question, rater=rater, number=1, rules={}, items=[], started_at=timezone.now()
    )
    assert "Continue exam" in get_row(annotator_client, "Tested")
    Exam.objects.filter(pk=exam.pk).update(state="failed", ended_at=timezone.now())
    assert "No attempts left. Ask your lead." in get_row(annotator_client, "Tested")
    Exam.objects.filter(pk=exam.pk).update(state="passed")
    assert "up to 4 left" in get_row(annotator_client, "Tested")


def test_row_says_that_nothing_is_left_to_rate(
    project: Project, make_own_project: Any, annotator_client: Client
) -> None:
    full_project, archived = make_own_project("Taken"), make_own_project("Archived")
    full_project.items.update(slots_taken=full_project.overlap)
    assert "No items left for you" in get_row(annotator_client, "Taken")
    full_project.raters.all().delete()
    assert ">Begin</a>" in get_row(annotator_client, "Taken")
    Project.objects.filter(pk=archived.pk).update(archived_at=timezone.now())
    assert "?group=archived" in annotator_client.get("/").text
    assert ">Archived</span>" in annotator_client.get("/?group=archived").text


def test_many_projects_can_be_searched(
    project: Project, make_own_project: Any, annotator_client: Client
) -> None:
    for number in range(12):
        make_own_project(f"Project {number}", items=1)
    page = annotator_client.get("/").text
    assert 'id="search"' in page and "Running" not in page
    search_page = annotator_client.get("/?search=project 11").text
    assert search_page.count('<li class="own-projects__row">') == 1
    assert "No matches." in annotator_client.get("/?search=nothing such").text


def test_query_count_does_not_grow_with_projects(
    project: Project, make_own_project: Any, annotator_client: Client
) -> None:
    def count_queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert annotator_client.get("/").status_code == 200
        return len(captured)

    make_own_project("One")
    annotator_client.get("/")
    before = count_queries()
    for number in range(5):
        make_own_project(f"Project {number}")
    annotator_client.get("/")
    assert count_queries() == before
