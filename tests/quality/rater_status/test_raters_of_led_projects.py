"""Test the page of the raters of all projects: status, sort, links, and who may see whom."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User

from metrics.jobs.question_updates import update_question
from projects.models import Member, Question, Rater
from quality.rater_status import raters_of_led_projects
from quality.rater_status import recomputation as rater_recomputation
from quality.rater_status.rater_list import RaterFilter, RaterList
from quality.rater_status.reasons import STATUS_ORDER
from tests.cast import LABELS, make_project, rate_many
from tests.query_counts import measure_round_trips

pytestmark = pytest.mark.django_db


def add_rated_project(name: str, lead: User | None, n_items: int = 36) -> Question:
    """Three raters agree, and "dan" answers something else on each second item."""
    project = make_project(name)
    if lead is not None:
        Member.objects.create(project=project, user=lead, role="lead")
    question = project.questions.get()
    rows = [
        (f"i{index}", rater, LABELS[(index + (rater == "dan" and index % 2)) % 4])
        for index in range(n_items)
        for rater in ("ann", "ben", "cem", "dan")
    ]
    rate_many(question, rows)
    update_question(question.pk)
    rater_recomputation.recompute_question(question.pk, at_once=True)
    return question


def test_people_have_the_worst_status_of_the_lists_of_raters(
    client_for: Any, lead: User, make_user: Any, make_alert: Any
) -> None:
    questions = [add_rated_project(name, lead) for name in ("Films", "Books")]
    add_rated_project("Foreign", None)
    cem = make_user("cem")
    Rater.objects.filter(project__in=[q.project_id for q in questions], key="cem").update(user=cem)
    make_alert(questions[1], questions[1].project.raters.get(key="cem"))
    page = client_for(lead).get("/raters/")
    people = page.context["people"]
    assert {person.n_projects for person in people if person.username != "cem"} == {1}
    assert (people[0].username, people[0].n_projects, people[0].status) == ("cem", 2, "act")
    assert len(people) == 7  # cem once, the others once for each of the two projects
    for person in people:
        statuses = [
            entry.status
            for question in questions
            for entry in RaterList(question).select(RaterFilter())
            if entry.key == person.username and person.single_project in ("", question.project.name)
        ]
        assert person.status == min(statuses, key=STATUS_ORDER.index), person
    ranks = [STATUS_ORDER.index(person.status) for person in people]
    assert ranks == sorted(ranks)
    for link in re.findall(r'href="(/projects/\d+/raters/[^"]*)"', page.text):
        assert client_for(lead).get(link.replace("&amp;", "&")).status_code == 200
    assert "Foreign" not in page.text


def test_people_are_sorted_by_each_column_and_found_by_name(client_for: Any, lead: User) -> None:
    question = add_rated_project("Films", lead)
    Rater.objects.filter(project=question.project, key="ben").update(name="Zoe Benson")
    client = client_for(lead)
    names = [person.name for person in client.get("/raters/?sort=-rater").context["people"]]
    assert names == ["Zoe Benson", "dan", "cem", "ann"]
    matches = client.get("/raters/?search=benson").context["people"]
    assert [person.username for person in matches] == ["ben"]
    for column in raters_of_led_projects.SORT_KEYS:
        assert len(client.get(f"/raters/?sort={column}").context["people"]) == 4
    assert client.get("/raters/?sort=odd").status_code == 404


def test_page_takes_the_same_queries_for_any_number_of_projects(
    client_for: Any, lead: User
) -> None:
    client = client_for(lead)
    numbers = []
    for names in (["One"], ["Two", "Three", "Four"]):
        for name in names:
            add_rated_project(name, lead, n_items=4)
        client.get("/raters/")
        with measure_round_trips() as count:
            client.get("/raters/")
            numbers.append(count())
    assert numbers[0] == numbers[1]


def test_statuses_are_left_out_beyond_the_limit(
    client_for: Any, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("One", "Two"):
        add_rated_project(name, lead, n_items=4)
    monkeypatch.setattr(raters_of_led_projects, "MAX_QUESTIONS_WITH_STATUS", 1)
    people = client_for(lead).get("/raters/").context["people"]
    assert len(people) == 8
    assert all(person.worst is None for person in people)
