"""What a lead of many projects sees at a glance: the list by what is to be done, all questions of a
project, and the raters over all projects."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from metrics.jobs.question_updates import update_question
from projects.models import Member, Project, Question, Rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def several(make_project: Any, lead: Any, rate: Any) -> dict[str, Project]:
    """A project that is done, one where nothing can be compared, one that runs, and an old one."""
    made = {}
    for name in ("Done", "Single", "Running", "Old"):
        project = make_project(name, created_by=lead, overlap=2)
        Member.objects.get_or_create(
            project=project, user=lead, defaults={"role": Member.Role.LEAD}
        )
        question = project.questions.get()
        raters = {"Done": "ab", "Single": "a", "Running": "ab", "Old": "ab"}[name]
        for item in range(12):
            for rater in raters[: 1 if name == "Running" and item else None]:
                rate(question, f"i{item}", rater, ("none", "minor")[item % 2])
        update_question(question.pk)
        made[name] = project
    Project.objects.filter(name="Old").update(archived_at=timezone.now())
    return made


def names(client: Any, query: str) -> list[str]:
    answer = client.get(f"/{query}")
    assert answer.status_code == 200
    return [row.project.name for row in answer.context["rows"]]


def test_a_star_puts_a_project_first_in_ones_own_list(
    several: dict[str, Project], lead: Any, viewer: Any, stranger: Any, client_for: Any
) -> None:
    client, project = client_for(lead), several["Single"]
    Member.objects.get_or_create(project=project, user=viewer, role="viewer")
    address = f"/projects/{project.pk}/star/"
    sent = {"starred": "1", "passed": "sort=name&page=1&x=2"}
    assert client.post(address, sent)["Location"] == "/?sort=name&page=1"
    for sort in ("name", "newest", "agreement", "progress"):
        assert names(client, f"?sort={sort}")[0] == "Single"
    assert not Member.objects.filter(user=viewer, starred=True).exists()
    assert client_for(viewer).post(address, sent).status_code == 302
    client.post(address, {"starred": "0"})
    assert names(client, "?sort=name") == ["Done", "Running", "Single"]
    assert client.post(address, {"starred": "x"}).status_code == 400
    assert client.get(address).status_code == 405
    assert client_for(stranger).post(address, sent).status_code == 404


def test_a_project_of_several_questions_says_which_is_shown(
    several: dict[str, Project], lead: Any, client_for: Any
) -> None:
    project = several["Running"]
    Question.objects.create(project=project, key="tone", text="Which tone?", position=2)
    text = client_for(lead).get("/").content.decode()
    assert text.count("Shown: Which severity?") == 1
    assert text.count('<details class="more-questions"><summary>All 2 questions') == 1


def test_projects_are_grouped_sorted_and_found(
    several: dict[str, Project], lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    assert names(client, "?sort=name") == ["Done", "Running", "Single"]
    assert names(client, "?group=finished") == ["Done"]
    assert names(client, "?group=attention") == ["Single"]
    assert names(client, "?group=running") == ["Running"]
    assert names(client, "?group=archived") == names(client, "?archive=1") == ["Old"]
    assert names(client, "?search=UN") == ["Running"]
    assert names(client, "?sort=progress")[-1] == "Done"
    assert set(names(client, "?sort=agreement")) == {"Done", "Running", "Single"}
    text = client.get("/?search=nowhere").content.decode()
    assert 'role="search"' in text
    assert "No item has two ratings" in client.get("/").content.decode()
    for wrong in ("?group=odd", "?sort=odd", "?page=9"):
        assert client.get(f"/{wrong}").status_code == 404
    assert client.get(f"/?search={'x' * 300}").status_code == 400


@pytest.fixture
def accounts(several: dict[str, Project], make_user: Any) -> dict[str, Any]:
    """Rater b of each project is the same account; whoever is called a is another in each."""
    bea = make_user("bea")
    Rater.objects.filter(project__in=several.values(), key="b").update(user=bea)
    return {"bea": bea}


def test_raters_of_all_projects_are_joined_by_account(
    several: dict[str, Project], accounts: Any, make_project: Any, rate: Any, stranger: Any,
    lead: Any, client_for: Any,
) -> None:  # fmt: skip
    other = make_project("Foreign", created_by=stranger)
    rate(other.questions.get(), "i", "elsewhere", "none")
    update_question(other.questions.get().pk)
    people = client_for(lead).get("/raters/").context["people"]
    told = [(one.name, one.alone, one.n_projects, one.n_ratings) for one in people]
    alone = [("a", name, 1, 12) for name in ("Done", "Running", "Single")]
    assert [told[0], *sorted(told[1:])] == [("bea", "", 2, 13), *alone]
    values = {seat.question.project.name: value["value"] for seat, value in people[0].seats}
    assert set(values) == {"Done", "Running"}
    assert values["Done"] == 1.0
    found = client_for(lead).get("/raters/?search=BE").context["people"]
    assert [person.name for person in found] == ["bea"]
    assert client_for(stranger).get("/raters/").context["people"] == []


def test_a_key_of_two_projects_is_told_with_its_project(
    several: dict[str, Project], lead: Any, client_for: Any
) -> None:
    text = client_for(lead).get("/raters/").content.decode()
    for name in ("Done", "Single", "Running"):
        assert f'a <span class="line-below">{name}</span>' in text


def test_who_is_hidden_in_a_project_is_joined_with_nobody(
    several: dict[str, Project], accounts: Any, lead: Any, client_for: Any
) -> None:
    Project.objects.filter(name="Running").update(raters_hidden=True)
    people = client_for(lead).get("/raters/").context["people"]
    told = {(one.name, one.alone) for one in people}
    assert {("bea", ""), ("b", "Running")} <= told
    (bea,) = [one for one in people if one.name == "bea"]
    assert bea.n_projects == 1


def test_queries_do_not_grow_with_projects(
    several: dict[str, Project], lead: Any, client_for: Any, django_assert_num_queries: Any
) -> None:
    client = client_for(lead)
    client.get("/")
    for address, queries in (("/?group=running", 22), ("/raters/", 7)):
        with django_assert_num_queries(queries):
            client.get(address)
