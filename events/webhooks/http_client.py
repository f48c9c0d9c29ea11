"""One HTTP request to a checked address, without redirects, within limits.

The server calls public addresses only, unless a setting allows private networks. A name is
resolved once for each request. Every address that it resolves to must be allowed, and the request
connects to one of these, whatever the name resolves to afterwards.
"""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import urllib3
from django.conf import settings
from django.utils.translation import gettext as _
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.ssl_match_hostname import CertificateError

MAX_URL_LENGTH = 500
URL_CHARACTERS = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
# Global unicast addresses (RFC 4291). Outside are the mapped, compatible and translated forms of
# IPv4 addresses; inside are two further ones, 6to4 and Teredo.
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")


class InvalidUrl(ValueError):
    """The URL must not be requested; the message says why."""


class AddressNotFound(Exception):
    """The host name has no IP address."""


class AddressNotAllowed(Exception):
    """The host's address is in a private network, or may lead to one."""


@dataclass(frozen=True)
class Target:
    """Parts of a URL. ``path`` includes the query, ``host_header`` the port if the URL has one."""

    is_https: bool
    host: str
    port: int
    path: str
    host_header: str


def parse_url(url: str, *, allows_private: bool | None = None) -> Target:
    """Return the parts of a well-formed URL. Raises InvalidUrl for any other.

    The address of the host is not checked here, but by ``resolve_host``. ``allows_private``:
    whether http:// is allowed, too; None: as the setting WEBHOOKS_TO_PRIVATE_NETWORKS says.
    """
    if len(url) > MAX_URL_LENGTH or not URL_CHARACTERS.fullmatch(url):
        raise InvalidUrl(
            _("At most %(n)s characters, no spaces or accents.") % {"n": MAX_URL_LENGTH}
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidUrl(_("Enter a valid address.")) from None
    schemes = ("https", "http") if _resolve_permission(allows_private) else ("https",)
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in schemes or not host or port == 0:
        raise InvalidUrl(_("Start the address with https:// and a host."))
    if "@" in parts.netloc or parts.fragment:
        raise InvalidUrl(_("Remove username, password and fragment (#)."))
    is_https = parts.scheme == "https"
    query = f"?{parts.query}" if parts.query else ""
    return Target(
        is_https=is_https,
        host=host,
        port=port or (443 if is_https else 80),
        path=f"{parts.path or '/'}{query}",
        host_header=parts.netloc,
    )


def resolve_host(target: Target, *, allows_private: bool | None = None) -> str:
    """Check all IP addresses of the host, and return the first of them.

    ``allows_private``: whether private networks are allowed; None: as for ``parse_url``. Raises
    AddressNotFound if there is no address, AddressNotAllowed if one of them is not allowed.
    """
    try:
        rows = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressNotFound(target.host) from None
    addresses = [str(row[4][0]) for row in rows]
    if not _resolve_permission(allows_private):
        for address in addresses:
            if not is_public(address):
                raise AddressNotAllowed(address)
    return addresses[0]


def _resolve_permission(allows_private: bool | None) -> bool:
    return settings.WEBHOOKS_TO_PRIVATE_NETWORKS if allows_private is None else allows_private


def is_public(address: str) -> bool:
    """Return whether an IP address is a public unicast address and no tunnel to an IPv4 address."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and (
        ip not in GLOBAL_UNICAST or ip.sixtofour or ip.teredo
    ):
        return False
    return ip.is_global and not ip.is_multicast


def validate_url(url: str) -> None:
    """Raise InvalidUrl for a URL that is malformed or leads to a network that is not allowed.

    A host without an address at the moment is accepted: each request resolves it again.
    """
    target = parse_url(url)
    try:
        resolve_host(target)
    except AddressNotAllowed:
        raise InvalidUrl(_("The host is in a private network.")) from None
    except AddressNotFound:
        return


TIMEOUT_SECONDS = 10.0  # for the whole request
MAX_ANSWER_BYTES = 64 * 1024


@dataclass(frozen=True)
class Answer:
    """Outcome of a request.

    ``status`` is None if no response was received; ``error`` then says why: url, not_found,
    not_allowed, certificate, timeout or connection. ``error`` is "rejected" if a chat rejects the
    message in the body of a successful response.
    """

    status: int | None
    text: str
    seconds: float
    error: str = ""

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300 and not self.error


class _AbortableConnection(HTTPConnection):
    """A connection that another thread can end in any phase (``abort``).

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

    ``status`` is None if none was received. ``error``: as in `Answer`, or too_large if the body was
    cut at the allowed number of bytes.
    """

    status: int | None
    headers: Mapping[str, str]
    content: bytes
    error: str = ""


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Send a POST request and return its outcome; connection and server errors do not raise."""
    started = time.monotonic()
    try:
        target = parse_url(url)
        address = resolve_host(target)
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
    """Send one request to an IP address, which the caller has checked, and follow no redirect.

    ``seconds``: limit of the whole request, TIMEOUT_SECONDS if None; ``max_bytes``: bytes of the
    body to read at most. Connection and server errors do not raise: they are in the returned
    Response.
    """
    seconds = TIMEOUT_SECONDS if seconds is None else seconds
    connection = _build_connection(target, address, seconds)
    timer, has_timed_out = _start_timer(connection, seconds)
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


def _start_timer(
    connection: _AbortableConnection, seconds: float
) -> tuple[threading.Timer, threading.Event]:
    """Start a timer that aborts the connection; return it, and the event that it sets then."""
    has_timed_out = threading.Event()

    def abort() -> None:
        has_timed_out.set()
        connection.abort()

    timer = threading.Timer(seconds, abort)
    timer.daemon = True
    timer.start()
    return timer, has_timed_out


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
