"""A light HTTP client for measuring servers: kept-alive sockets in one process and one loop,
nothing parsed twice.

It must cost far less than the server under test, for both share the machine: what it took itself is
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

PATIENCE = 60.0  # seconds for an answer


@dataclass
class Answer:
    status: int
    body: bytes
    seconds: float


@dataclass
class Result:
    """What a load did. ``acknowledged`` are the marks of the requests that were answered 2xx."""

    seconds: float = 0.0
    own_cpu: float = 0.0
    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    reconnects: int = 0
    acknowledged: list[Any] = field(default_factory=list)
    unknown: list[Any] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """Milliseconds within which this share of the requests was answered."""
        ordered = sorted(self.times)
        return (
            1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]
            if ordered
            else float("nan")
        )


@dataclass
class Target:
    """Where to send, and the headers that each request carries."""

    host: str
    port: int
    headers: dict[str, str]

    def request(self, method: str, path: str, body: bytes = b"", **more: str) -> bytes:
        headers = {"Host": f"{self.host}:{self.port}", **self.headers, **more}
        if body:
            headers.setdefault("Content-Type", "application/json")
        if method != "GET":
            headers["Content-Length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body

    def connect(self) -> socket.socket:
        connection = socket.create_connection((self.host, self.port), timeout=PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def call(self, method: str, path: str, body: Any = None, **more: str) -> Answer:
        """One request on a connection of its own; the whole answer."""
        data = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        with self.connect() as connection:
            started = time.perf_counter()
            connection.sendall(self.request(method, path, data, Connection="close", **more))
            received = bytearray()
            while (answer := complete(received, closed=False)) is None:
                piece = connection.recv(1 << 18)
                if not piece:
                    answer = complete(received, closed=True)
                    break
                received += piece
            seconds = time.perf_counter() - started
        if answer is None:
            raise ConnectionError(f"{method} {path}: the answer ended early")
        return Answer(*answer, seconds)

    def drain(self, path: str, **more: str) -> tuple[int, int, float]:
        """(status, bytes, seconds) of a GET whose answer is not kept."""
        with self.connect() as connection:
            started = time.perf_counter()
            connection.sendall(self.request("GET", path, b"", Connection="close", **more))
            first = connection.recv(1 << 18)
            size = len(first)
            while piece := connection.recv(1 << 18):
                size += len(piece)
            return int(first[9:12]), size, time.perf_counter() - started


def complete(received: bytearray, *, closed: bool) -> tuple[int, bytes] | None:
    """(status, body) when the whole answer is there."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    head = bytes(received[:end]).lower()
    body = end + 4
    status = int(head[9:12])
    place = head.find(b"content-length:")
    if place >= 0:
        length = int(head[place + 15 :].split(b"\r\n", 1)[0])
        return (
            (status, bytes(received[body : body + length]))
            if len(received) >= body + length
            else None
        )
    if b"transfer-encoding: chunked" in head:
        return (status, bytes(received[body:])) if received.endswith(b"0\r\n\r\n") else None
    return (status, bytes(received[body:])) if closed or status == 204 else None


class _Connection:
    def __init__(self, target: Target, requests: Iterator[tuple[bytes, Any]]) -> None:
        self.target = target
        self.requests = requests
        self.socket = target.connect()
        self.received = bytearray()
        self.request = b""
        self.mark: Any = None
        self.sent = 0.0
        self.again = False

    def send(self, *, again: bool = False) -> bool:
        """The next request, or the same ``again``; False when there is none."""
        if not again:
            following = next(self.requests, None)
            if following is None:
                return False
            self.request, self.mark = following
            self.sent = time.perf_counter()
        self.again = again
        self.received.clear()
        self.socket.sendall(self.request)
        return True


def run(
    target: Target, clients: Sequence[Iterator[tuple[bytes, Any]]], *, seconds: float
) -> Result:
    """Each client sends its requests (bytes, mark) one after the other, until the time is over.

    A kept-alive connection that the server closes without a byte of an answer is opened again and
    the request sent once more, as every HTTP client does; this is counted.
    """
    result = Result()
    selector = selectors.DefaultSelector()
    cpu = time.process_time()
    started = time.perf_counter()
    for requests in clients:
        connection = _Connection(target, requests)
        if connection.send():
            selector.register(connection.socket, selectors.EVENT_READ, connection)
    while selector.get_map():
        ready = selector.select(timeout=PATIENCE)
        if not ready:
            result.errors.append(
                f"{len(selector.get_map())} requests without an answer in {PATIENCE:.0f} s"
            )
            result.unknown += [key.data.mark for key in selector.get_map().values()]
            break
        for key, _events in ready:
            _step(key.data, selector, result, over=time.perf_counter() - started >= seconds)
    result.seconds = time.perf_counter() - started
    result.own_cpu = time.process_time() - cpu
    return result


def _step(
    connection: _Connection, selector: selectors.BaseSelector, result: Result, *, over: bool
) -> None:
    try:
        piece = connection.socket.recv(1 << 16)
    except OSError:
        piece = b""
    connection.received += piece
    answer = complete(connection.received, closed=not piece)
    if answer is None and piece:
        return
    if answer is None:
        _reopen(connection, selector, result)
        return
    status, body = answer
    result.times.append(time.perf_counter() - connection.sent)
    if 200 <= status < 300:
        result.acknowledged.append(connection.mark)
    else:
        result.errors.append(f"{status} {body[:300].decode(errors='replace')}")
        if status >= 500:
            result.unknown.append(connection.mark)
    if b"connection: close" in bytes(connection.received[:600]).lower():
        _replace(connection, selector)
    with contextlib.suppress(OSError):  # the next reading finds it closed, and opens it again
        if over or not connection.send():
            selector.unregister(connection.socket)
            connection.socket.close()


def _reopen(connection: _Connection, selector: selectors.BaseSelector, result: Result) -> None:
    if connection.again or connection.received:
        result.errors.append("the connection was closed without an answer")
        result.unknown.append(connection.mark)
        selector.unregister(connection.socket)
        connection.socket.close()
        return
    result.reconnects += 1
    _replace(connection, selector)
    connection.send(again=True)


def _replace(connection: _Connection, selector: selectors.BaseSelector) -> None:
    selector.unregister(connection.socket)
    connection.socket.close()
    connection.socket = connection.target.connect()
    selector.register(connection.socket, selectors.EVENT_READ, connection)
