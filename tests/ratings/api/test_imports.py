"""Imports by the API: the file, the options, and what was understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from rest_framework.test import APIClient

from projects.models import Project
from projects.services import tokens
from ratings.models import ImportRun, Rating

TABLE = b"doc,coder,verdict,majority\na,ann,minor,minor\na,ben,major,minor\nb,ann,NA,minor\n"


@pytest.fixture
def client(project: Project, lead: Any) -> APIClient:
    """Return a client with a token of the lead."""
    client = APIClient()
    token = tokens.create_token(user=lead)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def post_file(client: APIClient, project: Project, content: bytes, **options: Any) -> Any:
    file = SimpleUploadedFile("verdicts.csv", content)
    url = f"/api/v1/projects/{project.pk}/imports/"
    return client.post(url, {"file": file, **options}, format="multipart")


def test_a_file_is_imported_with_what_was_understood(client: APIClient, project: Project) -> None:
    response = post_file(client, project, TABLE, question="severity")
    assert response.status_code == 200, response.content
    result = response.json()
    assert (result["stored"], result["items"], result["raters"], result["ratings"]) == (
        (True, 2, 2, 2)
    )
    understood = result["understood"]
    columns = {column["name"]: column for column in understood["columns"]}
    assert {name: column["role"] for name, column in columns.items()} == {
        "doc": "item",
        "coder": "rater",
        "verdict": "label",
        "majority": "ignored",
    }
    assert all(column["meaning"] and column["why"] for column in columns.values())
    assert understood["layout"] == "long"
    assert understood["missing"] == ["NA"]
    assert understood["counts"]["ratings"] == 2
    assert understood["left_out"]["missing"]["lines"] == [4]
    assert Rating.objects.filter(question__project=project).count() == 2


def test_api_and_command_understand_the_same(
    client: APIClient, project: Project, tmp_path: Path, capsys: Any
) -> None:
    path = tmp_path / "verdicts.csv"
    path.write_bytes(TABLE)
    response = post_file(client, project, TABLE, question="tone", scale="nominal", dry_run="true")
    call_command(
        "import_file", str(path), project=project.pk, question="tone", scale="nominal",
        dry_run=True, json=True,
    )  # fmt: skip
    report = json.loads(capsys.readouterr().out)
    assert response.json()["understood"] == report["understood"][str(path)]
    understood = response.json()["understood"]
    assert (understood["scale"], understood["order"]) == ("nominal", ["minor", "major"])
    assert not Rating.objects.exists()
    assert not ImportRun.objects.exists()


def test_a_doubtful_file_stores_nothing_and_says_why(client: APIClient, project: Project) -> None:
    counts = b"doc,minor,major\na,2,1\nb,0,3\nc,3,0\n"
    response = post_file(client, project, counts, question="severity")
    assert response.status_code == 400
    result = response.json()
    assert "--layout counts" in result["error"]["fields"]["file"]
    assert result["understood"]["layout"] == "counts"
    assert not Rating.objects.exists()
    assert not ImportRun.objects.exists()
    confirmed = post_file(client, project, counts, question="severity", layout="counts")
    assert confirmed.json()["ratings"] == 9


def test_the_field_of_a_missing_decision_is_named(client: APIClient, project: Project) -> None:
    numbers = b"doc,coder,grade\na,ann,1\na,ben,2\nb,ann,3\nb,ben,3\n"
    response = post_file(client, project, numbers, question="grade")
    assert response.status_code == 400 and not Rating.objects.exists()
    assert list(response.json()["error"]["fields"]) == ["scale"]
    response = post_file(client, project, numbers, question="grade", scale="grade=ordinal")
    assert response.status_code == 200, response.content
    assert project.questions.get(key="grade").scale == "ordinal"
    similar = b"doc,coder,tone\na,ann,Good\na,ben,good\nb,ann,bad\nb,ben,bad\n"
    response = post_file(client, project, similar, question="tone")
    assert list(response.json()["error"]["fields"]) == ["similar"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"layout": "diagonal"}, "layout"),
        ({"scale": "grade=best"}, "scale"),
        ({"map": ["verdict"]}, "map"),
        ({"zone": "Mars/Base"}, "zone"),
        ({"order": '"open'}, "order"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_invalid_options_are_named(
    client: APIClient, project: Project, options: Any, field: str
) -> None:
    response = post_file(client, project, TABLE, **options)
    assert response.status_code == 400
    assert list(response.json()["error"]["fields"]) == [field]


def test_unreadable_and_missing_files(client: APIClient, project: Project) -> None:
    response = post_file(client, project, b"%PDF-1.7 something")
    assert response.status_code == 400
    assert response.json()["understood"] is None
    url = f"/api/v1/projects/{project.pk}/imports/"
    missing = client.post(url, {"layout": "long"}, format="multipart")
    assert list(missing.json()["error"]["fields"]) == ["file"]
    assert client.post(url, {"file": "x"}, format="json").status_code == 415


def test_a_large_file_is_rejected_before_it_is_read(
    client: APIClient, project: Project, settings: Any
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = post_file(client, project, TABLE + b"c,ann,minor,minor\n" * 100)
    assert response.status_code == 413
    assert not ImportRun.objects.exists()


def test_a_session_is_no_sender(project: Project, lead: Any) -> None:
    session = APIClient()
    session.force_login(lead)
    assert post_file(session, project, TABLE).status_code == 401
