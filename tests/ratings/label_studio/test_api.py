"""Connections with Label Studio by the API."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from agreement_site.models import AuditLogEntry
from projects.models import Project
from ratings.models import LabelStudioConnection, Rating

from .fake_server import LEGACY_TOKEN, FakeLabelStudio
from .steps import add_sample_tasks, confirm, run


@pytest.fixture
def api(api_for: Any, lead: Any) -> APIClient:
    client: APIClient = api_for(lead)
    return client


def test_a_program_connects_pauses_and_disconnects(
    api: APIClient, fake: FakeLabelStudio, project: Project, lead: Any
) -> None:
    add_sample_tasks(fake)
    path = f"/api/v1/projects/{project.pk}/connections/"
    body = {"address": f"{fake.url}/projects/12", "token": LEGACY_TOKEN}
    response = api.post(path, body, format="json")
    assert response.status_code == 201, response.content
    created, address = response.json(), response["Location"]
    assert (created["address"], created["remote_project"]) == (fake.url, 12)
    assert (created["state"], created["confirm_url"]) == ("reading", None)
    assert LEGACY_TOKEN not in response.content.decode()

    connection = run(LabelStudioConnection.objects.get())
    mapping = api.get(address).json()
    assert mapping["state"] == "mapping"
    assert mapping["confirm_url"].endswith(f"/import/{connection.import_run_id}/")
    assert api.post(f"{address}restart/").status_code == 202
    connection = run(LabelStudioConnection.objects.get())
    confirm(connection, lead)
    run(connection)
    [active] = api.get(path).json()["results"]
    assert (active["state"], active["error"], active["failures"]) == ("active", None, 0)
    assert active["pulled_at"]
    assert APIClient().post(active["hint_url"]).status_code == 204

    changes = {"paused": True, "write_back": "predictions"}
    paused = api.patch(address, changes, format="json").json()
    assert (paused["state"], paused["write_back"]) == ("paused", "predictions")
    assert api.patch(address, {"paused": False}, format="json").json()["state"] == "active"
    LabelStudioConnection.objects.update(next_at=timezone.now() + datetime.timedelta(days=1))
    assert api.post(f"{address}pull/").status_code == 202
    assert LabelStudioConnection.objects.get().next_at <= timezone.now()
    assert api.delete(address).json() == {"deleted": True}
    assert api.get(address).status_code == 404
    assert Rating.objects.current().count() == 5
    actions = set(AuditLogEntry.objects.values_list("action", flat=True))
    assert {"connection_created", "connection_changed", "connection_deleted"} <= actions


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"token": "f" * 40}, "token"),
        ({"token": ""}, "token"),
        ({"token": 7}, "token"),
        ({"remote_project": 99}, "remote_project"),
        ({"remote_project": 0}, "remote_project"),
        ({"remote_project": "12"}, "remote_project"),
        ({"address": "ftp://example.org"}, "address"),
        ({"address": "https://169.254.169.254"}, "address"),
        ({"address": "x" * 600}, "address"),
        ({"write_back": "off"}, "write_back"),
    ],
)
def test_bad_input_is_named_and_not_stored(
    changes: dict[str, Any],
    field: str,
    api: APIClient,
    fake: FakeLabelStudio,
    project: Project,
) -> None:
    body = {"address": fake.url, "remote_project": 12, "token": LEGACY_TOKEN} | changes
    response = api.post(f"/api/v1/projects/{project.pk}/connections/", body, format="json")
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]
    assert not LabelStudioConnection.objects.exists()


@pytest.mark.parametrize(
    ("method", "tail", "body", "field"),
    [
        ("patch", "", {"token": "f" * 40, "write_back": "predictions"}, "token"),
        ("patch", "", {"write_back": "everything"}, "write_back"),
        ("patch", "", {"paused": "yes"}, "paused"),
        ("patch", "", {"address": "https://example.org"}, "address"),
        ("post", "restart/", {}, "state"),
    ],
)
def test_invalid_change_is_named_and_changes_nothing(
    method: str,
    tail: str,
    body: dict[str, Any],
    field: str,
    api: APIClient,
    connection: LabelStudioConnection,
) -> None:
    before = LabelStudioConnection.objects.values().get()
    path = f"/api/v1/projects/{connection.project_id}/connections/{connection.pk}/{tail}"
    response = getattr(api, method)(path, body, format="json")
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]
    assert LabelStudioConnection.objects.values().get() == before


def test_a_connection_that_is_not_confirmed_cannot_be_paused(
    api: APIClient, connection: LabelStudioConnection
) -> None:
    LabelStudioConnection.objects.update(state="mapping")
    path = f"/api/v1/projects/{connection.project_id}/connections/{connection.pk}/"
    response = api.patch(path, {"paused": True, "write_back": "predictions"}, format="json")
    assert response.json()["error"]["fields"]["paused"].startswith("The state is mapping")
    assert LabelStudioConnection.objects.get().write_back == "off"
