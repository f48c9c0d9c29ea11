"""The list of who only rates: what waits in each project, and where it leads."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from projects.models import Item, Project
from quality.exams import settings as exam_settings
from ratings.models import Exam

LEADS_TOOLS = ('id="search"', "Running", "Needs attention", "lowest agreement first")


@pytest.fixture
def desk(client_for: Any, annotator: Any, settings: Any) -> Client:
    settings.MAY_CREATE_PROJECTS = "leads"
    return client_for(annotator)


@pytest.fixture
def mine(make_project: Any, annotator: Any) -> Any:
    """Makes a project in which ann rates, with so many items."""

    def make(name: str, *, items: int = 4, **fields: Any) -> Project:
        project: Project = make_project(name, **fields)
        project.members.create(user=annotator, role="annotator")
        project.raters.create(key="ann", user=annotator)
        Item.objects.bulk_create(
            Item(project=project, key=f"i{number}", body={"text": "x"}) for number in range(items)
        )
        return project

    return make


def told(desk: Client, name: str) -> str:
    """What stands in the row of a project."""
    rows = desk.get("/").text.split('<li class="own-projects__row">')[1:]
    [row] = [" ".join(row.split("</li>")[0].split()) for row in rows if f">{name}</a>" in row]
    return row


def test_each_project_says_what_is_left_and_what_it_is_about(
    project: Project, mine: Any, desk: Client
) -> None:
    mine("Posts", description="Posts of a forum.")
    row = told(desk, "Posts")
    assert "Rate the next item" in row and "up to 4 more" in row and "Posts of a forum." in row
    page = desk.get("/").text
    assert not [tool for tool in LEADS_TOOLS if tool in page]


def test_a_project_in_which_the_rater_is_paused_offers_nothing(
    project: Project, mine: Any, desk: Client
) -> None:
    paused, other = mine("Rests"), mine("Goes on")
    paused.raters.update(paused=True)
    row = told(desk, "Rests")
    assert ">paused</span>" in row and "Rate the next item" not in row
    page = desk.get(f"/projects/{paused.pk}/rate/").text
    assert "Your rating is paused" in page
    assert f'href="/projects/{paused.pk}/rate/">Look again</a>' in page
    assert f'href="/projects/{other.pk}/rate/">Go on with Goes on</a>' in page
    assert 'href="/">My projects</a>' in page
    sheet = desk.get(f"/projects/{paused.pk}/rate/next/", headers={"X-Desk": "sheet"})
    assert sheet.status_code == 403 and ">Go on with Goes on</a>" in sheet.text


def test_an_exam_comes_first_in_the_list_too(
    project: Project, mine: Any, desk: Client, lead: Any
) -> None:
    tested = mine("Tested")
    question = tested.questions.get()
    exam_settings.set_exam_rules(question=question, by=lead, required=True, tries=1)
    assert "First an exam" in told(desk, "Tested") and " more" not in told(desk, "Tested")
    rater = tested.raters.get()
    exam = Exam.objects.create(
        question=question, rater=rater, number=1, rules={}, items=[], began_at=timezone.now()
    )
    assert "Go on with the exam" in told(desk, "Tested")
    Exam.objects.filter(pk=exam.pk).update(state="failed", ended_at=timezone.now())
    assert "exam not passed: your lead decides" in told(desk, "Tested")
    Exam.objects.filter(pk=exam.pk).update(state="passed")
    assert "up to 4 more" in told(desk, "Tested")


def test_who_has_nothing_to_rate_is_told_so(project: Project, mine: Any, desk: Client) -> None:
    taken, archived = mine("Taken"), mine("Archived")
    taken.items.update(places_taken=taken.overlap)
    assert "Nothing to rate just now" in told(desk, "Taken")
    taken.raters.all().delete()
    assert ">Begin</a>" in told(desk, "Taken")
    Project.objects.filter(pk=archived.pk).update(archived_at=timezone.now())
    assert "?group=archived" in desk.get("/").text
    assert ">archived</span>" in desk.get("/?group=archived").text


def test_many_projects_can_be_searched(project: Project, mine: Any, desk: Client) -> None:
    for number in range(12):
        mine(f"Project {number}", items=1)
    page = desk.get("/").text
    assert 'id="search"' in page and "Running" not in page
    found = desk.get("/?search=project 11").text
    assert found.count('<li class="own-projects__row">') == 1
    assert "No project of yours fits." in desk.get("/?search=nothing such").text


def test_a_project_more_is_no_query_more(project: Project, mine: Any, desk: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as taken:
            assert desk.get("/").status_code == 200
        return len(taken)

    mine("One")
    desk.get("/")
    before = queries()
    for number in range(5):
        mine(f"Project {number}")
    desk.get("/")
    assert queries() == before
