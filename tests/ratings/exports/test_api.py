"""Exports to files by API."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from projects.models import ApiToken, Project, Question
from projects.services import tokens
from ratings.exports import jobs, services
from ratings.models import ExportRun

pytestmark = pytest.mark.django_db


def make_client(user: User, scope: str = ApiToken.Scope.WRITE) -> APIClient:
    token = tokens.create_token(user=user, scope=scope)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


@pytest.fixture
def api(lead: User) -> APIClient:
    return make_client(lead)


@pytest.fixture
def address(project: Project, question: Question, rate: Any) -> str:
    """Return the address of the exports of a project with two ratings."""
    rate(question, "i1", "ann", "major")
    rate(question, "i2", "ben", "minor", comment="=1+1")
    return f"/api/v1/projects/{project.pk}/exports/"


def read(response: Any) -> bytes:
    assert response.status_code == 200
    return b"".join(response.streaming_content)


def test_export_from_start_to_file(api: APIClient, address: str, project: Project) -> None:
    response = api.post(address, {"kind": "ratings", "format": "csv"}, format="json")
    assert response.status_code == 202
    data = response.json()
    assert response["Location"] == data["url"] == f"http://testserver{address}{data['id']}/"
    assert response["Retry-After"] == "1"
    expected = {
        **{"kind": "ratings", "format": "csv", "questions": ["severity"], "state": "pending"},
        **{"error": "", "rows": 0, "rows_total": 0, "percent": 0, "bytes": 0},
        **{"finished_at": None, "expires_at": None, "file": None},
    }
    assert expected.items() <= data.items()

    jobs.run_export(data["id"])
    done = api.get(data["url"]).json()
    assert (done["state"], done["rows"], done["rows_total"], done["percent"]) == ("done", 2, 2, 100)
    assert done["finished_at"] < done["expires_at"]
    assert api.get(address).json() == {"next": None, "results": [done]}
    file = api.get(done["file"])
    content = read(file)
    assert len(content) == done["bytes"]
    assert content == read(api.get(f"/api/v1/projects/{project.pk}/export/?format=csv"))
    rest: Any = api.get(done["file"], headers={"Range": "bytes=9-", "If-Range": file["ETag"]})
    assert (rest.status_code, b"".join(rest.streaming_content)) == (206, content[9:])

    assert api.delete(data["url"]).json() == {"deleted": True}
    assert api.get(data["url"]).status_code == 404
    assert api.get(done["file"]).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"format": "csv"}, "kind"),
        ({"kind": "items", "format": "csv"}, "kind"),
        ({"kind": "ratings", "format": "xml"}, "format"),
        ({"kind": "ratings", "format": "csv", "question": "tone"}, "question"),
        ({"kind": "ratings", "format": "csv", "source": "gold"}, "source"),
        ({"kind": "ratings", "format": "csv", "rows": "1"}, "rows"),
        ({"kind": "labels", "format": "csv", "source": "guess"}, "source"),
        ({"kind": "labels", "format": "csv", "label": "none such"}, "label"),
        ({"kind": "labels", "format": "csv", "min_confidence": 2}, "min_confidence"),
        ({"kind": "labels", "format": "csv", "since": "soon"}, "since"),
    ],
)
def test_invalid_export_gets_400(
    body: dict[str, str], field: str, api: APIClient, address: str
) -> None:
    response = api.post(address, body, format="json")
    assert response.status_code == 400
    assert list(response.json()["error"]["fields"]) == [field]
    assert not ExportRun.objects.exists()


def test_too_many_exports_get_409(api: APIClient, address: str) -> None:
    body = {"kind": "ratings", "format": "csv"}
    statuses = [
        api.post(address, body, format="json").status_code
        for _number in range(services.MAX_UNFINISHED + 1)
    ]
    assert statuses == [202] * services.MAX_UNFINISHED + [409]


def test_file_is_not_found_until_it_is_complete(api: APIClient, address: str) -> None:
    body = {"kind": "ratings", "format": "csv"}
    data = api.post(address, body, format="json").json()
    assert api.get(f"{data['url']}file/").status_code == 404


def test_viewer_may_export_and_delete_only_own_exports(
    api: APIClient, viewer: User, address: str
) -> None:
    body = {"kind": "ratings", "format": "csv"}
    second_export = api.post(address, body, format="json").json()
    viewer_api = make_client(viewer)
    own = viewer_api.post(address, body, format="json").json()
    assert viewer_api.delete(second_export["url"]).status_code == 403
    assert viewer_api.delete(own["url"]).status_code == 200


def test_token_that_may_read_downloads_but_does_not_start(
    api: APIClient, lead: User, address: str
) -> None:
    body = {"kind": "ratings", "format": "csv"}
    data = api.post(address, body, format="json").json()
    jobs.run_export(data["id"])
    reader = make_client(lead, ApiToken.Scope.READ)
    assert reader.post(address, body, format="json").status_code == 403
    assert read(reader.get(f"{data['url']}file/", headers={"Accept": "text/csv"}))
