"""Files of ratings by API."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from projects.models import ApiToken, Project, Question
from projects.services import tokens
from ratings.files import parquet_file

pytestmark = pytest.mark.django_db


@pytest.fixture
def token_client(lead: User) -> APIClient:
    """Return a client that has nothing but a token that may read."""
    token = tokens.create_token(user=lead, scope=ApiToken.Scope.READ)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def read_file(response: Any) -> str:
    assert response.status_code == 200
    return b"".join(response.streaming_content).decode()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_file_equals_that_of_the_page(
    kind: str,
    token_client: APIClient,
    client_for: Callable[..., Any],
    lead: User,
    project: Project,
    question: Question,
    rate: Any,
) -> None:
    rate(question, "i1", "ann", "major")
    rate(question, "i2", "ben", "minor", comment="=1+1")
    address = f"/api/v1/projects/{project.pk}/export/?format={kind}&question=severity"
    response = token_client.get(address, headers={"Accept": "text/csv"})
    page = client_for(lead).get(f"/projects/{project.pk}/data/export.{kind}")
    assert response["Content-Type"] == page["Content-Type"]
    assert response["Content-Disposition"] == page["Content-Disposition"]
    assert read_file(response) == read_file(page)


def test_csv_of_all_questions_is_the_default(
    token_client: APIClient, project: Project, question: Question, rate: Any
) -> None:
    rate(question, "i1", "ann", "major")
    text = read_file(token_client.get(f"/api/v1/projects/{project.pk}/export/"))
    assert text.splitlines()[0].startswith("item,rater,question,label,rated_at")
    assert text.splitlines()[1].startswith("i1,ann,severity,major,")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("format=xlsx", "format"),
        ("question=absent", "question"),
        ("page_size=3", "page_size"),
        ("format=csv&format=jsonl", "format"),
    ],
)
def test_invalid_query_is_refused_as_json(
    query: str, field: str, token_client: APIClient, project: Project, question: Question
) -> None:
    response = token_client.get(f"/api/v1/projects/{project.pk}/export/?{query}")
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]


def test_missing_pyarrow_is_said(
    token_client: APIClient, project: Project, question: Question, monkeypatch: Any
) -> None:
    monkeypatch.setattr(parquet_file, "has_parquet", lambda: False)
    for path in ("export/", "labels/"):
        response = token_client.get(f"/api/v1/projects/{project.pk}/{path}?format=parquet")
        assert response.status_code == 400
        assert "pyarrow" in json.dumps(response.json()["error"]["fields"]["format"])


def test_wrong_token_is_no_redirect(project: Project) -> None:
    response = APIClient().get(
        f"/api/v1/projects/{project.pk}/export/", headers={"Authorization": "Bearer nonsense"}
    )
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "not_authenticated"
