"""Tests that unwanted request bodies are neither read nor written to disk."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.test import Client

from agreement_site.middleware import security
from ratings.files import upload_limits

pytestmark = pytest.mark.django_db


class UnreadableBody(io.BytesIO):
    """A request body that must not be read."""

    def read(self, *_size: Any) -> bytes:
        raise AssertionError("read")

    readline = read


def announce_form(client: Client, path: str, length: int) -> int:
    """Send only the head of a form and return the status.

    The browser has a CSRF cookie, because the check of the form's token would read the body.
    """
    client.handler.enforce_csrf_checks = True
    client.cookies["csrftoken"] = "a" * 32
    unreadable_body: dict[str, Any] = {"wsgi.input": UnreadableBody()}
    return client.generic(
        "POST",
        path,
        b"",
        CONTENT_TYPE="multipart/form-data; boundary=x",
        CONTENT_LENGTH=str(length),
        **unreadable_body,
    ).status_code


@pytest.fixture
def temporary_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that receives the names of files created on disk."""
    names: list[str] = []
    original_init = TemporaryUploadedFile.__init__

    def record_name(self: Any, name: str, *arguments: Any, **keywords: Any) -> None:
        names.append(name)
        original_init(self, name, *arguments, **keywords)

    monkeypatch.setattr(TemporaryUploadedFile, "__init__", record_name)
    return names


FORM_PATHS = [
    "/sign-in/",
    "/language/",
    "/invitations/MQ/abc-123/",
    "/projects/new/",
    "/admin/login/",
]


@pytest.mark.parametrize("path", FORM_PATHS)
def test_form_of_an_anonymous_user_is_limited(client: Client, path: str) -> None:
    assert announce_form(client, path, security.ANONYMOUS_FORM_BYTES + 1) == 413


def test_form_of_a_signed_in_user_has_a_higher_limit(
    client_for: Callable[[User], Client], annotator: User
) -> None:
    assert (
        announce_form(client_for(annotator), "/tokens/", security.SIGNED_IN_FORM_BYTES + 1) == 413
    )


@pytest.mark.parametrize("path", FORM_PATHS)
def test_file_in_a_form_is_not_saved(client: Client, path: str, temporary_files: list[str]) -> None:
    form_data = {"username": "x", "password": "y", "file": SimpleUploadedFile("a", b"x" * 50_000)}
    client.post(path, form_data)
    assert temporary_files == []


def test_file_sent_to_the_api_is_not_saved(
    client_for: Callable[[User], Client], lead: User, temporary_files: list[str]
) -> None:
    response = client_for(lead).post("/api/v1/projects/", {"file": SimpleUploadedFile("a", b"x")})
    assert (response.status_code, temporary_files) == (415, [])


@pytest.mark.parametrize("page", ["data/media/", "data/import/"])
@pytest.mark.parametrize(
    ("name", "status"), [("annotator", 403), ("viewer", 403), ("stranger", 404)]
)
def test_file_of_an_unauthorized_user_is_not_read(
    client_for: Callable[[User], Client],
    project: Any,
    request: Any,
    page: str,
    name: str,
    status: int,
) -> None:
    client = client_for(request.getfixturevalue(name))
    assert announce_form(client, f"/projects/{project.pk}/{page}", 1000) == status


@pytest.mark.parametrize("path", ["/projects/1/data/media/", "/projects/import/"])
def test_file_of_an_anonymous_user_is_not_read(client: Client, path: str) -> None:
    assert announce_form(client, path, 1000) == 302


# --- full disk


@pytest.fixture
def upload_pages(project: Any) -> list[tuple[str, str]]:
    """Return the addresses that accept files, with the name of the field."""
    base = f"/projects/{project.pk}/data"
    return [(f"{base}/media/", "files"), (f"{base}/import/", "file"), ("/projects/import/", "file")]


def test_missing_disk_space_is_reported_before_a_file_is_read(
    client_for: Callable[[User], Client],
    lead: User,
    upload_pages: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upload_limits, "SPARE_BYTES", 1 << 60)
    for page, _field in upload_pages:
        assert announce_form(client_for(lead), page, 2_000_000) == 507


def test_disk_that_fills_up_leaves_no_files(
    client_for: Callable[[User], Client],
    lead: User,
    upload_pages: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = Path(settings.FILE_UPLOAD_TEMP_DIR)
    before = sorted(folder.iterdir())

    class FillsUp(upload_limits.TemporaryFileUploadHandler):
        """Upload handler whose disk is full after the first chunk."""

        def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
            super().receive_data_chunk(raw_data, start)
            if start:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(upload_limits, "TemporaryFileUploadHandler", FillsUp)
    for page, field in upload_pages:
        form_data = {field: SimpleUploadedFile("a.csv", b"item,rater,label\n" * 20_000)}
        response = client_for(lead).post(page, form_data)
        assert response.status_code == 507
        assert "disk may be full" in response.content.decode()
        assert sorted(folder.iterdir()) == before
