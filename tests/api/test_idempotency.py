"""Tests of Idempotency-Key: a repeated POST gets the first response and changes nothing."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from agreement_site import housekeeping
from events.models import Webhook
from projects.api import idempotency
from projects.models import IdempotentResponse, Project
from projects.services import tokens
from ratings.models import Rating

Address = Callable[[str], str]
QUESTION = {
    "key": "severity",
    "text": "How bad?",
    "scale": "nominal",
    "categories": [{"label": "minor"}, {"label": "major"}],
}
PROJECT = {"name": "Twice", "questions": [QUESTION]}


def create_client(user: User, key: str = "first") -> APIClient:
    token = tokens.create_token(user=user)
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    return APIClient(headers=headers)


@pytest.fixture
def client(lead: User) -> APIClient:
    return create_client(lead)


def test_repeated_post_gets_the_first_response(client: APIClient, lead: User) -> None:
    first, again = (client.post("/api/v1/projects/", PROJECT, format="json") for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert first["Location"] == again["Location"]
    assert first["Location"].endswith(f"/api/v1/projects/{first.json()['id']}/")
    assert "Idempotent-Replayed" not in first
    assert again["Idempotent-Replayed"] == "true"
    assert Project.objects.filter(name="Twice").count() == 1
    # Another key, another token and another person are other requests.
    others = [create_client(lead, "second"), create_client(lead)]
    for other in others:
        other.post("/api/v1/projects/", PROJECT, format="json")
    assert Project.objects.filter(name="Twice").count() == 3


def test_key_of_another_request_is_rejected(client: APIClient, refused: Any) -> None:
    assert client.post("/api/v1/projects/", PROJECT, format="json").status_code == 201
    error = refused(client.post, "/api/v1/projects/", PROJECT | {"overlap": 2}, status=422)
    assert error["code"] == "idempotency_key_reused"
    project_id = Project.objects.get(name="Twice").pk
    refused(client.post, f"/api/v1/projects/{project_id}/archive/", {}, status=422)


@pytest.mark.parametrize("key", ["", "x" * 256, "käse"])
def test_invalid_key_is_rejected(lead: User, refused: Any, key: str) -> None:
    error = refused(create_client(lead, key).post, "/api/v1/projects/", PROJECT)
    assert "Idempotency-Key" in error["fields"]


def test_rejected_request_may_be_corrected(
    client: APIClient, stocked: Project, refused: Any, address: Address
) -> None:
    row = {"item": "i1", "rater": "ben", "label": "major"}
    refused(client.post, address("ratings/"), [row | {"item": "unknown"}])
    response = client.post(address("ratings/"), [row], format="json")
    assert response.json()["created"] == 1
    # A later change stays: the repeated request gets its response and stores nothing.
    Rating.objects.update(code=0)
    assert client.post(address("ratings/"), [row], format="json").json()["created"] == 1
    assert Rating.objects.get().code == 0


def test_secrets_are_stored_encrypted(client: APIClient, address: Address) -> None:
    body = {"url": "https://93.184.215.14/hook"}
    first, again = (client.post(address("webhooks/"), body, format="json") for _ in range(2))
    assert first.json()["secret"].startswith("whsec_")
    assert first.json() == again.json()
    assert first["Location"].endswith(address(f"webhooks/{Webhook.objects.get().pk}/"))
    content = bytes(IdempotentResponse.objects.get().content or b"")
    assert content
    assert b"whsec_" not in content


def test_repeated_form_has_another_boundary(client: APIClient, address: Address) -> None:
    responses = []
    for boundary in ("one", "two"):
        body = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n'
            "Content-Type: text/csv\r\n\r\nitem,rater,label\na,ann,minor\nb,ann,major\n\r\n"
            f"--{boundary}--\r\n"
        ).encode()
        content_type = f"multipart/form-data; boundary={boundary}"
        responses.append(client.post(address("imports/"), body, content_type=content_type))
    assert [response.status_code for response in responses] == [200, 200], responses[0].content
    assert responses[0].json() == responses[1].json()
    assert responses[0].json()["ratings"] == 2
    file = SimpleUploadedFile("a.csv", b"item,rater,label\na,ann,major\n")
    assert client.post(address("imports/"), {"file": file}).status_code == 422


def test_too_large_response_is_not_stored(
    client: APIClient, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "MAX_CONTENT_BYTES", 10)
    assert client.post("/api/v1/projects/", PROJECT, format="json").status_code == 201
    error = refused(client.post, "/api/v1/projects/", PROJECT, status=409)
    assert "was carried out" in error["message"]


def test_response_is_replayed_to_a_valid_token_alone(client: APIClient, lead: User) -> None:
    assert client.post("/api/v1/projects/", PROJECT, format="json").status_code == 201
    tokens.revoke_tokens(lead.api_tokens.all())
    assert client.post("/api/v1/projects/", PROJECT, format="json").status_code == 401


def test_housekeeping_deletes_responses_after_a_day(
    monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    now = timezone.now()
    for hours in (25, 23, 1):
        row = IdempotentResponse.objects.create(digest=f"{hours}", is_complete=True)
        created_at = now - datetime.timedelta(hours=hours)
        IdempotentResponse.objects.filter(pk=row.pk).update(created_at=created_at)
    monkeypatch.setattr(housekeeping, "_cleaned_at", 0.0)
    housekeeping.run_due_housekeeping()
    assert set(IdempotentResponse.objects.values_list("digest", flat=True)) == {"23", "1"}


def test_newest_responses_of_each_user_are_kept(
    monkeypatch: pytest.MonkeyPatch, lead: User, viewer: User
) -> None:
    monkeypatch.setattr(idempotency, "MAX_RESPONSES", 2)
    token_headers = {user: f"Bearer {tokens.create_token(user=user)}" for user in (lead, viewer)}
    ids = []
    for user, key in ((viewer, "v"), (lead, "a"), (lead, "b"), (lead, "c"), (lead, "b")):
        client = APIClient(headers={"Authorization": token_headers[user], "Idempotency-Key": key})
        response = client.post("/api/v1/projects/", PROJECT, format="json")
        ids.append(response.json()["id"])
    assert ids[2] == ids[4], "the newest two of the lead are kept"
    assert Counter(IdempotentResponse.objects.values_list("user", flat=True)) == {
        viewer.pk: 1,
        lead.pk: 2,
    }


def test_requests_without_key_query_nothing(
    lead: User, stocked: Project, address: Address, api: APIClient
) -> None:
    row = {"item": "i1", "rater": "ben", "label": "major"}
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert api.post(address("ratings/"), row, format="json").status_code == 200
    assert not [query for query in queries if "idempotent" in str(query["sql"])]


@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_are_carried_out_once(lead: User) -> None:
    token = tokens.create_token(user=lead)
    start = Barrier(6)

    def send_request(_number: int) -> Any:
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "same"}
        client = APIClient(headers=headers)
        try:
            start.wait(30)
            return client.post("/api/v1/projects/", PROJECT, format="json")
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        responses = list(pool.map(send_request, range(6)))
    assert [response.status_code for response in responses] == [201] * 6
    assert len({response.json()["id"] for response in responses}) == 1
    assert Project.objects.filter(name="Twice").count() == 1
    assert sum("Idempotent-Replayed" not in response for response in responses) == 1
