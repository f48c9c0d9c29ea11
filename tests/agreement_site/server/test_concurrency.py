"""Seats: who gets one, and what comes of it. The site behind them is a small function."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from django.http import HttpResponse, StreamingHttpResponse

from agreement_site.server import concurrency
from agreement_site.server.concurrency import MAX_BUFFERED_BYTES, ConcurrencyLimiter

Site = Callable[[dict[str, Any]], Any]


class Asked:
    """What a client was told."""

    def __init__(self) -> None:
        self.status = ""
        self.headers: dict[str, str] = {}
        self.body = b""


def ask(served: ConcurrencyLimiter, body: io.BytesIO | None = None, length: int = 0) -> Asked:
    asked = Asked()

    def start_response(status: str, headers: list[tuple[str, str]]) -> None:
        asked.status = status
        asked.headers = dict(headers)

    environ = {"CONTENT_LENGTH": str(length), "wsgi.input": body or io.BytesIO()}
    answer = served(environ, start_response)
    asked.body = b"".join(answer)
    if hasattr(answer, "close"):
        answer.close()
    return asked


def behind(site: Site, number: int) -> ConcurrencyLimiter:
    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        response = site(environ)
        start_response(f"{response.status_code} ", list(response.items()))
        return response

    return ConcurrencyLimiter(answer, number)


class HeldBody(io.BytesIO):
    """A body whose client waits with its second half."""

    def __init__(self) -> None:
        super().__init__(b"all of it")
        self.asked_for = threading.Event()
        self.rest = threading.Event()

    def read(self, size: int | None = -1) -> bytes:
        self.asked_for.set()
        assert self.rest.wait(30)
        return super().read(size)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """As the web server's: never the test's own thread, whose connection is the test's."""
    with ThreadPoolExecutor(16) as pool:
        yield pool


def test_who_waits_for_a_body_takes_no_seat(threads: ThreadPoolExecutor) -> None:
    served = behind(lambda environ: HttpResponse(environ["wsgi.input"].read()), 1)
    held = HeldBody()
    late = threads.submit(ask, served, held, 9)
    assert held.asked_for.wait(30)
    assert threads.submit(ask, served, io.BytesIO(b"here"), 4).result(30).body == b"here"
    held.rest.set()
    assert late.result(30).body == b"all of it"


def test_a_body_that_ends_early_reaches_no_page(threads: ThreadPoolExecutor) -> None:
    served = behind(lambda environ: pytest.fail("a page was asked"), 1)
    asked = threads.submit(ask, served, io.BytesIO(b"half"), 8).result(30)
    assert asked.status == "400 Bad Request"


def test_a_large_body_is_left_to_the_page(threads: ThreadPoolExecutor) -> None:
    class Untouched(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise AssertionError("nobody asked for it")

    served = behind(lambda environ: HttpResponse(status=413), 1)
    assert (
        threads.submit(ask, served, Untouched(), MAX_BUFFERED_BYTES + 1).result(30).status == "413 "
    )


def test_large_bodies_leave_seats_to_the_others(threads: ThreadPoolExecutor) -> None:
    served = behind(lambda environ: HttpResponse(environ["wsgi.input"].read()), 4)
    held = [HeldBody() for _ in range(6)]
    large = [threads.submit(ask, served, body, MAX_BUFFERED_BYTES + 1) for body in held]
    assert threads.submit(ask, served).result(30).status == "200 "
    for body in held:
        body.rest.set()
    assert {one.result(30).body for one in large} == {b"all of it"}


def test_a_large_body_does_not_wait_for_ever(
    threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency, "MAX_WAIT_SECONDS", 0.01)
    served = behind(lambda environ: HttpResponse(environ["wsgi.input"].read()), 2)
    held = HeldBody()
    large = threads.submit(ask, served, held, MAX_BUFFERED_BYTES + 1)
    assert held.asked_for.wait(30)
    refused = threads.submit(ask, served, HeldBody(), MAX_BUFFERED_BYTES + 1).result(30)
    assert refused.status == "503 Service Unavailable"
    held.rest.set()
    assert large.result(30).status == "200 "


def test_no_more_requests_than_seats_and_no_more_connections(threads: ThreadPoolExecutor) -> None:
    sitting = threading.Semaphore(3)
    used: set[int] = set()

    def site(environ: dict[str, Any]) -> HttpResponse:
        assert sitting.acquire(blocking=False), "more requests than seats"
        used.add(id(connections["default"]))
        connections["default"].validate_thread_sharing()
        threading.Event().wait(0.001)
        sitting.release()
        return HttpResponse("done")

    served = behind(site, 3)
    answers = list(threads.map(lambda _number: ask(served), range(100)))
    assert {answer.body for answer in answers} == {b"done"}
    assert 1 <= len(used) <= 3


def test_a_page_that_fails_gives_its_seat_back(threads: ThreadPoolExecutor) -> None:
    def site(environ: dict[str, Any]) -> HttpResponse:
        if environ["CONTENT_LENGTH"] == "1":
            raise RuntimeError("broken")
        return HttpResponse("done")

    served = behind(site, 1)
    with pytest.raises(RuntimeError, match="broken"):
        threads.submit(ask, served, io.BytesIO(b"x"), 1).result(30)
    assert threads.submit(ask, served).result(30).body == b"done"


def test_a_stream_is_sent_whole_and_with_its_length(threads: ThreadPoolExecutor) -> None:
    served = behind(lambda environ: StreamingHttpResponse([b"one,", b"two"]), 1)
    asked = threads.submit(ask, served).result(30)
    assert (asked.body, asked.headers["Content-Length"]) == (b"one,two", "7")


def test_a_stream_that_breaks_off_is_not_begun(threads: ThreadPoolExecutor) -> None:
    def half() -> Iterator[bytes]:
        yield b"one,"
        raise RuntimeError("the database has gone")

    served = behind(lambda environ: StreamingHttpResponse(half()), 1)
    with pytest.raises(RuntimeError, match="the database has gone"):
        threads.submit(ask, served).result(30)
    assert threads.submit(ask, behind(lambda environ: HttpResponse("ok"), 1)).result(30).body


def test_who_reads_slowly_takes_no_seat(threads: ThreadPoolExecutor) -> None:
    """A file of known length is sent when the seat is free again."""

    def site(environ: dict[str, Any]) -> Any:
        if environ["CONTENT_LENGTH"] == "0":
            return HttpResponse("another")
        return StreamingHttpResponse([b"a film"], headers={"Content-Length": "6"})

    served = behind(site, 1)
    environ = {"CONTENT_LENGTH": "1", "wsgi.input": io.BytesIO(b"x")}
    film = threads.submit(served, environ, lambda *said: None).result(30)
    assert threads.submit(ask, served).result(30).body == b"another"
    assert b"".join(film) == b"a film"
