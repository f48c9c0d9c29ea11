"""Tests of media by the API: files become items, all or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from projects.models import Item, Project
from projects.services import tokens

PNG = b"\x89PNG\r\n\x1a\n" + b"picture" * 9
MP3 = b"ID3\x04\x00" + bytes(range(256))


def test_files_become_items(project: Project, lead: Any, settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    token = tokens.create_token(user=lead)
    client = APIClient(headers={"Authorization": f"Bearer {token}"})
    path = f"/api/v1/projects/{project.pk}/media/"

    def upload(**contents: bytes) -> Any:
        files = [SimpleUploadedFile(name, content) for name, content in contents.items()]
        return client.post(path, {"files": files} if files else {})

    response = upload(a=PNG, b=MP3)
    assert response.json() == {"created": 2, "changed": 0, "unchanged": 0}, response.content
    assert upload(a=PNG).json() == {"created": 0, "changed": 0, "unchanged": 1}
    bodies = dict(Item.objects.values_list("key", "body"))
    assert {key: list(body) for key, body in bodies.items()} == {"a": ["image"], "b": ["audio"]}
    rejected = upload(c=PNG, d=b"<script>")
    assert rejected.status_code == 400
    assert list(rejected.json()["error"]["fields"]) == ["d"]
    assert upload().status_code == 400
    assert Item.objects.count() == 2


@pytest.mark.django_db
def test_stranger_is_told_how_to_send_a_token(client: Any) -> None:
    response = client.get("/api/v1/projects/", headers={"Authorization": "Token x"})
    assert response.status_code == 401
    assert "Authorization: Bearer TOKEN" in response.json()["detail"]
