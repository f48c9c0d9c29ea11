"""Clients of the API and the world that its tests compare before and after."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from projects.models import ApiToken, Item, Project, Rater
from tests.row_snapshots import rows_of

BASE = "/api/v1/projects/"


@pytest.fixture
def api(lead: User, api_for: Callable[..., APIClient]) -> APIClient:
    """The lead's client."""
    return api_for(lead)


@pytest.fixture
def stocked(project: Project) -> Project:
    """The project with items i0 .. i4 and the raters ann, ben and cleo."""
    Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": "x"}) for number in range(5)
    )
    Rater.objects.bulk_create(Rater(project=project, key=key) for key in ("ben", "cleo"))
    return project


@pytest.fixture
def address(project: Project) -> Callable[[str], str]:
    """``address("ratings/")``: below the project."""

    def below(tail: str = "") -> str:
        return f"{BASE}{project.pk}/{tail}"

    return below


@pytest.fixture
def world(db: None) -> Callable[[], dict[str, list[Any]]]:
    """All rows of the site's own tables, to prove that a refused request changed nothing."""
    models = [
        model
        for name in ("projects", "events", "ratings", "metrics", "quality")
        for model in apps.get_app_config(name).get_models()
        if model is not ApiToken
    ]
    return functools.partial(rows_of, models)


@pytest.fixture
def refused(world: Callable[[], Any]) -> Callable[..., dict[str, Any]]:
    """``refused(client.post, path, body)``: asserts 400 (or ``status``) in the one shape and that
    nothing changed."""

    def check(method: Any, path: str, body: Any = None, *, status: int = 400) -> dict[str, Any]:
        before = world()
        answer = method(path, body, format="json") if body is not None else method(path)
        assert answer.status_code == status, answer.content
        assert world() == before
        error = answer.json()
        assert list(error) == ["error"]
        assert list(error["error"]) == ["code", "message", "fields"]
        return error["error"]

    return check
