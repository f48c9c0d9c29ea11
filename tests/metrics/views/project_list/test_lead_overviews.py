"""Overviews for a lead of many projects: grouped projects, questions, and raters of all projects."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from metrics.jobs.question_updates import update_question
from projects.models import Member, Project, Question, Rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def projects_by_name(make_project: Any, lead: Any, rate: Any) -> dict[str, Project]:
    """Create four projects: one done, one where nothing can be compared, one running, one archived."""
    projects = {}
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
        projects[name] = project
    Project.objects.filter(name="Old").update(archived_at=timezone.now())
    return projects


def get_project_names(client: Any, query: str) -> list[str]:
    response = client.get(f"/{query}")
    assert response.status_code == 200
    return [row.project.name for row in response.context["rows"]]


def test_starred_project_comes_first_in_own_list(
    projects_by_name: dict[str, Project], lead: Any, viewer: Any, stranger: Any, client_for: Any
) -> None:
    client, project = client_for(lead), projects_by_name["Single"]
    Member.objects.get_or_create(project=project, user=viewer, role="viewer")
    address = f"/projects/{project.pk}/star/"
    form = {"starred": "1", "passed": "sort=name&page=1&x=2"}
    assert client.post(address, form)["Location"] == "/?sort=name&page=1"
    for sort in ("name", "newest", "agreement", "progress"):
        assert get_project_names(client, f"?sort={sort}")[0] == "Single"
    assert not Member.objects.filter(user=viewer, starred=True).exists()
    assert client_for(viewer).post(address, form).status_code == 302
    client.post(address, {"starred": "0"})
    assert get_project_names(client, "?sort=name") == ["Done", "Running", "Single"]
    assert client.post(address, {"starred": "x"}).status_code == 400
    assert client.get(address).status_code == 405
    assert client_for(stranger).post(address, form).status_code == 404


def test_project_with_two_questions_names_the_shown_one(
    projects_by_name: dict[str, Project], lead: Any, client_for: Any
) -> None:
    project = projects_by_name["Running"]
    Question.objects.create(project=project, key="tone", text="Which tone?", position=2)
    text = client_for(lead).get("/").content.decode()
    assert text.count("Shown: Which severity?") == 1
    assert text.count('<details class="more-questions"><summary>All 2 questions') == 1


def test_projects_are_grouped_sorted_and_searched(
    projects_by_name: dict[str, Project], lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    assert get_project_names(client, "?sort=name") == ["Done", "Running", "Single"]
    assert get_project_names(client, "?group=finished") == ["Done"]
    # Only what the inbox lists needs attention; "Single" has nothing to decide.
    assert get_project_names(client, "?group=attention") == []
    assert set(get_project_names(client, "?group=running")) == {"Running", "Single"}
    assert get_project_names(client, "?group=archived") == ["Old"]
    assert get_project_names(client, "?search=UN") == ["Running"]
    assert get_project_names(client, "?sort=progress")[-1] == "Done"
    assert set(get_project_names(client, "?sort=agreement")) == {"Done", "Running", "Single"}
    text = client.get("/?search=nowhere").content.decode()
    assert 'role="search"' in text
    assert "Setup: " in client.get("/").content.decode()
    for query in ("?group=odd", "?sort=odd", "?page=9"):
        assert client.get(f"/{query}").status_code == 404
    assert client.get(f"/?search={'x' * 300}").status_code == 400


@pytest.fixture
def shared_account(projects_by_name: dict[str, Project], make_user: Any) -> dict[str, Any]:
    """Link rater b of each project to one account; rater a is another person in each project."""
    bea = make_user("bea")
    Rater.objects.filter(project__in=projects_by_name.values(), key="b").update(user=bea)
    return {"bea": bea}


def test_raters_of_all_projects_are_joined_by_account(
    projects_by_name: dict[str, Project], shared_account: Any, make_project: Any, rate: Any, stranger: Any,
    lead: Any, client_for: Any,
) -> None:  # fmt: skip
    other = make_project("Foreign", created_by=stranger)
    rate(other.questions.get(), "i", "elsewhere", "none")
    update_question(other.questions.get().pk)
    people = client_for(lead).get("/raters/").context["people"]
    summaries = [(row.name, row.single_project, row.n_projects, row.n_ratings) for row in people]
    single_project_raters = [("a", name, 1, 12) for name in ("Done", "Running", "Single")]
    assert [summaries[0], *sorted(summaries[1:])] == [("bea", "", 2, 13), *single_project_raters]
    values = {
        membership.question.project.name: value["value"]
        for membership, value in people[0].question_results
    }
    assert set(values) == {"Done", "Running"}
    assert values["Done"] == 1.0
    matches = client_for(lead).get("/raters/?search=BE").context["people"]
    assert [person.name for person in matches] == ["bea"]
    assert client_for(stranger).get("/raters/").context["people"] == []


def test_ambiguous_rater_key_is_shown_with_its_project(
    projects_by_name: dict[str, Project], lead: Any, client_for: Any
) -> None:
    text = client_for(lead).get("/raters/").content.decode()
    for name in ("Done", "Single", "Running"):
        assert f'a <span class="line-below">{name}</span>' in text


def test_hidden_rater_is_not_joined_with_account(
    projects_by_name: dict[str, Project], shared_account: Any, lead: Any, client_for: Any
) -> None:
    Project.objects.filter(name="Running").update(hides_raters=True)
    people = client_for(lead).get("/raters/").context["people"]
    names_and_projects = {(person.name, person.single_project) for person in people}
    assert {("bea", ""), ("b", "Running")} <= names_and_projects
    (bea,) = [person for person in people if person.name == "bea"]
    assert bea.n_projects == 1


def test_number_of_queries(
    projects_by_name: dict[str, Project], lead: Any, client_for: Any, django_assert_num_queries: Any
) -> None:
    client = client_for(lead)
    client.get("/")
    for address, queries in (("/?group=running", 25), ("/raters/", 18)):
        with django_assert_num_queries(queries):
            client.get(address)
