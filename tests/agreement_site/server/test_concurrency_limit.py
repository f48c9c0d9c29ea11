"""Tests of the concurrency limit of the web server, with a small function as the site."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from django.http import HttpResponse, StreamingHttpResponse

from agreement_site.server import concurrency_limit
from agreement_site.server.concurrency_limit import MAX_BUFFERED_BYTES, ConcurrencyLimiter

Site = Callable[[dict[str, Any]], Any]


class RecordedResponse:
    """Status, headers and body that a client received."""

    def __init__(self) -> None:
        self.status = ""
        self.headers: dict[str, str] = {}
        self.body = b""


def send_request(
    server: ConcurrencyLimiter, body: io.BytesIO | None = None, length: int = 0
) -> RecordedResponse:
    recorded = RecordedResponse()

    def start_response(status: str, headers: list[tuple[str, str]]) -> None:
        recorded.status = status
        recorded.headers = dict(headers)

    environ = {"CONTENT_LENGTH": str(length), "wsgi.input": body or io.BytesIO()}
    chunks = server(environ, start_response)
    recorded.body = b"".join(chunks)
    if hasattr(chunks, "close"):
        chunks.close()
    return recorded


def limit_site(site: Site, limit: int) -> ConcurrencyLimiter:
    """Return the site behind a limit of this number of simultaneous requests."""

    def respond(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        response = site(environ)
        start_response(f"{response.status_code} ", list(response.items()))
        return response

    return ConcurrencyLimiter(respond, limit)


class HeldBody(io.BytesIO):
    """A body whose client delays the second half."""

    def __init__(self) -> None:
        super().__init__(b"all of it")
        self.requested = threading.Event()
        self.second_half = threading.Event()

    def read(self, size: int | None = -1) -> bytes:
        self.requested.set()
        assert self.second_half.wait(30)
        return super().read(size)


@pytest.fixture
def thread_pool() -> Iterator[ThreadPoolExecutor]:
    """Return threads like the web server's.

    A request never runs in the test's own thread, whose connection is the test's.
    """
    with ThreadPoolExecutor(16) as pool:
        yield pool


def test_request_waiting_for_its_body_takes_no_slot(thread_pool: ThreadPoolExecutor) -> None:
    server = limit_site(lambda environ: HttpResponse(environ["wsgi.input"].read()), 1)
    held_body = HeldBody()
    late_response = thread_pool.submit(send_request, server, held_body, 9)
    assert held_body.requested.wait(30)
    assert (
        thread_pool.submit(send_request, server, io.BytesIO(b"here"), 4).result(30).body == b"here"
    )
    held_body.second_half.set()
    assert late_response.result(30).body == b"all of it"


def test_incomplete_body_reaches_no_page(thread_pool: ThreadPoolExecutor) -> None:
    server = limit_site(lambda environ: pytest.fail("a page was called"), 1)
    response = thread_pool.submit(send_request, server, io.BytesIO(b"half"), 8).result(30)
    assert response.status == "400 Bad Request"


def test_large_body_is_left_to_the_page(thread_pool: ThreadPoolExecutor) -> None:
    class Untouched(io.BytesIO):
        """A body that must not be read."""

        def read(self, size: int | None = -1) -> bytes:
            raise AssertionError("nobody asked for it")

    server = limit_site(lambda environ: HttpResponse(status=413), 1)
    assert (
        thread_pool.submit(send_request, server, Untouched(), MAX_BUFFERED_BYTES + 1)
        .result(30)
        .status
        == "413 "
    )


def test_large_bodies_leave_slots_to_other_requests(thread_pool: ThreadPoolExecutor) -> None:
    server = limit_site(lambda environ: HttpResponse(environ["wsgi.input"].read()), 4)
    held_bodies = [HeldBody() for _ in range(6)]
    large_responses = [
        thread_pool.submit(send_request, server, body, MAX_BUFFERED_BYTES + 1)
        for body in held_bodies
    ]
    assert thread_pool.submit(send_request, server).result(30).status == "200 "
    for body in held_bodies:
        body.second_half.set()
    assert {response.result(30).body for response in large_responses} == {b"all of it"}


def test_large_body_waits_for_a_limited_time(
    thread_pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency_limit, "MAX_WAIT_SECONDS", 0.01)
    server = limit_site(lambda environ: HttpResponse(environ["wsgi.input"].read()), 2)
    held_body = HeldBody()
    large_response = thread_pool.submit(send_request, server, held_body, MAX_BUFFERED_BYTES + 1)
    assert held_body.requested.wait(30)
    rejected = thread_pool.submit(send_request, server, HeldBody(), MAX_BUFFERED_BYTES + 1).result(
        30
    )
    assert rejected.status == "503 Service Unavailable"
    held_body.second_half.set()
    assert large_response.result(30).status == "200 "


def test_requests_and_connections_are_limited_to_the_slots(thread_pool: ThreadPoolExecutor) -> None:
    free_slots = threading.Semaphore(3)
    connection_ids: set[int] = set()

    def site(environ: dict[str, Any]) -> HttpResponse:
        assert free_slots.acquire(blocking=False), "more requests than slots"
        connection_ids.add(id(connections["default"]))
        connections["default"].validate_thread_sharing()
        threading.Event().wait(0.001)
        free_slots.release()
        return HttpResponse("done")

    server = limit_site(site, 3)
    responses = list(thread_pool.map(lambda _request: send_request(server), range(100)))
    assert {response.body for response in responses} == {b"done"}
    assert 1 <= len(connection_ids) <= 3


def test_failing_page_releases_its_slot(thread_pool: ThreadPoolExecutor) -> None:
    def site(environ: dict[str, Any]) -> HttpResponse:
        if environ["CONTENT_LENGTH"] == "1":
            raise RuntimeError("broken")
        return HttpResponse("done")

    server = limit_site(site, 1)
    with pytest.raises(RuntimeError, match="broken"):
        thread_pool.submit(send_request, server, io.BytesIO(b"x"), 1).result(30)
    assert thread_pool.submit(send_request, server).result(30).body == b"done"


def test_stream_is_sent_completely_with_its_length(thread_pool: ThreadPoolExecutor) -> None:
    server = limit_site(lambda environ: StreamingHttpResponse([b"one,", b"two"]), 1)
    response = thread_pool.submit(send_request, server).result(30)
    assert (response.body, response.headers["Content-Length"]) == (b"one,two", "7")


def test_failing_stream_is_not_started(thread_pool: ThreadPoolExecutor) -> None:
    def yield_half() -> Iterator[bytes]:
        yield b"one,"
        raise RuntimeError("the database has gone")

    server = limit_site(lambda environ: StreamingHttpResponse(yield_half()), 1)
    with pytest.raises(RuntimeError, match="the database has gone"):
        thread_pool.submit(send_request, server).result(30)
    assert (
        thread_pool.submit(send_request, limit_site(lambda environ: HttpResponse("ok"), 1))
        .result(30)
        .body
    )


def test_slow_reader_takes_no_slot(thread_pool: ThreadPoolExecutor) -> None:
    """A file of known length is sent after the slot is released."""

    def site(environ: dict[str, Any]) -> Any:
        if environ["CONTENT_LENGTH"] == "0":
            return HttpResponse("another")
        return StreamingHttpResponse([b"a film"], headers={"Content-Length": "6"})

    server = limit_site(site, 1)
    environ = {"CONTENT_LENGTH": "1", "wsgi.input": io.BytesIO(b"x")}
    chunks = thread_pool.submit(server, environ, lambda *arguments: None).result(30)
    assert thread_pool.submit(send_request, server).result(30).body == b"another"
    assert b"".join(chunks) == b"a film"
