"""Exports by the pages: start, progress without JavaScript, download, cancel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agreement_site.models import AuditLogEntry
from projects.models import Project, Question
from ratings.exports import jobs, services
from ratings.files import export_files
from ratings.models import ExportRun

pytestmark = pytest.mark.django_db


@pytest.fixture
def rated_project(project: Project, question: Question, rate: Any) -> Project:
    for number in range(3):
        rate(question, f"i{number}", "ann", "major", comment="=1+1")
    return project


@pytest.fixture
def client(client_for: Callable[[User], Client], lead: User) -> Client:
    return client_for(lead)


@pytest.fixture
def finished_run(rated_project: Project, lead: User) -> ExportRun:
    run = services.start_export(
        project=rated_project, kind="ratings", file_format="csv", parameters={}, by=lead
    )
    jobs.run_export(run.pk)
    run.refresh_from_db()
    return run


def start(client: Client, project: Project, **fields: str) -> Any:
    data = {"kind": "ratings", "format": "csv", **fields}
    return client.post(f"/projects/{project.pk}/data/exports/", data)


def get_file_address(run: ExportRun) -> str:
    return f"/projects/{run.project_id}/data/exports/{run.pk}/file/"


def test_small_projects_offer_direct_downloads(client: Client, rated_project: Project) -> None:
    page = client.get(f"/projects/{rated_project.pk}/data/").content.decode()
    assert f"/projects/{rated_project.pk}/data/export.csv" in page
    assert "/data/exports/" not in page
    assert "<title>Import and export" in page and "<h1>Import and export</h1>" in page
    assert ">Download</th>" in page


def test_large_projects_offer_exports_to_files(
    client: Client, rated_project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MAX_DIRECT_ROWS", 2)
    page = client.get(f"/projects/{rated_project.pk}/data/").content.decode()
    assert f'action="/projects/{rated_project.pk}/data/exports/"' in page
    assert "/data/export.csv" not in page
    assert ">Create file</th>" in page  # a button starts a job


def test_start_shows_progress_and_then_the_file(client: Client, rated_project: Project) -> None:
    response = start(client, rated_project, question="severity")
    assert response["Location"] == f"/projects/{rated_project.pk}/data/"
    page = client.get(response["Location"]).content.decode()
    assert "data-poll" in page and "Refresh" in page
    run = ExportRun.objects.get()
    ExportRun.objects.update(state="writing", rows_done=1, rows_total=3)
    fragment = client.get(f"/projects/{rated_project.pk}/data/exports/progress/").content.decode()
    assert "33%: 1 of 3 rows" in fragment and "data-poll" in fragment
    assert 'value="33"' in fragment

    ExportRun.objects.update(rows_done=0)
    jobs.run_export(run.pk)
    fragment = client.get(f"/projects/{rated_project.pk}/data/exports/progress/").content.decode()
    assert "data-poll" not in fragment
    link = f'<a class="button button--small" href="{get_file_address(run)}">Download'
    assert link in fragment and "3 rows" in fragment


@pytest.mark.parametrize(
    ("error", "text"), [("disk_full", "disk is full"), ("error", "The export failed.")]
)
def test_failure_is_shown_without_a_file(
    error: str, text: str, client: Client, finished_run: ExportRun
) -> None:
    ExportRun.objects.update(state="failed", error=error)
    page = client.get(f"/projects/{finished_run.project_id}/data/").content.decode()
    assert text in page.replace("&#x27;", "'")
    assert get_file_address(finished_run) not in page
    assert client.get(get_file_address(finished_run)).status_code == 404


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": ""},
        {"kind": "items"},
        {"format": "xlsx"},
        {"question": "none such"},
        {"min_confidence": "0.9"},
        {"kind": "labels", "min_confidence": "2"},
        {"kind": "labels", "format": "zip"},
    ],
)
def test_invalid_export_is_not_started(
    fields: dict[str, str], client: Client, rated_project: Project
) -> None:
    response = start(client, rated_project, **fields)
    assert response.status_code == 302
    assert not ExportRun.objects.exists()
    assert "not started" in client.get(response["Location"]).content.decode()


def test_too_many_exports_are_not_started(client: Client, rated_project: Project) -> None:
    for _number in range(services.MAX_UNFINISHED):
        start(client, rated_project)
    response = start(client, rated_project)
    assert "Wait for a running export" in client.get(response["Location"]).content.decode()
    assert ExportRun.objects.count() == services.MAX_UNFINISHED


def read(response: Any, status: int = 200) -> bytes:
    assert response.status_code == status
    return b"".join(response.streaming_content)


def test_download_has_the_headers_of_the_direct_one(
    client: Client, finished_run: ExportRun
) -> None:
    response = client.get(get_file_address(finished_run))
    direct = client.get(f"/projects/{finished_run.project_id}/data/export.csv")
    content = read(response)
    assert content == read(direct)
    for name in ("Content-Type", "Content-Disposition", "X-Content-Type-Options", "Cache-Control"):
        assert response[name] == direct[name]
    assert response["Content-Length"] == str(len(content))
    assert response["Accept-Ranges"] == "bytes"
    head = client.head(get_file_address(finished_run))
    assert (head["Content-Length"], read(head)) == (str(len(content)), b"")


def test_interrupted_download_is_resumed(client: Client, finished_run: ExportRun) -> None:
    address = get_file_address(finished_run)
    complete = client.get(address)
    content, etag = read(complete), complete["ETag"]
    size = len(content)
    rest = client.get(address, headers={"Range": "bytes=10-", "If-Range": etag})
    assert read(rest, 206) == content[10:]
    assert rest["Content-Range"] == f"bytes 10-{size - 1}/{size}"
    assert rest["ETag"] == etag
    part = client.get(address, headers={"Range": "bytes=0-9"})
    assert read(part, 206) == content[:10]
    assert read(client.get(address, headers={"Range": "bytes=-5"}), 206) == content[-5:]
    other = client.get(address, headers={"Range": "bytes=10-", "If-Range": '"another"'})
    assert read(other) == content
    beyond = client.get(address, headers={"Range": f"bytes={size}-"})
    assert (beyond.status_code, beyond["Content-Range"]) == (416, f"bytes */{size}")
    assert client.get(address, headers={"If-None-Match": etag}).status_code == 304
    assert client.get(address, headers={"If-Match": '"another"'}).status_code == 412


def test_empty_file_is_delivered(client: Client, project: Project, lead: User) -> None:
    run = services.start_export(
        project=project, kind="ratings", file_format="jsonl", parameters={}, by=lead
    )
    jobs.run_export(run.pk)
    response = client.get(get_file_address(run))
    assert (read(response), response["Content-Length"]) == (b"", "0")


@pytest.mark.parametrize("state", ["pending", "writing", "failed"])
def test_incomplete_file_is_not_offered(
    state: str, client: Client, finished_run: ExportRun
) -> None:
    ExportRun.objects.update(state=state)
    assert client.get(get_file_address(finished_run)).status_code == 404


def test_missing_file_is_not_found(client: Client, finished_run: ExportRun) -> None:
    export_files.delete_files([finished_run.path])
    assert client.get(get_file_address(finished_run)).status_code == 404


@pytest.mark.parametrize(
    ("username", "status"), [("viewer", 200), ("annotator", 403), ("stranger", 404)]
)
def test_access_is_checked_at_each_step(
    username: str,
    status: int,
    client_for: Callable[[User], Client],
    finished_run: ExportRun,
    request: pytest.FixtureRequest,
) -> None:
    client = client_for(request.getfixturevalue(username))
    project = finished_run.project
    assert start(client, project).status_code == (302 if status == 200 else status)
    assert client.get(get_file_address(finished_run)).status_code == status
    progress = client.get(f"/projects/{project.pk}/data/exports/progress/")
    assert progress.status_code == status
    delete = client.post(f"/projects/{project.pk}/data/exports/{finished_run.pk}/delete/")
    assert delete.status_code == (403 if status == 200 else status)
    assert ExportRun.objects.filter(pk=finished_run.pk).exists()


def test_member_who_left_gets_no_file(
    client_for: Callable[[User], Client], viewer: User, finished_run: ExportRun
) -> None:
    ExportRun.objects.update(by=viewer)
    client = client_for(viewer)
    assert client.get(get_file_address(finished_run)).status_code == 200
    finished_run.project.members.filter(user=viewer).delete()
    assert client.get(get_file_address(finished_run)).status_code == 404


def test_viewers_delete_their_own_exports(
    client_for: Callable[[User], Client],
    viewer: User,
    finished_run: ExportRun,
    django_capture_on_commit_callbacks: Any,
) -> None:
    ExportRun.objects.update(by=viewer)
    client = client_for(viewer)
    address = f"/projects/{finished_run.project_id}/data/exports/{finished_run.pk}/delete/"
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(address).status_code == 302
    assert not ExportRun.objects.exists()
    assert not export_files.get_absolute_path(finished_run.path).exists()
    assert client.post(address).status_code == 404


def test_export_of_another_project_is_not_found(
    client: Client, finished_run: ExportRun, lead: User, make_project: Any
) -> None:
    other_project = make_project("Other")
    other_project.members.create(user=lead, role="lead")
    for page in ("file", "delete"):
        address = f"/projects/{other_project.pk}/data/exports/{finished_run.pk}/{page}/"
        method = client.get if page == "file" else client.post
        assert method(address).status_code == 404


def test_audit_log_has_the_entry_of_a_direct_download(
    client: Client, rated_project: Project
) -> None:
    client.get(f"/projects/{rated_project.pk}/data/export.csv")
    start(client, rated_project)
    direct, background = AuditLogEntry.objects.filter(action="export").order_by("pk")
    names = ("actor_id", "project_id", "details", "before", "after")
    assert [getattr(direct, name) for name in names] == [
        getattr(background, name) for name in names
    ]
    run = ExportRun.objects.get()
    jobs.run_export(run.pk)
    client.get(get_file_address(run))
    entry = AuditLogEntry.objects.get(action="export_downloaded")
    assert (entry.project_id, entry.details["exported"]) == (rated_project.pk, "ratings")
