"""What a line of the list of projects tells, and what is done there."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from metrics.agreement.explain import bands
from metrics.jobs.question_updates import update_question
from metrics.templatetags.results import band_sign
from metrics.views.project_list import listing
from projects.models import Category, Deletion, Item, Member, Project, Question, Rater
from ratings.items import purge

pytestmark = pytest.mark.django_db

NOW = "2026-03-26T12:00:00Z"


def rows(client: Any, query: str = "") -> dict[str, Any]:
    answer = client.get(f"/{query}")
    assert answer.status_code == 200
    return {row.project.name: row for row in answer.context["rows"]}


@pytest.fixture
def two(project: Any, question: Any, rate: Any, utc: Any) -> Any:
    """Severity, rated of twelve items by three, and another question, of one item by two."""
    other = Question.objects.create(project=project, key="tone", text="Which tone?", position=1)
    Category.objects.create(question=other, code=0, label="warm", position=0)
    Category.objects.create(question=other, code=1, label="cold", position=1)
    with time_machine.travel("2026-03-24T09:00:00Z", tick=False):
        for item in range(12):
            for place, rater in enumerate(("ada", "ben", "cy")):
                rate(question, f"i{item}", rater, ("none", "minor")[(item + place // 2) % 2])
    with time_machine.travel("2026-03-26T11:57:00Z", tick=False):
        for rater in ("ada", "ben"):
            rate(other, "i1", rater, "warm")
    for one in (question, other):
        update_question(one.pk)
    return project


def test_ratings_are_those_of_all_questions(two: Any, lead: Any, client_for: Any) -> None:
    row = rows(client_for(lead))["Reviews"]
    assert row.n_ratings == 38
    assert [one.n_ratings for one in row.questions] == [36, 2]
    assert [one.enough for one in row.questions] == [12, 0]


def test_a_project_opens_to_a_line_a_question(two: Any, lead: Any, client_for: Any) -> None:
    text = client_for(lead).get("/").content.decode()
    assert text.count('<tr class="of-question">') == 2
    assert f'<a href="/projects/{two.pk}/?question=tone">Which tone?</a>' in text


def test_the_file_has_a_line_a_project(two: Any, lead: Any, client_for: Any) -> None:
    lines = client_for(lead).get("/?csv=projects-title").content.decode("utf-8-sig").splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("Project,Raters,Progress,Ratings,Ratings last changed,Agreement,")
    assert ",38,2026-03-26T11:57:00+00:00," in lines[1]


def test_when_somebody_rated_last_is_told(two: Any, lead: Any, client_for: Any) -> None:
    with time_machine.travel(NOW, tick=False):
        client = client_for(lead)
        row = rows(client)["Reviews"]
        assert row.last_rated == datetime.datetime(2026, 3, 26, 11, 57, tzinfo=datetime.UTC)
        text = client.get("/").content.decode()
    assert 'title="2026-03-26 11:57 UTC">3 minutes ago</time>' in text


@pytest.mark.sqlite_only("its plans do not depend on how many rows there are")
def test_the_last_rating_is_looked_up(two: Any) -> None:
    assert "rating_latest" in listing.query_last_changes([1, 2]).explain()


def test_people_are_four_signs_and_a_number(two: Any, lead: Any, client_for: Any) -> None:
    for key in ("dora", "w0039", "zoe"):
        Rater.objects.create(project=two, key=key, name="Zoe Young" if key == "zoe" else "")
    Rater.objects.create(project=two, key="a-model", kind=Rater.Kind.MODEL)
    people = rows(client_for(lead))["Reviews"].people
    assert people.number == Rater.objects.filter(project=two, kind="human").count()
    assert people.first[0].name == "ada"
    assert len(people.first) == 4
    assert all(one.letters and 0 <= one.colour < 6 for one in people.first)
    text = client_for(lead).get("/").content.decode()
    assert re.search(r'title="ada" aria-hidden="true">A</span>', text)
    assert f"{people.more} more" in text


def test_small_lines_are_told_with_what_they_rest_on(
    two: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    with time_machine.travel("2026-03-17T09:00:00Z", tick=False):
        for item in range(10):
            for place, rater in enumerate(("ada", "ben", "cy")):
                rate(question, f"w{item}", rater, ("none", "minor")[(item + place // 2) % 2])
        update_question(question.pk)
    with time_machine.travel(NOW, tick=False):
        text = client_for(lead).get("/").content.decode()
    label = re.search(r'<svg class="spark"[^>]* aria-label="([^"]*)"', text)
    assert label is not None
    assert label[1].endswith(", 2 weeks, 22 items")
    whisker = re.search(r'<svg class="whisker"[^>]* aria-label="([^"]*)"', text)
    assert whisker is not None
    assert re.fullmatch(r"(-?\d\.\d\d), from (-?\d\.\d\d) to (-?\d\.\d\d)", whisker[1])


# --- what is too early to say


def test_what_is_too_early_to_say_is_not_the_lowest(
    make_project: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    for name, n_items, apart in (("Low", 120, 2), ("Early", 4, 1), ("High", 60, 9)):
        project = make_project(name, created_by=lead)
        Member.objects.get_or_create(project=project, user=lead, defaults={"role": "lead"})
        asked = project.questions.get()
        for item in range(n_items):
            for rater in "ab":
                other = rater == "b" and item % apart == 0
                rate(asked, f"i{item}", rater, ("none", "major")[(item + other) % 2])
        update_question(asked.pk)
    found = rows(client_for(lead), "?sort=agreement")
    assert list(found) == ["Low", "High", "Early"]
    told = found["Early"].headline
    assert bands.is_inconclusive(told["n_items"], told["low"], told["high"])
    assert told["value"] < found["Low"].headline["value"]


@pytest.mark.parametrize("scheme", sorted(bands.SCHEMES))
def test_no_two_words_share_a_colour(scheme: str) -> None:
    edges = [-0.5, *(band.low + 0.001 for band in bands.get_bands(scheme)[1:])]
    signs = [band_sign({"value": value, "n_items": 100}, scheme) for value in edges]
    colours = [re.search(r"band--(\d)", sign) for sign in signs]
    numbers = [int(one[1]) for one in colours if one]
    assert len(numbers) == len(set(numbers)) == len(bands.get_bands(scheme))
    assert max(numbers) <= 5


# --- archive and delete


def test_a_project_is_archived_from_the_list_and_taken_up_again(
    two: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    client, address = client_for(lead), f"/projects/{two.pk}/archive/"
    assert f'action="{address}"' in client.get("/").content.decode()
    sent = {"do": "archive", "passed": "sort=name&page=3"}
    assert client.post(address, sent)["Location"] == "/?sort=name"
    assert "Reviews" not in rows(client)
    assert list(rows(client, "?group=archived")) == ["Reviews"]
    back = client.post(address, {"do": "restore", "passed": "group=archived"})
    assert back["Location"] == "/?group=archived"
    assert "Reviews" in rows(client)
    assert client.post(address, {"do": "archive", "passed": ""})["Location"] == "/"
    assert client.post(address, {"do": "restore"})["Location"] == f"/projects/{two.pk}/setup/"
    assert f'action="{address}"' not in client_for(viewer).get("/").content.decode()
    assert client_for(viewer).post(address, sent).status_code == 403


def test_a_project_that_is_being_deleted_says_so_and_leads_nowhere(
    two: Any, make_project: Any, lead: Any, annotator: Any, client_for: Any
) -> None:
    other = make_project("Another", created_by=lead)
    Member.objects.get_or_create(project=other, user=lead, defaults={"role": "lead"})
    purge.start_deletion(kind=Deletion.Kind.PROJECT, target=two, by=lead)
    client = client_for(lead)
    page = client.get("/?sort=name")
    assert [row.project.name for row in page.context["rows"]] == ["Another", "Reviews"]
    going = page.context["rows"][1]
    assert (going.going, going.n_ratings, going.questions) == (True, 0, [])
    text = page.content.decode()
    assert "being deleted" in text
    assert f'href="/projects/{two.pk}/"' not in text
    assert rows(client, "?group=archived") == {}
    assert "archived" not in dict(page.context["listed"].groups)
    for group in ("attention", "running", "finished"):
        assert "Reviews" not in rows(client, f"?group={group}")
    assert f"/projects/{two.pk}/" not in client_for(annotator).get("/").content.decode()
    Deletion.objects.update(finished_at=timezone.now())
    assert list(rows(client, "?group=archived")) == ["Reviews"]


# --- many


def test_two_hundred_projects_take_no_query_each(
    two: Any, lead: Any, client_for: Any, django_assert_num_queries: Any
) -> None:
    client = client_for(lead)
    made = Project.objects.bulk_create([Project(name=f"P{n}", overlap=2) for n in range(200)])
    Member.objects.bulk_create([Member(project=one, user=lead, role="lead") for one in made])
    questions = Question.objects.bulk_create(
        [Question(project=one, key=key, text=key) for one in made for key in ("a", "b")]
    )
    Item.objects.bulk_create([Item(project=one, key="i") for one in made])
    Rater.objects.bulk_create([Rater(project=one, key=key) for one in made for key in "abcdef"])
    assert len(questions) == 400
    client.get("/")
    with django_assert_num_queries(17):
        page = client.get("/")
    assert len(page.context["rows"]) == 50
    assert page.content.decode().count('class="of-question"') == 100


def test_a_search_that_finds_nothing_says_so(two: Any, lead: Any, client_for: Any) -> None:
    page = client_for(lead).get("/?search=zzz").content.decode()
    assert "No project here has “zzz” in its name." in page
    assert "<table" not in page
    assert "No project is in this group." in client_for(lead).get("/?group=archived").text
