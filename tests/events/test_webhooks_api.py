"""Webhooks over HTTP: created with a secret that is shown once, changed, tested, and their log."""

from __future__ import annotations

from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier

from events.models import Delivery, Webhook
from events.webhooks import outbox
from projects.models import Project
from tests.events.webhooks.receivers import start_receiver
from tests.row_snapshots import list_rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    return f"/api/v1/projects/{project.pk}/"


def test_webhook_from_creation_to_deletion(
    api_for: Any, lead: Any, path: str, project: Project, settings: Any
) -> None:
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = True
    client = api_for(lead)
    with start_receiver() as receiver:
        response = client.post(
            f"{path}webhooks/", {"url": receiver.url, "kinds": ["alert.opened"]}, format="json"
        )
        assert response.status_code == 201
        created = response.json()
        receiver.secret = created.pop("secret")
        assert receiver.secret.startswith("whsec_")
        assert created == {
            "id": created["id"],
            "project": project.pk,
            "url": receiver.url,
            "format": "concord",
            "language": "",
            "kinds": ["alert.opened"],
            "with_items": False,
            "paused": False,
            "pause_reason": "",
            "failing_since": None,
            "created_at": created["created_at"],
        }
        webhook_path = f"{path}webhooks/{created['id']}/"
        assert client.get(webhook_path).json() == created
        assert client.get(f"{path}webhooks/").json()["results"] == [created]

        response = client.post(f"{webhook_path}test/")
        assert response.status_code == 202
        outbox.deliver_all_due()
        [(message_id, body)] = receiver.messages
        assert message_id == response.json()["message_id"]
        assert body["type"] == "webhook.test"

        [delivery] = client.get(f"{webhook_path}deliveries/").json()["results"]
        assert (delivery["state"], delivery["event"], delivery["next_at"]) == (
            "delivered",
            None,
            None,
        )
        assert [row["status"] for row in delivery["attempts"]] == [200]
        response = client.post(f"{path}deliveries/{delivery['id']}/retry/")
        assert (response.status_code, response.json()["state"]) == (202, "pending")
        outbox.deliver_all_due()
        assert receiver.ids == [message_id, message_id]

        new_secret = client.post(f"{webhook_path}rotate/").json()["secret"]
        client.post(f"{webhook_path}test/")
        outbox.deliver_all_due()
        for secret in (receiver.secret, new_secret):
            Verifier(secret).verify(receiver.bodies[-1], receiver.headers[-1])

    changes = {"paused": True, "kinds": [], "with_items": True}
    changed = client.patch(webhook_path, changes, format="json").json()
    assert changed == {**created, **changes, "pause_reason": "person"}
    assert client.post(f"{webhook_path}test/").status_code == 400
    assert client.delete(webhook_path).json() == {"deleted": True}
    assert client.get(webhook_path).status_code == 404
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "url"),
        ({"url": "http://example.org/"}, "url"),
        ({"url": "https://127.0.0.1/"}, "url"),
        ({"url": "https://[::ffff:169.254.169.254]/"}, "url"),
        ({"url": "https://localhost./"}, "url"),
        ({"url": 3}, "url"),
        ({"url": "https://example.org/" + "a" * 500}, "url"),
        ({"url": "https://example.org/", "kinds": ["odd"]}, "kinds"),
        ({"url": "https://example.org/", "kinds": "alert.opened"}, "kinds"),
        ({"url": "https://example.org/", "kinds": ["alert.opened"] * 100}, "kinds"),
        ({"url": "https://example.org/", "with_items": "perhaps"}, "with_items"),
        ({"url": "https://example.org/", "secret": "whsec_mine"}, "secret"),
    ],
)
def test_invalid_webhook_is_rejected(
    body: dict[str, Any], field: str, api_for: Any, lead: Any, path: str
) -> None:
    response = api_for(lead).post(f"{path}webhooks/", body, format="json")
    assert response.status_code == 400
    assert list(response.json()["error"]["fields"]) == [field]
    assert not Webhook.objects.exists()


def test_invalid_change_changes_nothing(api_for: Any, lead: Any, path: str) -> None:
    client = api_for(lead)
    body = {"url": "https://example.org/hook"}
    created = client.post(f"{path}webhooks/", body, format="json").json()
    before = list_rows([Webhook])
    for changes in ({"url": "https://10.0.0.1/"}, {"kinds": ["odd"]}, {"paused": "x"}, {"id": 7}):
        response = client.patch(f"{path}webhooks/{created['id']}/", changes, format="json")
        assert response.status_code == 400
    assert list_rows([Webhook]) == before


def test_there_are_at_most_twenty(api_for: Any, lead: Any, path: str) -> None:
    client, body = api_for(lead), {"url": "https://example.org/hook"}
    for _number in range(20):
        assert client.post(f"{path}webhooks/", body, format="json").status_code == 201
    response = client.post(f"{path}webhooks/", body, format="json")
    assert response.json()["error"]["fields"] == {
        "url": "At most 20 are allowed. Remove one first."
    }


def test_nobody_reaches_the_webhook_of_another_project(
    api_for: Any, lead: Any, stranger: Any, admin: Any, project: Project, make_project: Any
) -> None:
    """Neither by the id of the webhook nor by that of a delivery, through a project of one's own."""
    own_project = make_project("Own")
    own_project.members.create(user=stranger, role="lead")
    webhook = Webhook.objects.create(
        project=project, url="https://example.org/", nonce="x", created_at="2026-01-01T00:00Z"
    )
    delivery = webhook.deliveries.create(
        next_at="2026-01-01T00:00Z", created_at="2026-01-01T00:00Z"
    )
    for prefix, user in (
        (f"projects/{own_project.pk}/", stranger),
        (f"projects/{project.pk}/", stranger),
        ("", admin),  # the site's webhooks are others
    ):
        for method, route in (
            ("get", f"webhooks/{webhook.pk}/"),
            ("patch", f"webhooks/{webhook.pk}/"),
            ("delete", f"webhooks/{webhook.pk}/"),
            ("post", f"webhooks/{webhook.pk}/rotate/"),
            ("post", f"webhooks/{webhook.pk}/test/"),
            ("get", f"webhooks/{webhook.pk}/deliveries/"),
            ("post", f"deliveries/{delivery.pk}/retry/"),
        ):
            response = getattr(api_for(user), method)(f"/api/v1/{prefix}{route}")
            assert response.status_code == 404, (prefix, method, route)
    assert Webhook.objects.filter(pk=webhook.pk, nonce="x").exists()
