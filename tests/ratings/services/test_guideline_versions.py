"""Every rating and every revision has the version of the guidelines under which it was made."""

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


def change_guidelines(project: Project, lead: Any, text: str) -> None:
    change_project(project=project, by=lead, guidelines=text)


def list_guideline_versions(question: Any) -> list[tuple[int | None, list[int | None]]]:
    """Return the version of each rating and those of its revisions."""
    return [
        (rating.guidelines, list(rating.revisions.values_list("guidelines", flat=True)))
        for rating in Rating.objects.filter(question=question).order_by("item_id", "rater_id")
    ]


def test_rating_has_the_current_version(
    project: Project, question: Any, lead: Any, rate: Any
) -> None:
    rate(question, "i1", "ann", "none")
    change_guidelines(project, lead, "Look twice.")
    rate(question, "i2", "ann", "none")
    change_guidelines(project, lead, "Look three times.")
    rate(question, "i2", "ann", "major")
    rate(question, "i3", "ann", "none")
    assert list_guideline_versions(question) == [(None, [None]), (2, [1, 2]), (2, [2])]


def test_same_answer_again_keeps_the_version(
    project: Project, question: Any, lead: Any, rate: Any
) -> None:
    change_guidelines(project, lead, "Look twice.")
    rate(question, "i1", "ann", "none")
    change_guidelines(project, lead, "Look three times.")
    rate(question, "i1", "ann", "none")
    assert list_guideline_versions(question) == [(1, [1])]


def test_rating_from_before_the_first_version_has_none(
    project: Project, question: Any, lead: Any, rate: Any
) -> None:
    change_guidelines(project, lead, "Look twice.")
    rate(question, "i1", "ann", "none", rated_at=LONG_AGO)
    rate(question, "i1", "ann", "major")  # a correction of today; the rating keeps its time
    rate(question, "i2", "ann", "none", superseded=((1, LONG_AGO), (2, None)))
    assert list_guideline_versions(question) == [(1, [None, 1]), (1, [None, 1, 1])]


def test_form_sends_the_version_that_the_rater_saw(
    project: Project, question: Any, lead: Any, rate: Any
) -> None:
    change_guidelines(project, lead, "Look twice.")
    change_guidelines(project, lead, "Look three times.")
    for item, sent_version in (("i1", 1), ("i2", 2), ("i3", 9), ("i4", 0)):
        rate(question, item, "ann", "none", guidelines=sent_version)
    assert list_guideline_versions(question) == [(1, [1]), (2, [2]), (2, [2]), (None, [None])]


def test_bulk_ratings_have_the_version(project: Project, question: Any, lead: Any) -> None:
    """Store enough rows for PostgreSQL's bulk statements."""
    change_guidelines(project, lead, "Look twice.")
    rater = Rater.objects.get(project=project)
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}") for number in range(300)
    )
    ratings = [
        Judgement(item.pk, rater.pk, 0, rated_at=LONG_AGO if item.pk % 2 else None)
        for item in items
    ]
    record_ratings({question: ratings}, by=lead, source="import")
    n_odd = sum(item.pk % 2 for item in items)
    for model in (Rating, Revision):
        assert model.objects.filter(guidelines=1).count() == 300 - n_odd
        assert model.objects.filter(guidelines=None).count() == n_odd


def test_version_needs_no_further_query(
    project: Project, question: Any, lead: Any, rate: Any
) -> None:
    from django.test.utils import CaptureQueriesContext

    def count_rating_queries(item: str) -> int:
        Item.objects.create(project=project, key=item)
        with CaptureQueriesContext(connection) as captured:
            rate(question, item, "ann", "none")
        return len(captured)

    before = count_rating_queries("i1")
    change_guidelines(project, lead, "Look twice.")
    assert count_rating_queries("i2") == before


def test_answer_has_the_version_that_its_page_showed(
    project: Project, question: Any, lead: Any, annotator: Any, client_for: Any
) -> None:
    change_guidelines(project, lead, "Look twice.")
    item = Item.objects.create(project=project, key="i1", body={"text": "x"})
    annotator_client = client_for(annotator)
    page = annotator_client.get(f"/projects/{project.pk}/rate/").content.decode()
    assert '<input type="hidden" name="guidelines" value="1">' in page
    change_guidelines(project, lead, "Look three times.")
    address = f"/projects/{project.pk}/rate/{item.pk}/"
    annotator_client.post(address, {f"question-{question.pk}": "0", "guidelines": "1"})
    assert list_guideline_versions(question) == [(1, [1])]
    annotator_client.post(address, {f"question-{question.pk}": "1", "guidelines": "no number"})
    assert list_guideline_versions(question) == [(2, [1, 2])]


def test_version_is_in_exports_api_and_item_history(
    project: Project, question: Any, lead: Any, client_for: Any, api_for: Any, rate: Any
) -> None:
    rate(question, "i1", "ann", "none")
    change_guidelines(project, lead, "Look twice.")
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
