"""The project list: visibility, contents of rows and number of queries."""

from __future__ import annotations

from typing import Any

from django.test import Client

from metrics.jobs.question_updates import update_question
from projects.models import Category, Question


def get_rows(client: Client) -> dict[str, Any]:
    return {row.project.name: row for row in client.get("/").context["rows"]}


def test_anonymous_visitor_is_sent_to_sign_in(db: None) -> None:
    response = Client().get("/")
    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in/")


def test_empty_list_offers_first_steps(stranger: Any, client_for: Any) -> None:
    text = client_for(stranger).get("/").content.decode()
    assert 'action="/example/"' in text
    assert 'href="/projects/import/"' in text
    assert 'href="/projects/new/"' in text


def test_list_shows_only_own_projects(
    project: Any, make_project: Any, lead: Any, stranger: Any, client_for: Any
) -> None:
    make_project("Somebody else's")
    assert list(get_rows(client_for(lead))) == ["Reviews"]
    assert get_rows(client_for(stranger)) == {}


def test_row_shows_progress_and_agreement(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    for item, labels in {
        "i1": ("none", "none", "none"),
        "i2": ("major", "major"),
        "i3": ("none", "major"),
    }.items():
        for rater, label in zip("abc", labels, strict=False):
            rate(question, item, rater, label)
    update_question(question.pk)
    row = get_rows(client_for(lead))["Reviews"]
    assert (row.n_complete_items, row.n_items, row.n_ratings) == (1, 3, 7)
    assert row.headline["value"] is not None
    missing = f"/projects/{project.pk}/statistics/?question={question.key}#missing"
    assert f'<a href="{missing}">2 items have fewer than 3 ratings.</a>' in row.attention


def test_row_shows_the_question_with_ratings(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    """Of several questions, the first one may have no ratings."""
    other = Question.objects.create(project=project, key="later", text="And?", position=1)
    Category.objects.create(question=other, code=0, label="yes", position=0)
    for rater in "ab":
        rate(other, "i1", rater, "yes")
    update_question(other.pk)
    row = get_rows(client_for(lead))["Reviews"]
    assert (row.shown_question.question, row.n_ratings) == (other, 2)
    assert not any("No ratings yet" in message for message in row.attention)


def test_row_shows_uncounted_ratings(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    rate(question, "i1", "a", "none")
    assert "1 rating pending" in get_rows(client_for(lead))["Reviews"].attention


def test_annotator_sees_link_to_rate_and_no_agreement(
    project: Any, question: Any, rate: Any, annotator: Any, client_for: Any
) -> None:
    for item, label in (("i1", "none"), ("i2", "major")):
        for rater in "ab":
            rate(question, item, rater, label)
    update_question(question.pk)
    client = client_for(annotator)
    assert get_rows(client)["Reviews"].agreement is None
    text = client.get("/").content.decode()
    assert f'href="/projects/{project.pk}/rate/"' in text
    assert f'href="/projects/{project.pk}/"' not in text
    assert "Needs attention</th>" not in text  # columns that annotators must not see
    assert "Lowest agreement" not in text


def test_query_count_does_not_grow_with_projects(
    project: Any,
    question: Any,
    make_project: Any,
    rate: Any,
    lead: Any,
    client_for: Any,
    django_assert_num_queries: Any,
) -> None:
    from projects.models import Member

    client = client_for(lead)
    others = [make_project(f"Project {number}") for number in range(5)]
    for other in others:
        Member.objects.create(project=other, user=lead, role="lead")
    for current_question in [question, *(other.questions.get() for other in others)]:
        for rater, label in zip("ab", ("none", "major"), strict=True):
            rate(current_question, "i1", rater, label)
        update_question(current_question.pk)
    with django_assert_num_queries(23):
        assert len(client.get("/").context["rows"]) == 6


def test_list_refuses_post_with_405(lead: Any, client_for: Any) -> None:
    assert client_for(lead).post("/").status_code == 405
