"""The rows of the project list, and the actions in it."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from metrics.agreement.explain import bands
from metrics.jobs.question_updates import update_question
from metrics.templatetags.results import band_badge
from metrics.views.project_list import listing
from projects.models import Category, Deletion, Item, Member, Project, Question, Rater
from ratings.items import removal
from tests.cast import rate_many

pytestmark = pytest.mark.django_db

NOW = "2026-03-26T12:00:00Z"


def get_rows(client: Any, query: str = "") -> dict[str, Any]:
    response = client.get(f"/{query}")
    assert response.status_code == 200
    return {row.project.name: row for row in response.context["rows"]}


@pytest.fixture
def two_questions(project: Any, question: Any, rate: Any, utc: Any) -> Any:
    """Return a project with two questions.

    Severity has ratings of twelve items by three raters, the other question of one item by two.
    """
    tone = Question.objects.create(project=project, key="tone", text="Which tone?", position=1)
    Category.objects.create(question=tone, code=0, label="warm", position=0)
    Category.objects.create(question=tone, code=1, label="cold", position=1)
    with time_machine.travel("2026-03-24T09:00:00Z", tick=False):
        rate_many(
            question,
            (
                (f"i{item}", rater, ("none", "minor")[(item + index // 2) % 2])
                for item in range(12)
                for index, rater in enumerate(("ada", "ben", "cy"))
            ),
        )
    with time_machine.travel("2026-03-26T11:57:00Z", tick=False):
        for rater in ("ada", "ben"):
            rate(tone, "i1", rater, "warm")
    for rated_question in (question, tone):
        update_question(rated_question.pk)
    return project


def test_row_counts_ratings_of_all_questions(
    two_questions: Any, lead: Any, client_for: Any
) -> None:
    row = get_rows(client_for(lead))["Reviews"]
    assert row.n_ratings == 38
    assert [question_row.n_ratings for question_row in row.questions] == [36, 2]
    assert [question_row.n_complete_items for question_row in row.questions] == [12, 0]


def test_project_row_expands_to_one_line_per_question(
    two_questions: Any, lead: Any, client_for: Any
) -> None:
    text = client_for(lead).get("/").content.decode()
    assert text.count('<tr class="of-question">') == 2
    assert f'<a href="/projects/{two_questions.pk}/?question=tone">Which tone?</a>' in text
    overlap = two_questions.overlap
    assert text.count(f"items have at least {overlap} ratings") == 3


def test_csv_has_one_line_per_project(two_questions: Any, lead: Any, client_for: Any) -> None:
    lines = client_for(lead).get("/?csv=projects-title").content.decode("utf-8-sig").splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("Project,Raters,Progress,Ratings,Ratings last changed,Agreement,")
    assert ",38,2026-03-26T11:57:00+00:00," in lines[1]


def test_row_shows_time_of_last_rating(two_questions: Any, lead: Any, client_for: Any) -> None:
    with time_machine.travel(NOW, tick=False):
        client = client_for(lead)
        row = get_rows(client)["Reviews"]
        assert row.last_rated == datetime.datetime(2026, 3, 26, 11, 57, tzinfo=datetime.UTC)
        text = client.get("/").content.decode()
    assert 'title="2026-03-26 11:57 UTC">3 minutes ago</time>' in text


@pytest.mark.sqlite_only("its plans do not depend on how many rows there are")
def test_last_rating_is_found_by_index(two_questions: Any) -> None:
    assert "rating_latest" in listing.query_last_changes([1, 2]).explain()


def test_row_shows_four_avatars_and_a_number(
    two_questions: Any, lead: Any, client_for: Any
) -> None:
    for key in ("dora", "w0039", "zoe"):
        Rater.objects.create(
            project=two_questions, key=key, name="Zoe Young" if key == "zoe" else ""
        )
    Rater.objects.create(project=two_questions, key="a-model", kind=Rater.Kind.MODEL)
    people = get_rows(client_for(lead))["Reviews"].people
    assert people.n_people == Rater.objects.filter(project=two_questions, kind="human").count()
    assert people.avatars[0].name == "ada"
    assert len(people.avatars) == 4
    assert all(avatar.letters and 0 <= avatar.colour < 6 for avatar in people.avatars)
    text = client_for(lead).get("/").content.decode()
    assert re.search(r'title="ada" aria-hidden="true">A</span>', text)
    assert f"{people.n_more} more" in text


def test_sparklines_have_accessible_labels(
    two_questions: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    with time_machine.travel("2026-03-17T09:00:00Z", tick=False):
        for item in range(10):
            for index, rater in enumerate(("ada", "ben", "cy")):
                rate(question, f"w{item}", rater, ("none", "minor")[(item + index // 2) % 2])
        update_question(question.pk)
    with time_machine.travel(NOW, tick=False):
        client = client_for(lead)
        text = client.get("/").content.decode()
        address = f"/projects/{question.project_id}/statistics/?question={question.key}"
        statistics = client.get(address).content.decode()
    label = re.search(r'<svg class="spark"[^>]* aria-label="([^"]*)"', text)
    assert label is not None
    assert label[1].endswith(", 2 weeks, 22 items")
    whisker = re.search(r'<svg class="whisker"[^>]* aria-label="([^"]*)"', statistics)
    assert whisker is not None
    assert re.fullmatch(r"(-?\d\.\d\d), from (-?\d\.\d\d) to (-?\d\.\d\d)", whisker[1])


# --- agreement of too few items


def test_project_with_few_items_is_not_sorted_as_lowest(
    make_project: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    for name, n_items, differ_every in (("Low", 120, 2), ("Early", 4, 1), ("High", 60, 9)):
        project = make_project(name, created_by=lead)
        Member.objects.get_or_create(project=project, user=lead, defaults={"role": "lead"})
        question = project.questions.get()
        for item in range(n_items):
            for rater in "ab":
                differs = rater == "b" and item % differ_every == 0
                rate(question, f"i{item}", rater, ("none", "major")[(item + differs) % 2])
        update_question(question.pk)
    row_by_name = get_rows(client_for(lead), "?sort=agreement")
    assert list(row_by_name) == ["Low", "High", "Early"]
    headline = row_by_name["Early"].headline
    assert bands.is_inconclusive(headline["n_items"], headline["low"], headline["high"])
    assert headline["value"] < row_by_name["Low"].headline["value"]


@pytest.mark.parametrize("scheme", sorted(bands.SCHEMES))
def test_bands_have_distinct_colours(scheme: str) -> None:
    edges = [-0.5, *(band.low + 0.001 for band in bands.get_bands(scheme)[1:])]
    signs = [band_badge({"value": value, "n_items": 100}, scheme) for value in edges]
    colours = [re.search(r"band--(\d)", sign) for sign in signs]
    numbers = [int(match[1]) for match in colours if match]
    assert len(numbers) == len(set(numbers)) == len(bands.get_bands(scheme))
    assert max(numbers) <= 5


# --- archive and delete


def test_project_is_archived_and_restored_from_the_list(
    two_questions: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    client, address = client_for(lead), f"/projects/{two_questions.pk}/archive/"
    assert f'formaction="{address}"' in client.get("/").content.decode()
    form = {"do": "archive", "passed": "sort=name&page=3"}
    assert client.post(address, form)["Location"] == "/?sort=name"
    assert "Reviews" not in get_rows(client)
    assert list(get_rows(client, "?group=archived")) == ["Reviews"]
    restored = client.post(address, {"do": "restore", "passed": "group=archived"})
    assert restored["Location"] == "/?group=archived"
    assert "Reviews" in get_rows(client)
    assert client.post(address, {"do": "archive", "passed": ""})["Location"] == "/"
    assert (
        client.post(address, {"do": "restore"})["Location"]
        == f"/projects/{two_questions.pk}/archive/"
    )
    assert f'formaction="{address}"' not in client_for(viewer).get("/").content.decode()
    assert client_for(viewer).post(address, form).status_code == 403


def test_project_being_deleted_is_marked_and_not_linked(
    two_questions: Any, make_project: Any, lead: Any, annotator: Any, client_for: Any
) -> None:
    other = make_project("Another", created_by=lead)
    Member.objects.get_or_create(project=other, user=lead, defaults={"role": "lead"})
    removal.start_deletion(kind=Deletion.Kind.PROJECT, target=two_questions, by=lead)
    client = client_for(lead)
    page = client.get("/?sort=name")
    assert [row.project.name for row in page.context["rows"]] == ["Another", "Reviews"]
    deleting_row = page.context["rows"][1]
    assert (deleting_row.is_being_deleted, deleting_row.n_ratings, deleting_row.questions) == (
        True,
        0,
        [],
    )
    text = page.content.decode()
    assert "being deleted" in text
    assert f'href="/projects/{two_questions.pk}/"' not in text
    assert get_rows(client, "?group=archived") == {}
    assert "archived" not in dict(page.context["listed"].groups)
    for group in ("attention", "running", "finished"):
        assert "Reviews" not in get_rows(client, f"?group={group}")
    assert f"/projects/{two_questions.pk}/" not in client_for(annotator).get("/").content.decode()
    Deletion.objects.update(finished_at=timezone.now())
    assert list(get_rows(client, "?group=archived")) == ["Reviews"]


# --- many projects


def test_query_count_does_not_grow_with_projects(
    two_questions: Any, lead: Any, client_for: Any, django_assert_num_queries: Any
) -> None:
    client = client_for(lead)
    projects = Project.objects.bulk_create([Project(name=f"P{n}", overlap=2) for n in range(200)])
    Member.objects.bulk_create(
        [Member(project=project, user=lead, role="lead") for project in projects]
    )
    questions = Question.objects.bulk_create(
        [Question(project=project, key=key, text=key) for project in projects for key in ("a", "b")]
    )
    Item.objects.bulk_create([Item(project=project, key="i") for project in projects])
    Rater.objects.bulk_create(
        [Rater(project=project, key=key) for project in projects for key in "abcdef"]
    )
    assert len(questions) == 400
    client.get("/")
    with django_assert_num_queries(18):
        page = client.get("/")
    assert len(page.context["rows"]) == 25
    assert page.content.decode().count('class="of-question"') == 50


def test_empty_search_shows_message(two_questions: Any, lead: Any, client_for: Any) -> None:
    page = client_for(lead).get("/?search=zzz").content.decode()
    assert "No matches." in page
    assert "<table" not in page
    assert "No matches." in client_for(lead).get("/?group=archived").text
