"""Pages of webhooks: created, tested, paused, and only for leads and administrators."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from events.models import Delivery, Webhook
from projects.models import Project

pytestmark = pytest.mark.django_db

URL = "https://example.org/hook?token=hidden"


@pytest.fixture(params=["project", "site"])
def scope(request: Any, project: Project, lead: Any, admin: Any, client_for: Any) -> Any:
    """Return a client and the address of the list: of a lead, and of an administrator."""
    if request.param == "site":
        return client_for(admin), "/webhooks/"
    return client_for(lead), f"/projects/{project.pk}/settings/webhooks/"


def test_webhook_from_creation_to_deletion(scope: tuple[Client, str]) -> None:
    client, address = scope
    page = client.post(address, {"url": URL, "kinds": ["alert.opened"]}).content.decode()
    assert re.search(r'value="whsec_[\w+/]{43}="', page)
    webhook = Webhook.objects.get()
    page = client.get(address).content.decode()
    assert "whsec_" not in page
    assert "token=hidden" not in page

    detail = f"{address}{webhook.pk}/"
    assert "token=hidden" in client.get(detail).content.decode()
    assert client.post(f"{detail}action/", {"do": "test"}).status_code == 302
    delivery = Delivery.objects.get()
    entry = {
        "at": "2026-01-01T00:00:00Z",
        "status": 500,
        "error": "",
        "answer": "<b>",
        "seconds": 1,
    }
    Delivery.objects.update(log=[entry, {**entry, "status": None, "error": "timeout"}])
    page = client.get(detail).content.decode()
    assert "&lt;b&gt;" in page
    assert "No response in time." in page
    Delivery.objects.update(state="failed", next_at=None)
    client.post(f"{detail}action/", {"do": "again", "delivery": delivery.pk})
    delivery.refresh_from_db()
    assert delivery.state == "pending"

    client.post(f"{detail}action/", {"do": "pause"})
    page = client.post(f"{detail}action/", {"do": "test"}, follow=True).content.decode()
    assert "Paused: resume it first" in page
    client.post(f"{detail}action/", {"do": "resume"})
    page = client.post(f"{detail}action/", {"do": "rotate"}).content.decode()
    assert "whsec_" in page
    client.post(detail, {"url": "https://example.org/other", "with_items": "on"})
    changed = Webhook.objects.get()
    assert (changed.url, changed.kinds, changed.with_items) == (
        "https://example.org/other", [], True,
    )  # fmt: skip
    assert changed.nonce != webhook.nonce
    assert client.post(f"{detail}action/", {"do": "delete"}).headers["Location"] == address
    assert not Webhook.objects.exists()


def test_invalid_forms_say_why(scope: tuple[Client, str]) -> None:
    client, address = scope
    response = client.post(address, {"url": "https://192.168.0.1/"})
    assert response.status_code == 400
    assert "is in a private network" in response.content.decode()
    assert client.post(address, {"url": URL, "kinds": ["odd"]}).status_code == 400
    assert not Webhook.objects.exists()
    client.post(address, {"url": URL})
    detail = f"{address}{Webhook.objects.get().pk}/"
    assert client.post(detail, {"url": "ftp://example.org"}).status_code == 400
    for data in ({}, {"do": "odd"}, {"do": "again"}, {"do": "again", "delivery": "x"}):
        assert client.post(f"{detail}action/", data).status_code == 404
    assert Webhook.objects.get().url == URL


def test_pages_are_for_leads_and_administrators(
    project: Project, viewer: Any, annotator: Any, lead: Any, stranger: Any, client_for: Any
) -> None:
    address = f"/projects/{project.pk}/settings/webhooks/"
    webhook = Webhook.objects.create(
        project=project, url=URL, nonce="x", created_at="2026-01-01T00:00Z"
    )
    for user, status in ((viewer, 403), (annotator, 403), (stranger, 404)):
        client = client_for(user)
        assert client.get(address).status_code == status
        assert client.post(address, {"url": URL}).status_code == status
        assert client.get(f"{address}{webhook.pk}/").status_code == status
        assert client.post(f"{address}{webhook.pk}/action/", {"do": "delete"}).status_code == status
    assert client_for(lead).get("/webhooks/").status_code == 403
    assert client_for(lead).get(f"/webhooks/{webhook.pk}/").status_code == 403
    assert Client().get(address).status_code == 302
    assert Webhook.objects.count() == 1
