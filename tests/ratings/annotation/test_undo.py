"""Undo on the rating page, through HTTP: the answer is withdrawn; slot and history are kept."""

import pytest
from django.core.cache import cache

from projects.models import Item, Project, Rater
from ratings.annotation.rater_progress import RaterProgress
from ratings.models import Assignment, Rating, Revision
from tests.ratings.annotation.test_rate import SHEET, get_rate_url, submit

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(project):
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": f"Text number {number}"})
        for number in range(4)
    )


@pytest.fixture
def annotator_client(client_for, annotator):
    return client_for(annotator)


def undo_last_answer(client, project, **data):
    return client.post(get_rate_url(project, tail="undo/"), data, **SHEET)


def rate_items(client, project, items, question, n_items):
    for item in items[:n_items]:
        client.get(get_rate_url(project))
        submit(client, project, item, question, 2, comment="a thought")
    client.get(get_rate_url(project))


def test_undone_answer_keeps_its_history_and_slot(annotator_client, project, items, question):
    rate_items(annotator_client, project, items, question, 1)
    page = undo_last_answer(annotator_client, project).content.decode()
    assert 'data-undone="Undone: major"' in page
    assert 'value="2" data-key="3" checked' in page
    assert "a thought" in page
    rating = Rating.objects.get()
    assert (rating.code, rating.comment) == (-1, "a thought")
    assert [revision.code for revision in Revision.objects.order_by("pk")] == [2, -1]
    assignment = Assignment.objects.get(item=items[0])
    assert (assignment.state, assignment.closed_at) == ("open", None)
    assert Item.objects.get(pk=items[0].pk).slots_taken == 1
    assert "Text number 0" in annotator_client.get(get_rate_url(project)).content.decode()
    submit(annotator_client, project, items[0], question, 3, answer_version="")
    assert Rating.objects.get().code == 3
    assert Item.objects.get(pk=items[0].pk).slots_taken == 1


def test_undo_goes_back_several_steps_and_then_stops(annotator_client, project, items, question):
    rate_items(annotator_client, project, items, question, 2)
    for item in (items[1], items[0]):
        assert (
            f'data-item="{item.pk}"' in undo_last_answer(annotator_client, project).content.decode()
        )
    assert undo_last_answer(annotator_client, project).status_code == 204
    assert set(Rating.objects.values_list("code", flat=True)) == {-1}


def test_undone_answer_is_not_counted_as_rated(annotator_client, project, items, question):
    """This holds also if the number of rated items was counted earlier and is cached."""
    rate_items(annotator_client, project, items, question, 2)
    cache.clear()
    assert ">2 today<" in annotator_client.get(get_rate_url(project)).text
    page = undo_last_answer(annotator_client, project).text
    assert (">1 today<" in page, "1 rated" in page) == (True, True)


def test_skip_is_undone_while_a_slot_is_free(annotator_client, project, items, question):
    project.overlap = 1
    project.save()
    annotator_client.get(get_rate_url(project))
    annotator_client.post(get_rate_url(project, items[0], "skip/"), {"reason": "unclear"})
    assert "Undone: skipped" in undo_last_answer(annotator_client, project).content.decode()
    assert Assignment.objects.get(item=items[0]).state == "open"
    annotator_client.post(get_rate_url(project, items[0], "skip/"), {"reason": "unclear"})
    other_rater = Rater.objects.create(project=project, key="other")
    Rating.objects.create(
        question=question, item=items[0], rater=other_rater, code=1, day=0,
        rated_at="2026-01-01T00:00Z", changed_at="2026-01-01T00:00Z",
    )  # fmt: skip
    page = undo_last_answer(annotator_client, project).content.decode()
    assert "data-undone" not in page
    assert "You skipped this item" in page


def test_undo_only_shows_the_item_when_corrections_are_closed(
    annotator_client, project, items, question
):
    Project.objects.update(allows_corrections=False)
    rate_items(annotator_client, project, items, question, 1)
    page = undo_last_answer(annotator_client, project).content.decode()
    assert "Ratings here are final." in page
    assert Rating.objects.get().code == 2


def test_get_request_undoes_nothing(annotator_client, project, items, question):
    rate_items(annotator_client, project, items, question, 1)
    annotator_client.get(get_rate_url(project, tail="undo/"))
    assert Rating.objects.get().code == 2


# --- two windows


def test_an_older_page_does_not_overwrite_a_newer_answer(
    annotator_client, project, items, question
):
    annotator_client.get(get_rate_url(project))
    submit(annotator_client, project, items[0], question, 0, answer_version="")
    response = submit(annotator_client, project, items[0], question, 3, answer_version="")
    assert response.status_code == 409
    page = response.content.decode()
    assert "You rated this item in another window: none. Submit to replace it" in page
    assert Rating.objects.get().code == 0
    answer_version = page.split('name="answer_version" value="')[1].split('"')[0]
    assert (
        submit(
            annotator_client, project, items[0], question, 3, answer_version=answer_version
        ).status_code
        == 302
    )
    assert Rating.objects.get().code == 3


def test_same_answer_from_an_older_page_is_accepted(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    for _ in range(2):
        assert (
            submit(annotator_client, project, items[0], question, 2, answer_version="").status_code
            == 302
        )
    assert Revision.objects.count() == 1


# --- pace, end of the queue


def test_pace_is_the_median_of_the_last_answers(annotator_client, project, items, question):
    more_items = [
        Item(project=project, key=f"more{number}", body={"text": "more"}) for number in range(9)
    ]
    items = [*items, *Item.objects.bulk_create(more_items)]
    rate_items(annotator_client, project, items, question, 4)
    assert " s an item" not in annotator_client.get(get_rate_url(project)).content.decode()
    for number, item in enumerate(items[4:7]):
        submit(annotator_client, project, item, question, number)
        annotator_client.get(get_rate_url(project))
    for seconds, rating in enumerate(Rating.objects.order_by("pk"), start=37):
        Rating.objects.filter(pk=rating.pk).update(seconds=seconds)
    page = annotator_client.get(get_rate_url(project)).content.decode()
    assert "median 40 s per item" in page  # the median of 37 ... 43
    assert "about 4 min" in page  # 6 items
    Rating.objects.update(seconds=0.2)
    assert "median &lt; 1 s per item" in annotator_client.get(get_rate_url(project)).text


def test_end_of_the_queue_links_the_next_project(
    annotator_client, project, items, question, make_project, annotator
):
    other_project = make_project("Dialogues")
    other_project.members.create(user=annotator, role="annotator")
    other_project.raters.create(key="ann", user=annotator)
    rate_items(annotator_client, project, items, question, 4)
    assert "Continue with" not in annotator_client.get(get_rate_url(project)).content.decode()
    Item.objects.create(project=other_project, key="x", body={"text": "x"})
    cache.clear()  # item counts of projects are cached
    page = annotator_client.get(get_rate_url(project)).content.decode()
    assert f'href="/projects/{other_project.pk}/rate/">Continue with Dialogues</a>' in page


@pytest.mark.parametrize(("pace", "hours"), [(40.0, None), (60.0, 2), (720.0, 20), (None, None)])
def test_long_remaining_time_is_in_hours(pace: float | None, hours: int | None) -> None:
    assert (
        RaterProgress(today=0, rated=0, skipped=0, items=200, remaining=100, pace=pace).hours_left
        == hours
    )
