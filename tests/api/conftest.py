"""Fixtures of the API tests: clients, data, and a snapshot of all rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from events.models import Webhook
from metrics.models import SavedView
from projects.models import ApiToken, Item, Project, Rater
from quality.models import Appeal, Gate, GoldIntervention
from ratings.files import export_files
from ratings.models import ExportRun, LabelStudioConnection
from tests.row_snapshots import list_rows

BASE = "/api/v1/projects/"
# A request also creates a view, whose ID the database chooses.
VIEW_ID = 900_001
WEBHOOK_ID, SITE_WEBHOOK_ID = 900_001, 900_002  # and of a delivery of each
CONNECTION_ID = 900_001
EXPORT_ID = 900_001


@pytest.fixture
def api(lead: User, api_for: Callable[..., APIClient]) -> APIClient:
    """Return the lead's API client."""
    return api_for(lead)


@pytest.fixture
def stocked(project: Project) -> Project:
    """Return the project with items i0 .. i4 and the raters ann, ben and cleo."""
    Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": "x"}) for number in range(5)
    )
    Rater.objects.bulk_create(Rater(project=project, key=key) for key in ("ben", "cleo"))
    return project


@pytest.fixture
def address(project: Project) -> Callable[[str], str]:
    """Return ``address("ratings/")``, which builds a path below the project."""

    def build_path(tail: str = "") -> str:
        return f"{BASE}{project.pk}/{tail}"

    return build_path


@pytest.fixture
def world(db: None) -> Callable[[], dict[str, list[Any]]]:
    """Return a function that reads all rows of the site's own tables.

    Tests compare its results to assert that a rejected request changed nothing.
    """
    models = [
        model
        for name in ("projects", "events", "ratings", "metrics", "quality")
        for model in apps.get_app_config(name).get_models()
        if model is not ApiToken
    ]
    return functools.partial(list_rows, models)


@pytest.fixture
def refused(world: Callable[[], Any]) -> Callable[..., dict[str, Any]]:
    """Return ``refused(client.post, path, body)``.

    It asserts status 400 (or ``status``), the error format, and that no row changed; it returns the
    error.
    """

    def check_rejection(
        method: Any, path: str, body: Any = None, *, status: int = 400
    ) -> dict[str, Any]:
        before = world()
        response = method(path, body, format="json") if body is not None else method(path)
        assert response.status_code == status, response.content
        assert world() == before
        content = response.json()
        assert list(content)[:6] == ["type", "title", "status", "detail", "errors", "error"]
        assert list(content["error"]) == ["code", "message", "fields"]
        return content["error"]

    return check_rejection


@pytest.fixture
def route_objects(
    project: Project, assign_items: Callable[..., None], make_alert: Callable[..., Any]
) -> None:
    """Create the objects that the addresses of all routes name."""
    question, ann = project.questions.get(), project.raters.get()
    make_alert(question, ann, pk=1)
    GoldIntervention.objects.create(
        pk=1, question=question, rater=ann, step="warn", state="proposed", evidence=30.0,
        n_answers=4, created_at=timezone.now(),
    )  # fmt: skip
    SavedView.objects.create(pk=VIEW_ID, project=project, page="items", name="All")
    item = Item.objects.create(project=project, key="i1", body={"text": "x"})
    Appeal.objects.create(
        pk=1, question=question, item=item, rater=ann, text="No.", created_at=timezone.now()
    )
    Rater.objects.create(project=project, key="ben")
    for pk, owner in ((WEBHOOK_ID, project), (SITE_WEBHOOK_ID, None)):
        webhook = Webhook.objects.create(
            pk=pk, project=owner, url="https://example.org/", nonce="x", created_at=timezone.now()
        )
        webhook.deliveries.create(pk=pk, next_at=timezone.now(), created_at=timezone.now())
    LabelStudioConnection.objects.create(
        pk=CONNECTION_ID, project=project, address="https://labels.example.org", remote_project=12,
        token="x", hint_secret="x", next_at=timezone.now(), created_at=timezone.now(),
    )  # fmt: skip
    path = export_files.generate_path()
    export_files.get_absolute_path(path).write_text("item,rater")
    ExportRun.objects.create(
        pk=EXPORT_ID, project=project, kind="ratings", file_format="csv", path=path, state="done",
        file_name="reviews.csv", content_type="text/csv", finished_at=timezone.now(),
    )  # fmt: skip
    Gate.objects.create(
        project=project, question=question, name="release", created_at=timezone.now(),
        changed_at=timezone.now(), rules=[{"measure": "open_alerts", "at_most": 0}],
    )  # fmt: skip
    assign_items(project, "ann", "i1")
