"""Tests of requests and retries without a site."""

from __future__ import annotations

import asyncio
import datetime
import json
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from concord_client import (
    ApiError,
    AsyncClient,
    Client,
    ConcordError,
    ConnectionFailed,
    StillComputing,
    _client,
    find_settings,
)
from concord_client._core import build_path, build_query, iter_batches
from concord_client._files import ResumableFile, read_rows
from concord_client._settings import Settings, get_credentials_path, save_settings

COUNTS = {"created": 1, "changed": 0, "unchanged": 0, "withdrawn": 0}
ROW = {"item": "a", "rater": "b", "label": "c"}


class Site:
    """Responses in order, and the requests that got them; an exception is raised."""

    def __init__(self, *responses: httpx.Response | Exception) -> None:
        self.responses = list(responses)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        response = self.responses.pop(0)
        if isinstance(response, Exception):
            raise response
        return response


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds that the client would have slept."""
    seconds: list[float] = []
    clock = types.SimpleNamespace(sleep=seconds.append, monotonic=lambda: sum(seconds))
    monkeypatch.setattr(_client, "time", clock)
    return seconds


@pytest.fixture
def connect() -> Callable[..., Client]:
    def build_client(site: Site, **options: Any) -> Client:
        transport = httpx.MockTransport(site)
        return Client("https://concord.example.org", "ccd_x", transport=transport, **options)

    return build_client


def test_post_is_repeated_with_the_same_key(connect: Any, waits: list[float]) -> None:
    site = Site(
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.Response(503, headers={"Retry-After": "7"}),
        httpx.Response(429),
        httpx.Response(200, json=COUNTS),
        httpx.Response(200, json=COUNTS),
    )
    client = connect(site)
    assert client.project(3).push_ratings([ROW]).created == 1
    assert len(waits) == 4
    assert waits[2] == 7
    client.project(3).push_ratings([ROW])
    *repeated, other = [request.headers["Idempotency-Key"] for request in site.requests]
    assert len(set(repeated)) == 1
    assert other != repeated[0]
    assert {request.headers["Authorization"] for request in site.requests} == {"Bearer ccd_x"}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 500])
def test_rejected_request_is_not_repeated(connect: Any, waits: list[float], status: int) -> None:
    site = Site(httpx.Response(status, text="<h1>no</h1>"))
    with pytest.raises(ApiError) as caught:
        connect(site).project(3).get()
    assert caught.value.status == status
    assert waits == []


def test_patch_is_not_repeated(connect: Any, waits: list[float]) -> None:
    site = Site(httpx.Response(503))
    with pytest.raises(ApiError):
        connect(site).request("PATCH", "projects/3/", body={"name": "x"})
    assert waits == []


def test_number_and_length_of_retries_are_limited(connect: Any, waits: list[float]) -> None:
    with pytest.raises(ConnectionFailed, match=r"concord\.example\.org does not respond"):
        connect(Site(*[httpx.ConnectError("refused")] * 4), retries=3).project(3).get()
    assert len(waits) == 3
    with pytest.raises(ApiError):
        site = Site(httpx.Response(429, headers={"Retry-After": "3600"}))
        connect(site).project(3).get()
    assert len(waits) == 3


def test_pending_result_is_waited_for(connect: Any, waits: list[float]) -> None:
    pending = httpx.Response(202, json={"computed_at": None}, headers={"Retry-After": "2"})
    site = Site(pending, pending, httpx.Response(200, json={"question": "q", "uncounted": 0}))
    assert connect(site).project(3).agreement().question == "q"
    assert waits == [2, 2]
    with pytest.raises(StillComputing):
        connect(Site(*[pending] * 9), max_wait=5).project(3).agreement()


def test_token_is_sent_to_the_site_alone(connect: Any) -> None:
    page = {"results": [], "next": "https://evil.example.com/api/v1/projects/?cursor=abc"}
    site = Site(httpx.Response(200, json=page), httpx.Response(200, json=page | {"next": None}))
    assert connect(site).projects().to_list() == []
    assert {request.url.host for request in site.requests} == {"concord.example.org"}
    assert site.requests[1].url.params["cursor"] == "abc"
    redirect = httpx.Response(301, headers={"Location": "https://evil.example.com/"})
    with pytest.raises(ApiError, match=r"redirects to https://evil\.example\.com/"):
        connect(Site(redirect)).project(3).get()
    with pytest.raises(ApiError, match="no response of Concord's API"):
        connect(Site(httpx.Response(200, text="<html>"))).project(3).get()


def test_rows_of_errors_count_over_batches(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("concord_client._core.MAX_BATCH_ROWS", 2)
    problem = {
        "type": "urn:concord:problem:invalid",
        "title": "The request is invalid",
        "status": 400,
        "detail": "1 rating is not acceptable; nothing was stored.",
        "errors": [{"row": 1, "field": "label", "code": "unknown_label", "detail": "unknown"}],
        "error": {"code": "invalid", "message": "", "fields": {}},
    }
    site = Site(httpx.Response(200, json=COUNTS), httpx.Response(400, json=problem))
    with pytest.raises(ApiError) as caught:
        connect(site).project(3).push_ratings([ROW] * 5)
    assert [(error.row, error.code) for error in caught.value.errors] == [(3, "unknown_label")]
    assert "row 3: unknown" in str(caught.value)
    assert [len(json.loads(request.content)) for request in site.requests] == [2, 2]
    with pytest.raises(ValueError, match="no rows"):
        connect(Site()).project(3).push_ratings([])


def test_batches_are_limited_by_rows_and_characters() -> None:
    assert [len(batch) for batch in iter_batches([{"key": "a"}] * 12_000)] == [5000, 5000, 2000]
    large = {"key": "x" * 1_500_000}
    assert [len(batch) for batch in iter_batches([large] * 5)] == [2, 2, 1]


def test_paths_and_queries_are_escaped() -> None:
    assert build_path("projects", 3, "raters", "a/b ü") == "projects/3/raters/a%2Fb%20%C3%BC/"
    date = datetime.date(2026, 3, 2)
    query = build_query(from_=date, kind=None, archived=True, attributes={"lang": "en"}, limit=3)
    assert query == {
        "from": "2026-03-02", "archived": "true", "attributes[lang]": "en", "limit": "3",
    }  # fmt: skip


def test_async_client_does_the_same() -> None:
    site = Site(httpx.Response(200, json={"results": [{"id": 1}], "next": None}))

    async def run() -> list[int]:
        transport = httpx.MockTransport(site)
        async with AsyncClient("http://x/", "t", transport=transport) as client:
            return [project.id async for project in client.projects()]

    # The browser tests leave an event loop running in the thread of a test process.
    with ThreadPoolExecutor() as pool:
        assert pool.submit(asyncio.run, run()).result() == [1]


def test_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("CONCORD_URL", raising=False)
    monkeypatch.delenv("CONCORD_TOKEN", raising=False)
    with pytest.raises(ConcordError, match="concord login URL"):
        find_settings()
    path = save_settings(Settings("https://a.example.org", "secret"))
    assert path == get_credentials_path()
    assert path.stat().st_mode & 0o777 == 0o600
    assert find_settings() == Settings("https://a.example.org", "secret")
    assert "secret" not in repr(find_settings())
    # The saved token is not sent to another site.
    with pytest.raises(ConcordError, match=r"No token for https://b\.example\.org"):
        find_settings("https://b.example.org")
    monkeypatch.setenv("CONCORD_URL", "https://c.example.org/api/v1/")
    monkeypatch.setenv("CONCORD_TOKEN", "other")
    assert find_settings() == Settings("https://c.example.org", "other")
    assert find_settings("https://a.example.org", "x") == Settings("https://a.example.org", "x")
    with pytest.raises(ConcordError, match="no address"):
        find_settings("concord.example.org")
    path.write_text("{")
    monkeypatch.delenv("CONCORD_TOKEN")
    with pytest.raises(ConcordError, match="cannot be read"):
        find_settings()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "the name must end with"),
        ("a.csv", "item,item\na,b\n", "line 1: each column needs a name"),
        ("a.csv", 'item,rater\na,"b\nc"\na\n', "line 4: 1 cells, not 2"),
        ("a.csv", "key,body\na,{\n", "line 2: 'body' must be JSON"),
        ("a.jsonl", '{"item": 1}\n\n[]\n', "line 3: an object is needed"),
        ("a.jsonl", '{"item": 1}\n{\n', "line 2: Expecting"),
    ],
)
def test_invalid_files_are_rejected_with_the_line(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ConcordError, match=message):
        list(read_rows(path))


def test_rows_have_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('\ufeffitem,label,comment\na,,\n\n"b\nc",major,fine\nd,minor,\n')
    rows = [(row.line, row.values) for row in read_rows(path)]
    assert rows == [
        (2, {"item": "a", "label": None}),
        (4, {"item": "b\nc", "label": "major", "comment": "fine"}),
        (6, {"item": "d", "label": "minor"}),
    ]


def test_interrupted_pull_goes_on_where_it_stopped(connect: Any, tmp_path: Path) -> None:
    def build_page(*keys: str, cursor: str | None) -> httpx.Response:
        address = (
            cursor and f"https://concord.example.org/api/v1/projects/3/raters/?cursor={cursor}"
        )
        rows = [{"key": key, "name": "x, y", "paused": False} for key in keys]
        return httpx.Response(200, json={"results": rows, "next": address})

    path = tmp_path / "raters.csv"
    site = Site(build_page("a", "b", cursor="two"), httpx.Response(500))
    with pytest.raises(ApiError):
        ResumableFile(path).write_pages(connect(site).project(3).raters(), source="s")
    assert not path.exists()
    with (tmp_path / "raters.csv.part").open("ab") as file:
        file.write(b"half a li")  # the page that was not completed
    site = Site(build_page("c", cursor=None))
    assert ResumableFile(path).write_pages(connect(site).project(3).raters(), source="s") == 1
    assert site.requests[0].url.params["cursor"] == "two"
    lines = path.read_text().splitlines()
    assert lines[0].startswith("key,name,kind")
    assert [line[0] for line in lines[1:]] == ["a", "b", "c"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["raters.csv"]
    # Another pull does not go on with this one.
    site = Site(build_page("a", cursor="two"), httpx.Response(500))
    with pytest.raises(ApiError):
        ResumableFile(path).write_pages(connect(site).project(3).raters(), source="s")
    site = Site(build_page("z", cursor=None))
    assert ResumableFile(path).write_pages(connect(site).project(3).raters(), source="t") == 1
    assert "cursor" not in site.requests[0].url.params
