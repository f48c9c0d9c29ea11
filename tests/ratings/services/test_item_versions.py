"""Every rating and every revision has the version of the item content that was rated."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from projects.models import Item, Project
from projects.services.item_upsert import upsert_items
from ratings.models import Rating, Revision
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db

LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


def write_content(project: Project, text: str, *keys: str) -> None:
    upsert_items(project=project, rows=[{"key": key, "body": {"text": text}} for key in keys])


def list_item_versions(question: Any) -> list[tuple[int | None, list[int | None]]]:
    """Return the version of each rating and those of its revisions."""
    return [
        (rating.item_version, list(rating.revisions.values_list("item_version", flat=True)))
        for rating in Rating.objects.filter(question=question).order_by("item_id", "rater_id")
    ]


def test_rating_has_the_rated_version(project: Project, question: Any, rate: Any) -> None:
    write_content(project, "One", "i1", "i2", "i3")
    rate(question, "i1", "ann", "none")
    rate(question, "i2", "ann", "none")
    write_content(project, "Two", "i2", "i3")
    rate(question, "i2", "ann", "major")
    rate(question, "i2", "ben", "major")
    rate(question, "i3", "ann", "none")
    assert list_item_versions(question) == [(1, [1]), (2, [1, 2]), (2, [2]), (2, [2])]


def test_rating_from_before_the_content_has_no_version(
    project: Project, question: Any, rate: Any
) -> None:
    write_content(project, "One", "i1", "i2")
    write_content(project, "Two", "i1")
    rate(question, "i1", "ann", "none", rated_at=LONG_AGO)
    rate(question, "i2", "ann", "none", rated_at=LONG_AGO)  # its content never changed
    rate(question, "i1", "ben", "none", superseded=((1, LONG_AGO), (2, None)))
    assert list_item_versions(question) == [(None, [None]), (2, [None, 2, 2]), (1, [1])]


@pytest.mark.parametrize("number", [3, 300])
def test_bulk_ratings_have_the_version(
    project: Project, question: Any, lead: Any, number: int
) -> None:
    keys = [f"i{index:03}" for index in range(number)]
    write_content(project, "One", *keys)
    write_content(project, "Two", *keys[::3])
    rater = project.raters.get()
    items = list(Item.objects.order_by("key"))
    superseded = ((0, LONG_AGO), (1, None))
    judgements = [Judgement(item.pk, rater.pk, 2, superseded=superseded) for item in items]
    record_ratings({question: judgements}, by=lead, source="import")
    for item in items:
        versions = list(Revision.objects.filter(rating__item=item).values_list("item_version"))
        newest = item.version
        assert versions == [(1 if newest == 1 else None,), (newest,), (newest,)]
        assert Rating.objects.get(item=item).item_version == newest


def test_answer_has_the_version_that_its_page_showed(
    project: Project, question: Any, annotator: Any, client_for: Any
) -> None:
    write_content(project, "One", "i1")
    item = project.items.get()
    annotator_client = client_for(annotator)
    page = annotator_client.get(f"/projects/{project.pk}/rate/").content.decode()
    assert '<input type="hidden" name="item_version" value="1">' in page
    write_content(project, "Two", "i1")
    address = f"/projects/{project.pk}/rate/{item.pk}/"
    annotator_client.post(address, {f"question-{question.pk}": "0", "item_version": "1"})
    assert list_item_versions(question) == [(1, [1])]
    annotator_client.post(address, {f"question-{question.pk}": "1", "item_version": "99"})
    assert list_item_versions(question) == [(2, [1, 2])]


def test_api_returns_the_version(project: Project, lead: Any, api_for: Any, rate: Any) -> None:
    write_content(project, "One", "i1")
    write_content(project, "Two", "i1")
    rate(project.questions.get(), "i1", "ann", "none", rated_at=timezone.now())
    ratings_page = api_for(lead).get(f"/api/v1/projects/{project.pk}/ratings/").json()
    assert ratings_page["results"][0]["item_version"] == 2
