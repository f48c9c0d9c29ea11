"""Undo at the desk, through HTTP: what was said is taken back, the place and the history stay."""

import pytest
from django.core.cache import cache

from projects.models import Item, Project, Rater
from ratings.annotation.progress.rater_progress import RaterProgress
from ratings.models import Assignment, Rating, Revision
from tests.ratings.annotation.test_rate import SHEET, rate_url, submit

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(project):
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": f"Text number {number}"})
        for number in range(4)
    )


@pytest.fixture
def desk(client_for, annotator):
    return client_for(annotator)


def undo(desk, project, **data):
    return desk.post(rate_url(project, tail="last/"), data, **SHEET)


def rated(desk, project, items, question, number):
    for item in items[:number]:
        desk.get(rate_url(project))
        submit(desk, project, item, question, 2, comment="a thought")
    desk.get(rate_url(project))


def test_an_answer_is_taken_back_with_its_history_and_its_place(desk, project, items, question):
    rated(desk, project, items, question, 1)
    page = undo(desk, project).content.decode()
    assert 'data-taken-back="i0: major, taken back."' in page
    assert 'value="2" data-key="3" checked' in page
    assert "a thought" in page
    rating = Rating.objects.get()
    assert (rating.code, rating.comment) == (-1, "a thought")
    assert [revision.code for revision in Revision.objects.order_by("pk")] == [2, -1]
    mine = Assignment.objects.get(item=items[0])
    assert (mine.state, mine.closed_at) == ("open", None)
    assert Item.objects.get(pk=items[0].pk).places_taken == 1
    assert "Text number 0" in desk.get(rate_url(project)).content.decode()
    submit(desk, project, items[0], question, 3, said="")
    assert Rating.objects.get().code == 3
    assert Item.objects.get(pk=items[0].pk).places_taken == 1


def test_undo_goes_several_steps_back_and_then_says_that_there_is_no_more(
    desk, project, items, question
):
    rated(desk, project, items, question, 2)
    for item in (items[1], items[0]):
        assert f'data-item="{item.pk}"' in undo(desk, project).content.decode()
    assert undo(desk, project).status_code == 204
    assert set(Rating.objects.values_list("code", flat=True)) == {-1}


def test_what_is_taken_back_is_rated_no_more(desk, project, items, question):
    """Also when what was rated up to now was counted a while ago, and is remembered."""
    rated(desk, project, items, question, 2)
    cache.clear()
    assert "<strong>2</strong> today" in desk.get(rate_url(project)).text
    page = undo(desk, project).text
    assert ("<strong>1</strong> today" in page, "1 rated" in page) == (True, True)


def test_a_skip_is_taken_back_while_a_place_is_free(desk, project, items, question):
    project.overlap = 1
    project.save()
    desk.get(rate_url(project))
    desk.post(rate_url(project, items[0], "skip/"), {"reason": "unclear"})
    assert "i0: skipped, taken back." in undo(desk, project).content.decode()
    assert Assignment.objects.get(item=items[0]).state == "open"
    desk.post(rate_url(project, items[0], "skip/"), {"reason": "unclear"})
    other = Rater.objects.create(project=project, key="other")
    Rating.objects.create(
        question=question, item=items[0], rater=other, code=1, day=0,
        rated_at="2026-01-01T00:00Z", changed_at="2026-01-01T00:00Z",
    )  # fmt: skip
    page = undo(desk, project).content.decode()
    assert "data-taken-back" not in page
    assert "You skipped this item" in page


def test_where_corrections_are_closed_undo_only_shows(desk, project, items, question):
    Project.objects.update(corrections=False)
    rated(desk, project, items, question, 1)
    page = undo(desk, project).content.decode()
    assert "Ratings cannot be changed in this project any more." in page
    assert Rating.objects.get().code == 2


def test_a_get_takes_nothing_back(desk, project, items, question):
    rated(desk, project, items, question, 1)
    desk.get(rate_url(project, tail="last/"))
    assert Rating.objects.get().code == 2


# --- another window


def test_an_older_page_does_not_overwrite_a_newer_answer(desk, project, items, question):
    desk.get(rate_url(project))
    submit(desk, project, items[0], question, 0, said="")
    response = submit(desk, project, items[0], question, 3, said="")
    assert response.status_code == 409
    page = response.content.decode()
    assert "You rated this item in another window meanwhile: none. That stands." in page
    assert Rating.objects.get().code == 0
    seen = page.split('name="said" value="')[1].split('"')[0]
    assert submit(desk, project, items[0], question, 3, said=seen).status_code == 302
    assert Rating.objects.get().code == 3


def test_the_same_answer_from_an_older_page_is_no_question(desk, project, items, question):
    desk.get(rate_url(project))
    for _ in range(2):
        assert submit(desk, project, items[0], question, 2, said="").status_code == 302
    assert Revision.objects.count() == 1


# --- pace, strip, the end


def test_the_strip_and_the_pace_are_of_the_last_answers(desk, project, items, question):
    more = [
        Item(project=project, key=f"more{number}", body={"text": "more"}) for number in range(9)
    ]
    items = [*items, *Item.objects.bulk_create(more)]
    rated(desk, project, items, question, 4)
    assert " s an item" not in desk.get(rate_url(project)).content.decode()
    for number, item in enumerate(items[4:7]):
        submit(desk, project, item, question, number)
        desk.get(rate_url(project))
    for seconds, rating in enumerate(Rating.objects.order_by("pk"), start=37):
        Rating.objects.filter(pk=rating.pk).update(seconds=seconds)
    page = desk.get(rate_url(project)).content.decode()
    assert "40 s an item" in page  # the median of 37 ... 43
    assert "about 4 min" in page  # 6 items
    titles = [part.split('"')[0] for part in page.split('class="strip__one"')[1:]]
    assert len(titles) == 5
    strip = page.split('class="strip"')[1].split("</ol>")[0]
    order = ["more2: major", "more1: minor", "more0: none", "i3: major", "i2: major"]
    assert [key for key in order if f'title="{key}"' in strip] == order


def test_at_the_end_the_next_project_is_named(
    desk, project, items, question, make_project, annotator
):
    other = make_project("Dialogues")
    other.members.create(user=annotator, role="annotator")
    other.raters.create(key="ann", user=annotator)
    rated(desk, project, items, question, 4)
    assert "Go on with" not in desk.get(rate_url(project)).content.decode()
    Item.objects.create(project=other, key="x", body={"text": "x"})
    cache.clear()  # sizes of projects are remembered
    page = desk.get(rate_url(project)).content.decode()
    assert f'href="/projects/{other.pk}/rate/">Go on with Dialogues</a>' in page


@pytest.mark.parametrize(("pace", "hours"), [(40.0, None), (60.0, 2), (720.0, 20), (None, None)])
def test_a_long_rest_is_told_in_hours(pace: float | None, hours: int | None) -> None:
    assert (
        RaterProgress(today=0, rated=0, skipped=0, items=200, remaining=100, pace=pace).hours_left
        == hours
    )
