"""Pages of connections, and the address that Label Studio's webhooks call."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from projects.models import Project
from ratings.label_studio import services
from ratings.models import LabelStudioConnection, LabelStudioObject, Rating

from .fake_server import LEGACY_TOKEN, FakeLabelStudio
from .steps import add_sample_tasks, confirm, run

State = LabelStudioConnection.State
ClientFor = Callable[[Any], Client]


def test_a_lead_connects_pauses_and_disconnects(
    fake: FakeLabelStudio, project: Project, lead: Any, client_for: ClientFor
) -> None:
    add_sample_tasks(fake)
    browser, list_address = client_for(lead), reverse("label_studio_connections", args=[project.pk])
    form = {"address": f"{fake.url}/projects/12/data?tab=1", "token": LEGACY_TOKEN}
    response = browser.post(list_address, form)
    connection = LabelStudioConnection.objects.get()
    assert (connection.address, connection.remote_project) == (fake.url, 12)
    address = reverse("label_studio_connection", args=[project.pk, connection.pk])
    assert response.headers["Location"] == address
    assert "Nothing is stored until you confirm" in browser.get(address).content.decode()
    again = browser.post(list_address, form)
    assert (again.status_code, again.context["form"].errors["remote_project"]) == (
        400,
        ["This project is connected already."],
    )
    connection = run(connection)
    run_address = reverse("import_run", args=[project.pk, connection.import_run_id])
    assert run_address in browser.get(address).content.decode()
    confirm(connection, lead)
    run(connection)
    page = browser.get(address).content.decode()
    assert "ls:12:" in page
    assert LEGACY_TOKEN not in page
    assert LEGACY_TOKEN not in str(LabelStudioConnection.objects.values())

    def act(action: str) -> LabelStudioConnection:
        browser.post(f"{address}action/", {"do": action})
        return LabelStudioConnection.objects.get()

    assert act("pause").state == State.PAUSED
    fake.requests.clear()
    run(connection)
    assert fake.requests == []
    assert act("resume").state == State.ACTIVE
    assert act("pull").next_at <= timezone.now()
    assert act("restart").state == State.ACTIVE  # only before it is confirmed
    assert browser.post(f"{address}action/", {"do": "explode"}).status_code == 400
    browser.post(f"{address}action/", {"do": "delete"})
    assert not LabelStudioConnection.objects.exists()
    assert not LabelStudioObject.objects.exists()
    assert Rating.objects.current().count() == 5


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"token": "f" * 40}, "token", "rejected the token"),
        ({"token": "naïve"}, "token", "Copy the token"),
        ({"remote_project": 99}, "remote_project", "open the project"),
        ({"remote_project": ""}, "remote_project", "Enter the number"),
        ({"address": "ftp://example.org"}, "address", "https://"),
        ({"address": "http://127.0.0.1:1"}, "address", "connection"),
    ],
)
def test_bad_input_is_explained_and_not_stored(
    changes: dict[str, Any],
    field: str,
    message: str,
    fake: FakeLabelStudio,
    project: Project,
    lead: Any,
    client_for: ClientFor,
) -> None:
    data = {"address": fake.url, "remote_project": 12, "token": LEGACY_TOKEN} | changes
    response = client_for(lead).post(reverse("label_studio_connections", args=[project.pk]), data)
    assert response.status_code == 400
    assert message in str(response.context["form"].errors[field])
    assert not LabelStudioConnection.objects.exists()


def test_private_networks_are_refused_unless_the_operator_allows_them(
    fake: FakeLabelStudio,
    connection: LabelStudioConnection,
    project: Project,
    lead: Any,
    settings: Any,
) -> None:
    settings.CONNECTIONS_TO_PRIVATE_NETWORKS = False
    fake.requests.clear()
    for address in ("https://127.0.0.1", "https://[::ffff:10.0.0.1]", "https://169.254.169.254"):
        with pytest.raises(services.InvalidConnection, match="private network"):
            services.create_connection(
                project=project, address=address, remote_project=1, token="a", by=lead
            )
    assert run(connection).error["kind"] == "url"  # http://
    assert fake.requests == []


def test_only_leads_see_connections(
    connection: LabelStudioConnection,
    project: Project,
    client_for: ClientFor,
    viewer: Any,
    annotator: Any,
    stranger: Any,
) -> None:
    addresses = [
        reverse("label_studio_connections", args=[project.pk]),
        reverse("label_studio_connection", args=[project.pk, connection.pk]),
    ]
    for user, status in ((viewer, 403), (annotator, 403), (stranger, 404)):
        client = client_for(user)
        assert [client.get(address).status_code for address in addresses] == [status] * 2
        assert client.post(f"{addresses[1]}action/", {"do": "delete"}).status_code == status
    assert LabelStudioConnection.objects.exists()


def test_a_hint_only_brings_the_next_pull_forward(
    connection: LabelStudioConnection, fake: FakeLabelStudio
) -> None:
    client = Client(enforce_csrf_checks=True)
    address = reverse("label_studio_hint", args=[connection.pk, connection.hint_secret])
    later = timezone.now() + datetime.timedelta(seconds=50)
    connections = LabelStudioConnection.objects.filter(pk=connection.pk)
    connections.update(next_at=later)
    before = connections.values().get()
    wrong = reverse("label_studio_hint", args=[connection.pk, "wrong"])
    assert client.post(wrong, {"action": "X"}).status_code == 404
    assert client.get(address).status_code == 405
    assert connections.values().get() == before
    body = b"{not json" * 1000
    assert client.post(address, body, content_type="application/json").status_code == 204
    first = connections.values().get()
    assert first | {"next_at": later} == before
    assert first["next_at"] < timezone.now() + services.HINT_INTERVAL
    # Many hints at once are one.
    assert client.post(address).status_code == 204
    assert connections.values().get() == first
    # A server that fails is not called more often because of hints.
    connections.update(next_at=later, failures=1)
    client.post(address)
    assert connections.get().next_at == later
