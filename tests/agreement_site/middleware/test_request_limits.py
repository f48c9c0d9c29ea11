"""Bodies that nobody asked for: not read, and never on the disk."""

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

from agreement_site.middleware import request_limits
from ratings.files import upload_limits

pytestmark = pytest.mark.django_db


class Unread(io.BytesIO):
    """A body of which nobody may read a byte."""

    def read(self, *_size: Any) -> bytes:
        raise AssertionError("read")

    readline = read


def says_it_sends(client: Client, path: str, length: int) -> int:
    """The status of the answer to the head of a form, by a browser that has a CSRF cookie: the check
    of its token would read the form."""
    client.handler.enforce_csrf_checks = True
    client.cookies["csrftoken"] = "a" * 32
    unread: dict[str, Any] = {"wsgi.input": Unread()}
    return client.generic(
        "POST",
        path,
        b"",
        CONTENT_TYPE="multipart/form-data; boundary=x",
        CONTENT_LENGTH=str(length),
        **unread,
    ).status_code


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were begun on the disk."""
    begun: list[str] = []
    begin = TemporaryUploadedFile.__init__

    def noted(self: Any, name: str, *rest: Any, **more: Any) -> None:
        begun.append(name)
        begin(self, name, *rest, **more)

    monkeypatch.setattr(TemporaryUploadedFile, "__init__", noted)
    return begun


FORMS = ["/sign-in/", "/language/", "/invitations/MQ/abc-123/", "/projects/new/", "/admin/login/"]


@pytest.mark.parametrize("path", FORMS)
def test_a_strangers_form_is_short(client: Client, path: str) -> None:
    assert says_it_sends(client, path, request_limits.ANONYMOUS_FORM_BYTES + 1) == 413


def test_a_members_form_is_longer(client_for: Callable[[User], Client], annotator: User) -> None:
    assert (
        says_it_sends(client_for(annotator), "/tokens/", request_limits.SIGNED_IN_FORM_BYTES + 1)
        == 413
    )


@pytest.mark.parametrize("path", FORMS)
def test_a_file_in_a_form_is_kept_nowhere(client: Client, path: str, on_disk: list[str]) -> None:
    sent = {"username": "x", "password": "y", "file": SimpleUploadedFile("a", b"x" * 50_000)}
    client.post(path, sent)
    assert on_disk == []


def test_a_file_for_the_api_is_kept_nowhere(
    client_for: Callable[[User], Client], lead: User, on_disk: list[str]
) -> None:
    answer = client_for(lead).post("/api/v1/projects/", {"file": SimpleUploadedFile("a", b"x")})
    assert (answer.status_code, on_disk) == (415, [])


@pytest.mark.parametrize("page", ["data/media/", "data/import/"])
@pytest.mark.parametrize(
    ("name", "status"), [("annotator", 403), ("viewer", 403), ("stranger", 404)]
)
def test_a_file_by_somebody_who_may_bring_none_is_not_read(
    client_for: Callable[[User], Client],
    project: Any,
    request: Any,
    page: str,
    name: str,
    status: int,
) -> None:
    client = client_for(request.getfixturevalue(name))
    assert says_it_sends(client, f"/projects/{project.pk}/{page}", 1000) == status


@pytest.mark.parametrize("path", ["/projects/1/data/media/", "/projects/import/"])
def test_a_strangers_file_is_not_read(client: Client, path: str) -> None:
    assert says_it_sends(client, path, 1000) == 302


# --- a full disk


@pytest.fixture
def pages(project: Any) -> list[tuple[str, str]]:
    """The addresses that take files, and the name of the field."""
    base = f"/projects/{project.pk}/data"
    return [(f"{base}/media/", "files"), (f"{base}/import/", "file"), ("/projects/import/", "file")]


def test_no_room_is_said_before_a_file_is_read(
    client_for: Callable[[User], Client], lead: User, pages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_limits, "SPARE_BYTES", 1 << 60)
    for page, _field in pages:
        assert says_it_sends(client_for(lead), page, 2_000_000) == 507


def test_a_disk_that_fills_up_leaves_nothing_behind(
    client_for: Callable[[User], Client], lead: User, pages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(settings.FILE_UPLOAD_TEMP_DIR)
    before = sorted(folder.iterdir())

    class FillsUp(upload_limits.TemporaryFileUploadHandler):
        def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
            super().receive_data_chunk(raw_data, start)
            if start:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(upload_limits, "TemporaryFileUploadHandler", FillsUp)
    for page, field in pages:
        sent = {field: SimpleUploadedFile("a.csv", b"item,rater,label\n" * 20_000)}
        answer = client_for(lead).post(page, sent)
        assert answer.status_code == 507
        assert "its disc may be full" in answer.content.decode()
        assert sorted(folder.iterdir()) == before
