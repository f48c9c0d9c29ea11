"""One HTTP request to a checked address, without redirects, within limits."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.ssl_match_hostname import CertificateError

from . import addresses
from .addresses import AddressNotAllowed, AddressNotFound, InvalidUrl, Target

TIMEOUT_SECONDS = 10.0  # for the whole request
MAX_ANSWER_BYTES = 64 * 1024


@dataclass(frozen=True)
class Answer:
    """Outcome of a request.

    ``status`` is None where there was no answer; ``error`` then says why: url, not_found,
    not_allowed, certificate, timeout or connection. ``error`` is "rejected" where the answer of a
    chat says so in its body.
    """

    status: int | None
    text: str
    seconds: float
    error: str = ""

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300 and not self.error


class _AbortableConnection(HTTPConnection):
    """A connection that another thread can end in any phase.

    A timeout of the socket alone would start again with each byte of a slow server.
    """

    _second_handle: socket.socket | None = None

    def _new_conn(self) -> socket.socket:
        new_socket = super()._new_conn()
        self._second_handle = new_socket.dup()  # TLS takes the first one over
        return new_socket

    def abort(self) -> None:
        if self._second_handle is not None:
            with suppress(OSError):
                self._second_handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        super().close()
        if self._second_handle is not None:
            self._second_handle.close()
            self._second_handle = None


class _AbortableTlsConnection(_AbortableConnection, HTTPSConnection):
    pass


@dataclass(frozen=True)
class Response:
    """Status, headers (names in lower case) and body of a response.

    ``status`` is None where there was none; ``error`` is that of `Answer`, or too_large for a body
    that is cut at the allowed number of bytes.
    """

    status: int | None
    headers: Mapping[str, str]
    content: bytes
    error: str = ""


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Send a POST request and return the outcome; never raises for what the other side does."""
    started = time.monotonic()
    try:
        target = addresses.parse_url(url)
        address = addresses.resolve_host(target)
    except InvalidUrl:
        return Answer(None, "", time.monotonic() - started, "url")
    except AddressNotFound:
        return Answer(None, "", time.monotonic() - started, "not_found")
    except AddressNotAllowed:
        return Answer(None, "", time.monotonic() - started, "not_allowed")
    response = send("POST", target, address, body=body, headers=headers)
    if response.status is None:
        return Answer(None, "", time.monotonic() - started, response.error)
    text = response.content.decode("utf-8", "replace").replace("\0", "\ufffd")
    return Answer(response.status, text, time.monotonic() - started)


def send(
    method: str,
    target: Target,
    address: str,
    *,
    body: bytes | None,
    headers: Mapping[str, str],
    seconds: float | None = None,
    max_bytes: int = MAX_ANSWER_BYTES,
) -> Response:
    """Send one request to an IP address, which the caller has checked; follow no redirect.

    ``seconds``: limit of the whole request, TIMEOUT_SECONDS if None. Never raises for what the
    other side does.
    """
    seconds = TIMEOUT_SECONDS if seconds is None else seconds
    connection = _build_connection(target, address, seconds)
    has_timed_out = threading.Event()

    def abort() -> None:
        has_timed_out.set()
        connection.abort()

    timer = threading.Timer(seconds, abort)
    timer.daemon = True
    timer.start()
    try:
        connection.request(
            method,
            target.path,
            body=body,
            headers={**headers, "Host": target.host_header},
            preload_content=False,
            decode_content=False,
        )
        response = _read_response(connection, max_bytes)
        return Response(None, {}, b"", "timeout") if has_timed_out.is_set() else response
    except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError) as error:
        kind = "timeout" if has_timed_out.is_set() else _classify_error(error)
        return Response(None, {}, b"", kind)
    finally:
        timer.cancel()
        connection.close()


def _read_response(connection: _AbortableConnection, max_bytes: int) -> Response:
    response = connection.getresponse()
    content = response.read(max_bytes)
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(
        response.status, headers, content, "too_large" if len(content) == max_bytes else ""
    )


def _build_connection(target: Target, address: str, seconds: float) -> _AbortableConnection:
    if not target.is_https:
        return _AbortableConnection(address, target.port, timeout=seconds)
    options: dict[str, Any] = {
        "ssl_context": ssl.create_default_context(),
        # The certificate must be that of the name.
        "server_hostname": target.host,
        "assert_hostname": target.host,
    }
    return _AbortableTlsConnection(address, target.port, timeout=seconds, **options)


def _classify_error(error: Exception) -> str:
    """Return the `Answer.error` of an exception: certificate, timeout or connection."""
    if isinstance(error, urllib3.exceptions.SSLError | ssl.SSLError | CertificateError):
        return "certificate"
    if isinstance(error, urllib3.exceptions.NewConnectionError):  # it counts as a timeout, too
        return "connection"
    if isinstance(error, urllib3.exceptions.TimeoutError | TimeoutError):
        return "timeout"
    return "connection"
