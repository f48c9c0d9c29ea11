"""Every rating and every line of its history says which content of the item was rated."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from projects.models import Item, Project
from projects.services.items.upsert import upsert_items
from ratings.models import Rating, Revision
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db

LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


def write(project: Project, text: str, *keys: str) -> None:
    upsert_items(project=project, rows=[{"key": key, "body": {"text": text}} for key in keys])


def stamps(question: Any) -> list[tuple[int | None, list[int | None]]]:
    return [
        (rating.item_version, list(rating.revisions.values_list("item_version", flat=True)))
        for rating in Rating.objects.filter(question=question).order_by("item_id", "rater_id")
    ]


def test_a_rating_carries_the_content_that_was_rated(
    project: Project, question: Any, rate: Any
) -> None:
    write(project, "One", "i1", "i2", "i3")
    rate(question, "i1", "ann", "none")
    rate(question, "i2", "ann", "none")
    write(project, "Two", "i2", "i3")
    rate(question, "i2", "ann", "major")
    rate(question, "i2", "ben", "major")
    rate(question, "i3", "ann", "none")
    assert stamps(question) == [(1, [1]), (2, [1, 2]), (2, [2]), (2, [2])]


def test_what_was_said_before_the_content_came_carries_none(
    project: Project, question: Any, rate: Any
) -> None:
    write(project, "One", "i1", "i2")
    write(project, "Two", "i1")
    rate(question, "i1", "ann", "none", rated_at=LONG_AGO)
    rate(question, "i2", "ann", "none", rated_at=LONG_AGO)  # it never said anything else
    rate(question, "i1", "ben", "none", superseded=((1, LONG_AGO), (2, None)))
    assert stamps(question) == [(None, [None]), (2, [None, 2, 2]), (1, [1])]


@pytest.mark.parametrize("number", [3, 300])
def test_many_rows_carry_it_too(project: Project, question: Any, lead: Any, number: int) -> None:
    keys = [f"i{place:03}" for place in range(number)]
    write(project, "One", *keys)
    write(project, "Two", *keys[::3])
    rater = project.raters.get()
    items = list(Item.objects.order_by("key"))
    earlier = ((0, LONG_AGO), (1, None))
    said = [Judgement(item.pk, rater.pk, 2, superseded=earlier) for item in items]
    record_ratings({question: said}, by=lead, source="import")
    for item in items:
        versions = list(Revision.objects.filter(rating__item=item).values_list("item_version"))
        newest = item.version
        assert versions == [(1 if newest == 1 else None,), (newest,), (newest,)]
        assert Rating.objects.get(item=item).item_version == newest


def test_an_answer_at_the_desk_carries_what_its_page_showed(
    project: Project, question: Any, annotator: Any, client_for: Any
) -> None:
    write(project, "One", "i1")
    item = project.items.get()
    desk = client_for(annotator)
    page = desk.get(f"/projects/{project.pk}/rate/").content.decode()
    assert '<input type="hidden" name="item_version" value="1">' in page
    write(project, "Two", "i1")
    address = f"/projects/{project.pk}/rate/{item.pk}/"
    desk.post(address, {f"question-{question.pk}": "0", "item_version": "1"})
    assert stamps(question) == [(1, [1])]
    desk.post(address, {f"question-{question.pk}": "1", "item_version": "99"})
    assert stamps(question) == [(2, [1, 2])]


def test_the_api_tells_it(project: Project, lead: Any, api_for: Any, rate: Any) -> None:
    write(project, "One", "i1")
    write(project, "Two", "i1")
    rate(project.questions.get(), "i1", "ann", "none", rated_at=timezone.now())
    answer = api_for(lead).get(f"/api/v1/projects/{project.pk}/ratings/").json()
    assert answer["results"][0]["item_version"] == 2
