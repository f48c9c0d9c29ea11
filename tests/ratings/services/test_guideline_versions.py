"""Every rating and every line of its history says under which version of the guidelines it was
made."""

from __future__ import annotations

import csv
import datetime
import json
from typing import Any

import pytest
from django.db import connection

from projects.models import Item, Project, Rater
from projects.services.projects import change_project
from ratings.models import Rating, Revision
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db

LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


def rewrite(project: Project, lead: Any, text: str) -> None:
    change_project(project=project, by=lead, guidelines=text)


def stamps(question: Any) -> list[tuple[int | None, list[int | None]]]:
    return [
        (rating.guidelines, list(rating.revisions.values_list("guidelines", flat=True)))
        for rating in Rating.objects.filter(question=question).order_by("item_id", "rater_id")
    ]


def test_a_rating_carries_the_version_in_force(
    project: Project, question: Any, lead: Any, rate: Any
) -> None:
    rate(question, "i1", "ann", "none")
    rewrite(project, lead, "Look twice.")
    rate(question, "i2", "ann", "none")
    rewrite(project, lead, "Look three times.")
    rate(question, "i2", "ann", "major")
    rate(question, "i3", "ann", "none")
    assert stamps(question) == [(None, [None]), (2, [1, 2]), (2, [2])]


def test_saying_the_same_again_changes_no_stamp(
    project: Project, question: Any, lead: Any, rate: Any
) -> None:
    rewrite(project, lead, "Look twice.")
    rate(question, "i1", "ann", "none")
    rewrite(project, lead, "Look three times.")
    rate(question, "i1", "ann", "none")
    assert stamps(question) == [(1, [1])]


def test_what_was_said_before_the_version_carries_none(
    project: Project, question: Any, lead: Any, rate: Any
) -> None:
    rewrite(project, lead, "Look twice.")
    rate(question, "i1", "ann", "none", rated_at=LONG_AGO)
    rate(question, "i1", "ann", "major")  # a correction of today; the rating keeps its time
    rate(question, "i2", "ann", "none", superseded=((1, LONG_AGO), (2, None)))
    assert stamps(question) == [(1, [None, 1]), (1, [None, 1, 1])]


def test_a_form_tells_what_the_rater_had_before_them(
    project: Project, question: Any, lead: Any, rate: Any
) -> None:
    rewrite(project, lead, "Look twice.")
    rewrite(project, lead, "Look three times.")
    for item, seen in (("i1", 1), ("i2", 2), ("i3", 9), ("i4", 0)):
        rate(question, item, "ann", "none", guidelines=seen)
    assert stamps(question) == [(1, [1]), (2, [2]), (2, [2]), (None, [None])]


def test_many_rows_carry_it_too(project: Project, question: Any, lead: Any) -> None:
    """Enough rows for the bulk way of PostgreSQL."""
    rewrite(project, lead, "Look twice.")
    rater = Rater.objects.get(project=project)
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}") for number in range(300)
    )
    ratings = [
        Judgement(item.pk, rater.pk, 0, rated_at=LONG_AGO if item.pk % 2 else None)
        for item in items
    ]
    record_ratings({question: ratings}, by=lead, source="import")
    odd = sum(item.pk % 2 for item in items)
    for model in (Rating, Revision):
        assert model.objects.filter(guidelines=1).count() == 300 - odd
        assert model.objects.filter(guidelines=None).count() == odd


def test_the_stamp_costs_no_query(project: Project, question: Any, lead: Any, rate: Any) -> None:
    from django.test.utils import CaptureQueriesContext

    def queries(item: str) -> int:
        Item.objects.create(project=project, key=item)
        with CaptureQueriesContext(connection) as seen:
            rate(question, item, "ann", "none")
        return len(seen)

    before = queries("i1")
    rewrite(project, lead, "Look twice.")
    assert queries("i2") == before


def test_an_answer_at_the_desk_carries_what_its_page_showed(
    project: Project, question: Any, lead: Any, annotator: Any, client_for: Any
) -> None:
    rewrite(project, lead, "Look twice.")
    item = Item.objects.create(project=project, key="i1", body={"text": "x"})
    desk = client_for(annotator)
    page = desk.get(f"/projects/{project.pk}/rate/").content.decode()
    assert '<input type="hidden" name="guidelines" value="1">' in page
    rewrite(project, lead, "Look three times.")
    address = f"/projects/{project.pk}/rate/{item.pk}/"
    desk.post(address, {f"question-{question.pk}": "0", "guidelines": "1"})
    assert stamps(question) == [(1, [1])]
    desk.post(address, {f"question-{question.pk}": "1", "guidelines": "no number"})
    assert stamps(question) == [(2, [1, 2])]


def test_the_stamp_is_in_the_export_the_api_and_the_items_history(
    project: Project, question: Any, lead: Any, client_for: Any, api_for: Any, rate: Any
) -> None:
    rate(question, "i1", "ann", "none")
    rewrite(project, lead, "Look twice.")
    rate(question, "i1", "ann", "major")
    client = client_for(lead)
    file = b"".join(client.get(f"/projects/{project.pk}/data/export.csv").streaming_content)
    (row,) = csv.DictReader(file.decode().splitlines())
    assert row["guidelines"] == "1"
    jsonl = b"".join(
        client.get(f"/projects/{project.pk}/data/export.jsonl").streaming_content
    ).decode()
    assert json.loads(jsonl)["guidelines"] == 1
    api = api_for(lead)
    assert (
        api.get(f"/api/v1/projects/{project.pk}/ratings/").json()["results"][0]["guidelines"] == 1
    )
    assert api.get(f"/api/v1/projects/{project.pk}/").json()["guidelines_version"] == 1
    page = client.get(f"/projects/{project.pk}/items/i1/").content.decode()
    assert page.count(f'/projects/{project.pk}/guidelines/1/">guidelines 1</a>') == 1
