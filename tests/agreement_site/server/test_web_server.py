"""Tests of the web server without a proxy: slow, large, unusual and broken requests, and its stop."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.agreement_site.server.conftest import (
    BASE_DIR,
    TIMEOUT_SECONDS,
    ServicesInstallation,
    wait_for,
)

pytestmark = pytest.mark.services

# CSRF token in cookie and form: with it, Django reads the form of any visitor.
CSRF_TOKEN = "c" * 32


class WebServerClient:
    """A client of an installation that has a project."""

    def __init__(self, installation: ServicesInstallation) -> None:
        self.installation = installation
        self.token = self.run_command("create_token", "lead").strip()
        categories = [{"label": "a"}, {"label": "b"}]
        question = {"key": "q", "text": "?", "scale": "nominal", "categories": categories}
        project = self.call_api(
            "POST", "/api/v1/projects/", {"name": "Web", "questions": [question]}
        )
        self.project_path = f"/api/v1/projects/{project['id']}"
        self.call_api("POST", f"{self.project_path}/items/", [{"key": "i", "body": {"text": "i"}}])
        self.call_api("POST", f"{self.project_path}/raters/", [{"key": "r"}])

    def run_command(self, *arguments: str) -> str:
        """Run a management command and return its output."""
        command = [sys.executable, "manage.py", *arguments]
        environment = build_environment(self.installation)
        process = subprocess.run(
            command, env=environment, cwd=BASE_DIR, capture_output=True, text=True, check=True
        )
        return process.stdout

    def call_api(self, method: str, path: str, body: Any = None) -> Any:
        """Return the API's response as data, on a new connection."""
        client = http.client.HTTPConnection(
            "127.0.0.1", self.installation.port, timeout=TIMEOUT_SECONDS
        )
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        client.request(method, path, json.dumps(body), headers)
        response = client.getresponse()
        content = json.loads(response.read())
        client.close()
        assert response.status < 300, content
        return content

    def post_rating(self, label: str) -> Any:
        return self.call_api(
            "POST", f"{self.project_path}/ratings/", {"item": "i", "rater": "r", "label": label}
        )

    def connect(self) -> socket.socket:
        return socket.create_connection(
            ("127.0.0.1", self.installation.port), timeout=TIMEOUT_SECONDS
        )

    def send_bytes(self, request: bytes) -> http.client.HTTPResponse:
        """Send these bytes and return the head of the response."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_response(connection)

    def build_form_head(self, length: int, path: str = "/sign-in/") -> bytes:
        """Return the head of a form that any visitor may send and that its page reads."""
        return build_head(
            "POST",
            path,
            f"Cookie: csrftoken={CSRF_TOKEN}",
            "Content-Type: application/x-www-form-urlencoded",
            f"Content-Length: {length}",
        )

    def build_rating_request(self) -> tuple[bytes, bytes]:
        """Return head and body of a rating."""
        body = json.dumps({"item": "i", "rater": "r", "label": "b"}).encode()
        lines = (f"Authorization: Bearer {self.token}", "Content-Type: application/json")
        path = f"{self.project_path}/ratings/"
        return build_head("POST", path, *lines, f"Content-Length: {len(body)}"), body


def build_environment(installation: ServicesInstallation) -> dict[str, str]:
    return {**installation.build_environment(), "DJANGO_SETTINGS_MODULE": "agreement_site.settings"}


def build_head(method: str, path: str, *lines: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def read_response(connection: socket.socket, method: str = "GET") -> http.client.HTTPResponse:
    response = http.client.HTTPResponse(connection, method=method)
    response.begin()
    return response


@pytest.fixture(scope="module")
def server(new_installation: Callable[[], ServicesInstallation]) -> WebServerClient:
    """Return a client of a running installation, which the tests of the module share."""
    installation = new_installation()
    installation.copy_database()
    installation.start()
    return WebServerClient(installation)


# --- incomplete requests


@contextlib.contextmanager
def open_connections(server: WebServerClient, n_connections: int, request: bytes) -> Iterator[None]:
    """Keep this number of connections open, each with the same incomplete request."""
    with contextlib.ExitStack() as connections:
        for _ in range(n_connections):
            connection = connections.enter_context(server.connect())
            connection.sendall(request)
        yield


def assert_other_requests_succeed(server: WebServerClient) -> None:
    """Send several requests, because either process may accept one; each has a time limit."""
    for label in ("a", "b") * 4:
        assert server.installation.get_status() == 200
        server.post_rating(label)


@pytest.mark.parametrize("number", [48, 200])
def test_incomplete_heads_do_not_block_others(server: WebServerClient, number: int) -> None:
    with open_connections(server, number, b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: "):
        assert_other_requests_succeed(server)


def test_incomplete_forms_do_not_block_others(server: WebServerClient) -> None:
    with open_connections(server, 200, server.build_form_head(100) + b"username="):
        assert_other_requests_succeed(server)


def test_incomplete_ratings_do_not_block_others(server: WebServerClient) -> None:
    head_bytes, body = server.build_rating_request()
    with open_connections(server, 200, head_bytes + body[:5]):
        assert_other_requests_succeed(server)


def test_incomplete_large_forms_do_not_block_others(server: WebServerClient) -> None:
    with open_connections(server, 200, server.build_form_head(5_000_000) + b"username="):
        assert_other_requests_succeed(server)


def test_silent_connections_do_not_block_others(server: WebServerClient) -> None:
    with open_connections(server, 200, b""):
        assert_other_requests_succeed(server)


def test_incomplete_rating_is_not_stored(server: WebServerClient) -> None:
    server.post_rating("a")
    head_bytes, body = server.build_rating_request()
    with server.connect() as connection:
        connection.sendall(head_bytes + body[:-1])
        connection.shutdown(socket.SHUT_WR)
        assert read_response(connection).status == 400
    rows = server.call_api("GET", f"{server.project_path}/ratings/")["results"]
    assert [row["label"] for row in rows] == ["a"]


def test_disconnecting_clients_log_no_error(server: WebServerClient) -> None:
    output_length = len(server.installation.read_output())
    head_bytes, body = server.build_rating_request()
    for request in (
        build_head("GET", "/healthz"),
        head_bytes + body,
        head_bytes + body[:5],
        b"GET /",
    ):
        for _ in range(10):
            with server.connect() as connection:
                connection.sendall(request)
    assert_other_requests_succeed(server)
    output = server.installation.read_output()[output_length:]
    assert "ERROR" not in output and "Traceback" not in output, output


# --- HTTP features


@pytest.mark.parametrize(
    ("path", "status"), [("/sign-in/", 413), ("/projects/1/data/media/", 302), ("/nowhere/", 404)]
)
def test_large_body_of_an_anonymous_user_is_rejected_early(
    server: WebServerClient, path: str, status: int
) -> None:
    assert server.send_bytes(server.build_form_head(10**12, path)).status == status


def test_expect_continue_is_accepted(server: WebServerClient) -> None:
    head_bytes, body = server.build_rating_request()
    with server.connect() as connection:
        connection.sendall(head_bytes.replace(b"Host:", b"Expect: 100-continue\r\nHost:"))
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert read_response(connection).status == 200


def test_expect_continue_is_rejected_for_a_large_body(server: WebServerClient) -> None:
    head_bytes = server.build_form_head(10**12)
    response = server.send_bytes(head_bytes.replace(b"Host:", b"Expect: 100-continue\r\nHost:"))
    assert response.status == 413


def test_request_of_megabytes_is_accepted(server: WebServerClient) -> None:
    rows = [{"key": f"large {number}", "body": {"text": "x" * 200}} for number in range(10_000)]
    assert len(json.dumps(rows)) > 2_000_000
    assert server.call_api("POST", f"{server.project_path}/items/", rows)["created"] == 10_000


def test_chunked_body_is_treated_as_empty(server: WebServerClient) -> None:
    """Django does so as well; the next request must not begin in the middle of the body."""
    lines = (f"Authorization: Bearer {server.token}", "Content-Type: application/json")
    chunked = build_head(
        "POST", f"{server.project_path}/ratings/", *lines, "Transfer-Encoding: chunked"
    )
    with server.connect() as connection:
        connection.sendall(chunked + b"5\r\n[1,2]\r\n0\r\n\r\n")
        assert read_response(connection).status == 400
    assert server.installation.get_status() == 200


def test_conflicting_lengths_are_rejected(server: WebServerClient) -> None:
    """A proxy might rely on the other length."""
    lines = ("Transfer-Encoding: chunked", "Content-Length: 4")
    with server.connect() as connection:
        smuggled = build_head("GET", "/healthz")
        connection.sendall(build_head("POST", "/sign-in/", *lines) + b"0\r\n\r\n" + smuggled)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.count(b"HTTP/1.1 ") <= 1


def test_head_response_has_no_body(server: WebServerClient) -> None:
    """The log contains no warning about it."""
    output_length = len(server.installation.read_output())
    with server.connect() as connection:
        connection.sendall(
            build_head("HEAD", "/sign-in/") + build_head("GET", "/healthz", "Connection: close")
        )
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    first, second = received.split(b"\r\n\r\n", 1)
    assert first.startswith(b"HTTP/1.1 200 ")
    assert second.startswith(b"HTTP/1.1 200 ")
    assert b'"status": "ok"' in second
    assert '"level": "WARNING"' not in server.installation.read_output()[output_length:]


def test_too_large_headers_are_rejected(server: WebServerClient) -> None:
    response = server.send_bytes(build_head("GET", "/healthz", f"X-Large: {'x' * 500_000}"))
    assert response.status == 431


def test_long_address_is_accepted(server: WebServerClient) -> None:
    response = server.send_bytes(build_head("GET", f"/healthz?{'x' * 6000}"))
    assert response.status == 200


def test_static_files_may_be_cached(server: WebServerClient) -> None:
    with server.connect() as connection:
        connection.sendall(build_head("GET", "/static/js/site.js"))
        response = read_response(connection)
        assert response.read() == (BASE_DIR / "static" / "js" / "site.js").read_bytes()
    assert response.headers["Content-Type"].startswith("text/javascript")
    assert "max-age" in response.headers["Cache-Control"]


def test_export_is_sent_completely(server: WebServerClient) -> None:
    rows = server.call_api("GET", f"{server.project_path}/ratings/")["results"]
    session = server.run_command("shell", "--verbosity", "0", "-c", SESSION_SCRIPT).strip()
    project_id = server.project_path.rpartition("/")[2]
    with server.connect() as connection:
        path = f"/projects/{project_id}/data/export.csv"
        connection.sendall(build_head("GET", path, f"Cookie: sessionid={session}"))
        response = read_response(connection)
        lines = response.read().splitlines()
    assert response.status == 200
    assert response.headers["Content-Length"]
    assert len(lines) == 1 + len(rows)


SESSION_SCRIPT = """
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.conf import settings
user, session = User.objects.get(username="lead"), SessionStore()
session[SESSION_KEY] = str(user.pk)
session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
session[HASH_SESSION_KEY] = user.get_session_auth_hash()
session.create()
print(session.session_key)
"""


def test_deeply_nested_body_is_rejected(server: WebServerClient) -> None:
    body = b"[" * 500_000
    head_start = server.build_rating_request()[0].split(b"Content-Length")[0]
    response = server.send_bytes(
        head_start + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    )
    assert response.status == 400
    assert server.installation.get_status() == 200


def test_wrong_passwords_are_counted_for_their_address(server: WebServerClient) -> None:
    form = f"csrfmiddlewaretoken={CSRF_TOKEN}&username=lead&password=wrong".encode()
    assert server.send_bytes(server.build_form_head(len(form)) + form).status < 500
    key = hashlib.sha256(b"address\x00127.0.0.1").hexdigest()
    with contextlib.closing(open_database(server.installation)) as connection:
        cursor = connection.execute("SELECT 1 FROM agreement_site_signintries WHERE key = ?", [key])
        assert cursor.fetchone()


def open_database(installation: ServicesInstallation) -> sqlite3.Connection:
    file = installation.data_dir / "concord.sqlite3"
    return sqlite3.connect(file, isolation_level=None, timeout=TIMEOUT_SECONDS)


def test_second_server_on_the_port_is_rejected(server: WebServerClient) -> None:
    command = [sys.executable, "-m", "agreement_site.server.web_server"]
    environment = build_environment(server.installation)
    process = subprocess.run(
        command, env=environment, cwd=BASE_DIR, capture_output=True, text=True, check=False
    )
    assert process.returncode == 1
    assert f"cannot listen on 127.0.0.1, port {server.installation.port}" in process.stderr


# --- deployment settings


def test_server_behind_a_proxy_with_one_slot(
    new_installation: Callable[[], ServicesInstallation],
) -> None:
    """The proxy's headers are trusted, and clients with kept-alive connections take turns."""
    installation = new_installation()
    installation.extra_environment = {"WEB_PROCESSES": "1", "WEB_THREADS": "1", "HOST": "localhost"}
    installation.extra_environment |= {"HTTPS": "1", "BEHIND_PROXY": "1"}
    installation.copy_database()
    installation.start()
    assert len(installation.find_pids("web_server")) == 2  # the parent and one process
    secure_headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
    clients = [
        http.client.HTTPConnection("127.0.0.1", installation.port, timeout=TIMEOUT_SECONDS)
        for _ in range(3)
    ]
    for client in clients:
        client.connect()
    sockets = [client.sock for client in clients]
    for headers, expected in ((secure_headers, 200), ({}, 301), (secure_headers, 200)):
        for client in clients:
            client.request("GET", "/sign-in/", headers=headers)
        for client in clients:
            response = client.getresponse()
            response.read()
            assert response.status == expected
    assert [client.sock for client in clients] == sockets
    for client in clients:
        client.close()


def test_public_site_requires_https(
    new_installation: Callable[[], ServicesInstallation],
) -> None:
    """From the first page to the change of the first password, on a site with HTTPS=1."""
    installation = new_installation()
    installation.extra_environment = {
        "HTTPS": "1",
        "BEHIND_PROXY": "1",
        "ALLOWED_HOSTS": "concord.example.org",
    }
    installation.copy_database()
    installation.start()
    cookies: dict[str, str] = {}

    def send_request(method: str, path: str, form: str = "", *, scheme: str = "https") -> Any:
        headers = {"Host": "concord.example.org", "X-Forwarded-Proto": scheme}
        headers |= {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        headers |= {"Origin": "https://concord.example.org"} if method == "POST" else {}
        headers |= {"Content-Type": "application/x-www-form-urlencoded"}
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", installation.port, timeout=TIMEOUT_SECONDS)
        ) as client:
            client.request(method, path, form, headers)
            response: Any = client.getresponse()
            response.text = response.read().decode()
        for line in response.headers.get_all("Set-Cookie") or ():
            name, _equals, attributes = line.partition("=")
            cookies[name] = attributes.partition(";")[0]
            assert name.startswith("__Host-"), line
            assert {"Secure", "SameSite=Lax"} <= set(attributes.split("; ")), line
        return response

    http_response = send_request("GET", "/sign-in/", scheme="http")
    assert http_response.status == 301
    assert http_response.headers["Location"] == "https://concord.example.org/sign-in/"
    assert send_request("GET", "/api/v1/projects/", scheme="http").status == 403
    page = send_request("GET", "/sign-in/")
    assert page.status == 200
    assert page.headers["Strict-Transport-Security"].startswith("max-age=31536000")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token
    password = (installation.data_dir / "sign-in.txt").read_text().strip()
    credentials = {"csrfmiddlewaretoken": token[1], "username": "lead", "password": password}
    signed_in = send_request("POST", "/sign-in/", urlencode(credentials))
    assert signed_in.status == 302, signed_in.text
    assert "__Host-sessionid" in cookies
    assert (
        send_request("GET", "/").headers["Location"] == "/password/"
    )  # the first password must be changed
    assert send_request("GET", "/password/").status == 200
    assert '"level": "ERROR"' not in installation.read_output()


# --- stopping


def test_running_requests_are_completed_when_the_server_stops(server: WebServerClient) -> None:
    """This is the last test of the shared server, because it ends it.

    One rating waits for the database, the last byte of another is missing, and some requests will
    never be complete.
    """
    installation = server.installation
    server.post_rating("a")
    head_bytes, body = server.build_rating_request()
    with contextlib.ExitStack() as resources:
        resources.enter_context(open_connections(server, 5, b"GET / HTTP/1.1\r\n"))
        resources.enter_context(open_connections(server, 5, server.build_form_head(100)))
        waiting_connection = resources.enter_context(server.connect())
        late_connection = resources.enter_context(server.connect())
        lock_holder = resources.enter_context(contextlib.closing(open_database(installation)))
        lock_holder.execute("BEGIN IMMEDIATE")
        waiting_connection.sendall(head_bytes + body)
        late_connection.sendall(head_bytes + body[:-1])
        time.sleep(0.5)  # both have been accepted
        assert installation.process is not None
        installation.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not is_accepting_connections(installation), "the end of listening")
        lock_holder.execute("ROLLBACK")
        assert read_response(waiting_connection).status == 200
        late_connection.sendall(body[-1:])
        assert read_response(late_connection).status == 200
        assert installation.process.wait(timeout=60) == 0
    assert installation.list_processes() == {}
    with contextlib.closing(open_database(installation)) as connection:
        query = "SELECT code FROM ratings_rating"
        assert connection.execute(query).fetchall() == [(1,)]


def is_accepting_connections(installation: ServicesInstallation) -> bool:
    try:
        socket.create_connection(("127.0.0.1", installation.port), timeout=1).close()
    except OSError:
        return False
    return True
