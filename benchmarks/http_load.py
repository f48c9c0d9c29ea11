"""A light HTTP client for measuring servers: kept-alive sockets in one process and one loop.

It must cost far less than the server under test, which shares the machine; its own CPU time is
in the result. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

TIMEOUT_SECONDS = 60.0  # seconds to wait for a response


@dataclass
class HttpResponse:
    status: int
    body: bytes
    seconds: float


@dataclass
class LoadResult:
    """Result of a load. ``acknowledged`` are the marks of the requests with a 2xx response."""

    seconds: float = 0.0
    own_cpu: float = 0.0
    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    reconnects: int = 0
    acknowledged: list[Any] = field(default_factory=list)
    unknown: list[Any] = field(default_factory=list)

    def get_percentile(self, share: float) -> float:
        """Return the milliseconds within which this share of the requests was answered."""
        ordered = sorted(self.times)
        return (
            1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]
            if ordered
            else float("nan")
        )


@dataclass
class Target:
    """A server, and the headers of each request to it."""

    host: str
    port: int
    headers: dict[str, str]

    def build_request(
        self, method: str, path: str, body: bytes = b"", **extra_headers: str
    ) -> bytes:
        headers = {"Host": f"{self.host}:{self.port}", **self.headers, **extra_headers}
        if body:
            headers.setdefault("Content-Type", "application/json")
        if method != "GET":
            headers["Content-Length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body

    def connect(self) -> socket.socket:
        connection = socket.create_connection((self.host, self.port), timeout=TIMEOUT_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def call(self, method: str, path: str, body: Any = None, **extra_headers: str) -> HttpResponse:
        """Send one request on a connection of its own; return the complete response.

        Raises ConnectionError if the response ends early.
        """
        data = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        with self.connect() as connection:
            started = time.perf_counter()
            connection.sendall(
                self.build_request(method, path, data, Connection="close", **extra_headers)
            )
            received = bytearray()
            while (response := parse_response(received, closed=False)) is None:
                chunk = connection.recv(1 << 18)
                if not chunk:
                    response = parse_response(received, closed=True)
                    break
                received += chunk
            seconds = time.perf_counter() - started
        if response is None:
            raise ConnectionError(f"{method} {path}: the answer ended early")
        return HttpResponse(*response, seconds)

    def drain(self, path: str, **extra_headers: str) -> tuple[int, int, float]:
        """Return (status, bytes, seconds) of a GET whose body is discarded."""
        with self.connect() as connection:
            started = time.perf_counter()
            connection.sendall(
                self.build_request("GET", path, b"", Connection="close", **extra_headers)
            )
            first_chunk = connection.recv(1 << 18)
            size = len(first_chunk)
            while chunk := connection.recv(1 << 18):
                size += len(chunk)
            return int(first_chunk[9:12]), size, time.perf_counter() - started


def parse_response(received: bytearray, *, closed: bool) -> tuple[int, bytes] | None:
    """Return (status, body) of a complete response; None while it is incomplete."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    head = bytes(received[:end]).lower()
    body = end + 4
    status = int(head[9:12])
    length_start = head.find(b"content-length:")
    if length_start >= 0:
        length = int(head[length_start + 15 :].split(b"\r\n", 1)[0])
        return (
            (status, bytes(received[body : body + length]))
            if len(received) >= body + length
            else None
        )
    if b"transfer-encoding: chunked" in head:
        return (status, bytes(received[body:])) if received.endswith(b"0\r\n\r\n") else None
    return (status, bytes(received[body:])) if closed or status == 204 else None


class _ClientConnection:
    def __init__(self, target: Target, requests: Iterator[tuple[bytes, Any]]) -> None:
        self.target = target
        self.requests = requests
        self.socket = target.connect()
        self.received = bytearray()
        self.request = b""
        self.mark: Any = None
        self.sent_at = 0.0
        self.is_retry = False

    def send(self, *, again: bool = False) -> bool:
        """Send the next request, or the same one ``again``; False when there is none."""
        if not again:
            next_request = next(self.requests, None)
            if next_request is None:
                return False
            self.request, self.mark = next_request
            self.sent_at = time.perf_counter()
        self.is_retry = again
        self.received.clear()
        self.socket.sendall(self.request)
        return True


def run_load(
    target: Target, clients: Sequence[Iterator[tuple[bytes, Any]]], *, seconds: float
) -> LoadResult:
    """Let each client send its requests (bytes, mark) one after the other, until the time is over.

    When the server closes a kept-alive connection without a byte of a response, it is reopened and
    the request sent once more, as every HTTP client does; this is counted.
    """
    result = LoadResult()
    selector = selectors.DefaultSelector()
    cpu = time.process_time()
    started = time.perf_counter()
    for requests in clients:
        connection = _ClientConnection(target, requests)
        if connection.send():
            selector.register(connection.socket, selectors.EVENT_READ, connection)
    while selector.get_map():
        ready = selector.select(timeout=TIMEOUT_SECONDS)
        if not ready:
            result.errors.append(
                f"{len(selector.get_map())} requests without an answer in {TIMEOUT_SECONDS:.0f} s"
            )
            result.unknown += [key.data.mark for key in selector.get_map().values()]
            break
        for key, _events in ready:
            _handle_readable(
                key.data, selector, result, over=time.perf_counter() - started >= seconds
            )
    result.seconds = time.perf_counter() - started
    result.own_cpu = time.process_time() - cpu
    return result


def _handle_readable(
    connection: _ClientConnection,
    selector: selectors.BaseSelector,
    result: LoadResult,
    *,
    over: bool,
) -> None:
    try:
        chunk = connection.socket.recv(1 << 16)
    except OSError:
        chunk = b""
    connection.received += chunk
    response = parse_response(connection.received, closed=not chunk)
    if response is None and chunk:
        return
    if response is None:
        _retry(connection, selector, result)
        return
    status, body = response
    result.times.append(time.perf_counter() - connection.sent_at)
    if 200 <= status < 300:
        result.acknowledged.append(connection.mark)
    else:
        result.errors.append(f"{status} {body[:300].decode(errors='replace')}")
        if status >= 500:
            result.unknown.append(connection.mark)
    if b"connection: close" in bytes(connection.received[:600]).lower():
        _reconnect(connection, selector)
    with contextlib.suppress(OSError):  # the next read finds it closed, and reopens it
        if over or not connection.send():
            selector.unregister(connection.socket)
            connection.socket.close()


def _retry(
    connection: _ClientConnection, selector: selectors.BaseSelector, result: LoadResult
) -> None:
    if connection.is_retry or connection.received:
        result.errors.append("the connection was closed without an answer")
        result.unknown.append(connection.mark)
        selector.unregister(connection.socket)
        connection.socket.close()
        return
    result.reconnects += 1
    _reconnect(connection, selector)
    connection.send(again=True)


def _reconnect(connection: _ClientConnection, selector: selectors.BaseSelector) -> None:
    selector.unregister(connection.socket)
    connection.socket.close()
    connection.socket = connection.target.connect()
    selector.register(connection.socket, selectors.EVENT_READ, connection)
