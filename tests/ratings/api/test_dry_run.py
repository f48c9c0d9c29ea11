"""Tests of dry_run=true: rows are checked as always, and nothing is stored."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from projects.models import Item, Project, Rater
from ratings.models import Rating, Revision

pytestmark = pytest.mark.django_db

ITEMS = [{"key": "a", "body": {"text": "x"}}, {"key": "b", "body": {"text": "y"}}]


@pytest.mark.parametrize(
    ("tail", "rows", "counts"),
    [
        ("items/", ITEMS, {"created": 2, "changed": 0, "unchanged": 0}),
        ("raters/", [{"key": "zoe"}], {"created": 1, "changed": 0, "unchanged": 0}),
        (
            "ratings/",
            [{"item": "i1", "rater": "ann", "label": "major"}],
            {"created": 1, "changed": 0, "unchanged": 0, "withdrawn": 0},
        ),
    ],
)
def test_dry_run_counts_and_stores_nothing(
    project: Project, lead: User, api_for: Any, tail: str, rows: Any, counts: dict[str, int]
) -> None:
    Item.objects.create(project=project, key="i1", body={"text": "x"})
    before = (Item.objects.count(), Rater.objects.count())
    api: APIClient = api_for(lead)
    path = f"/api/v1/projects/{project.pk}/{tail}"
    response = api.post(f"{path}?dry_run=true", rows, format="json")
    assert response.json() == counts
    assert (Item.objects.count(), Rater.objects.count()) == before
    assert not Rating.objects.exists()
    assert not Revision.objects.exists()
    assert api.post(f"{path}?dry_run=true", [{"key": 3}], format="json").status_code == 400
    assert api.post(f"{path}?dry_run=yes", rows, format="json").status_code == 400
    assert api.post(path, rows, format="json").json() == counts
