"""The web server without a proxy: slow, large, odd and broken requests, and how it stops."""

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

from tests.agreement_site.server.conftest import BASE_DIR, PATIENCE, Installation, wait_for

pytestmark = pytest.mark.services

COOKIE = "c" * 32  # of both forms of Django's protection: then a form is read by everybody


class Server:
    """An installation with a project, and a client that speaks HTTP to it."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.token = self.manage("create_token", "lead").strip()
        categories = [{"label": "a"}, {"label": "b"}]
        question = {"key": "q", "text": "?", "scale": "nominal", "categories": categories}
        made = self.call("POST", "/api/v1/projects/", {"name": "Web", "questions": [question]})
        self.project = f"/api/v1/projects/{made['id']}"
        self.call("POST", f"{self.project}/items/", [{"key": "i", "body": {"text": "i"}}])
        self.call("POST", f"{self.project}/raters/", [{"key": "r"}])

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        environment = own_settings(self.installation)
        done = subprocess.run(
            command, env=environment, cwd=BASE_DIR, capture_output=True, text=True, check=True
        )
        return done.stdout

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The API's answer, on a connection of its own."""
        client = http.client.HTTPConnection("127.0.0.1", self.installation.port, timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        client.request(method, path, json.dumps(body), headers)
        answer = client.getresponse()
        said = json.loads(answer.read())
        client.close()
        assert answer.status < 300, said
        return said

    def rate(self, label: str) -> Any:
        return self.call(
            "POST", f"{self.project}/ratings/", {"item": "i", "rater": "r", "label": label}
        )

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.installation.port), timeout=PATIENCE)

    def says(self, request: bytes) -> http.client.HTTPResponse:
        """The head of the answer to these bytes."""
        with self.connect() as connection:
            connection.sendall(request)
            return answer_on(connection)

    def form(self, length: int, path: str = "/sign-in/") -> bytes:
        """The head of a form that any stranger may send, and that its page reads."""
        return head(
            "POST",
            path,
            f"Cookie: csrftoken={COOKIE}",
            "Content-Type: application/x-www-form-urlencoded",
            f"Content-Length: {length}",
        )

    def rating(self) -> tuple[bytes, bytes]:
        """Head and body of a rating."""
        body = json.dumps({"item": "i", "rater": "r", "label": "b"}).encode()
        lines = (f"Authorization: Bearer {self.token}", "Content-Type: application/json")
        path = f"{self.project}/ratings/"
        return head("POST", path, *lines, f"Content-Length: {len(body)}"), body


def own_settings(installation: Installation) -> dict[str, str]:
    return {**installation.environment(), "DJANGO_SETTINGS_MODULE": "agreement_site.settings"}


def head(method: str, path: str, *lines: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def answer_on(connection: socket.socket, method: str = "GET") -> http.client.HTTPResponse:
    answer = http.client.HTTPResponse(connection, method=method)
    answer.begin()
    return answer


@pytest.fixture(scope="module")
def server(new_installation: Callable[[], Installation]) -> Server:
    installation = new_installation()
    installation.bring_database()
    installation.start()
    return Server(installation)


# --- requests that are not all there


@contextlib.contextmanager
def held_open(server: Server, number: int, request: bytes) -> Iterator[None]:
    with contextlib.ExitStack() as connections:
        for _ in range(number):
            connection = connections.enter_context(server.connect())
            connection.sendall(request)
        yield


def assert_others_are_answered(server: Server) -> None:
    """Several times, for either process may take a connection; each call has its time limit."""
    for label in ("a", "b") * 4:
        assert server.installation.status() == 200
        server.rate(label)


@pytest.mark.parametrize("number", [48, 200])
def test_half_a_head_silences_nobody(server: Server, number: int) -> None:
    with held_open(server, number, b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: "):
        assert_others_are_answered(server)


def test_half_a_form_silences_nobody(server: Server) -> None:
    with held_open(server, 200, server.form(100) + b"username="):
        assert_others_are_answered(server)


def test_half_a_rating_silences_nobody(server: Server) -> None:
    rating, body = server.rating()
    with held_open(server, 200, rating + body[:5]):
        assert_others_are_answered(server)


def test_half_a_large_form_silences_nobody(server: Server) -> None:
    with held_open(server, 200, server.form(5_000_000) + b"username="):
        assert_others_are_answered(server)


def test_silent_connections_silence_nobody(server: Server) -> None:
    with held_open(server, 200, b""):
        assert_others_are_answered(server)


def test_a_body_that_ends_early_stores_nothing(server: Server) -> None:
    server.rate("a")
    rating, body = server.rating()
    with server.connect() as connection:
        connection.sendall(rating + body[:-1])
        connection.shutdown(socket.SHUT_WR)
        assert answer_on(connection).status == 400
    stored = server.call("GET", f"{server.project}/ratings/")["results"]
    assert [row["label"] for row in stored] == ["a"]


def test_clients_that_go_away_leave_no_error(server: Server) -> None:
    before = len(server.installation.said())
    rating, body = server.rating()
    for request in (head("GET", "/healthz"), rating + body, rating + body[:5], b"GET /"):
        for _ in range(10):
            with server.connect() as connection:
                connection.sendall(request)
    assert_others_are_answered(server)
    said = server.installation.said()[before:]
    assert "ERROR" not in said and "Traceback" not in said, said


# --- what HTTP allows


@pytest.mark.parametrize(
    ("path", "status"), [("/sign-in/", 413), ("/projects/1/data/media/", 302), ("/nowhere/", 404)]
)
def test_a_strangers_large_body_is_refused_before_it_is_sent(
    server: Server, path: str, status: int
) -> None:
    assert server.says(server.form(10**12, path)).status == status


def test_a_client_that_asks_first_is_told_to_go_on(server: Server) -> None:
    rating, body = server.rating()
    with server.connect() as connection:
        connection.sendall(rating.replace(b"Host:", b"Expect: 100-continue\r\nHost:"))
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert answer_on(connection).status == 200


def test_a_client_that_asks_first_is_told_to_stop(server: Server) -> None:
    form = server.form(10**12)
    answer = server.says(form.replace(b"Host:", b"Expect: 100-continue\r\nHost:"))
    assert answer.status == 413


def test_a_request_of_megabytes_is_taken(server: Server) -> None:
    rows = [{"key": f"large {number}", "body": {"text": "x" * 200}} for number in range(10_000)]
    assert len(json.dumps(rows)) > 2_000_000
    assert server.call("POST", f"{server.project}/items/", rows)["created"] == 10_000


def test_a_body_without_its_length_is_taken_for_none(server: Server) -> None:
    """As Django does; what matters is that the next request is not read out of its middle."""
    lines = (f"Authorization: Bearer {server.token}", "Content-Type: application/json")
    chunked = head("POST", f"{server.project}/ratings/", *lines, "Transfer-Encoding: chunked")
    with server.connect() as connection:
        connection.sendall(chunked + b"5\r\n[1,2]\r\n0\r\n\r\n")
        assert answer_on(connection).status == 400
    assert server.installation.status() == 200


def test_two_lengths_are_not_believed(server: Server) -> None:
    """Who stands in front might believe the other one."""
    lines = ("Transfer-Encoding: chunked", "Content-Length: 4")
    with server.connect() as connection:
        smuggled = head("GET", "/healthz")
        connection.sendall(head("POST", "/sign-in/", *lines) + b"0\r\n\r\n" + smuggled)
        answers = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answers.count(b"HTTP/1.1 ") <= 1


def test_a_head_has_no_body(server: Server) -> None:
    """Nor does the log warn of it."""
    before = len(server.installation.said())
    with server.connect() as connection:
        connection.sendall(head("HEAD", "/sign-in/") + head("GET", "/healthz", "Connection: close"))
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    first, second = received.split(b"\r\n\r\n", 1)
    assert first.startswith(b"HTTP/1.1 200 ")
    assert second.startswith(b"HTTP/1.1 200 ")
    assert b'"status": "ok"' in second
    assert '"level": "WARNING"' not in server.installation.said()[before:]


def test_headers_too_large_are_refused(server: Server) -> None:
    answer = server.says(head("GET", "/healthz", f"X-Large: {'x' * 500_000}"))
    assert answer.status == 431


def test_a_long_address_is_taken(server: Server) -> None:
    answer = server.says(head("GET", f"/healthz?{'x' * 6000}"))
    assert answer.status == 200


def test_static_files_may_be_kept(server: Server) -> None:
    with server.connect() as connection:
        connection.sendall(head("GET", "/static/js/site.js"))
        answer = answer_on(connection)
        assert answer.read() == (BASE_DIR / "static" / "js" / "site.js").read_bytes()
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert "max-age" in answer.headers["Cache-Control"]


def test_an_export_is_sent_whole(server: Server) -> None:
    rows = server.call("GET", f"{server.project}/ratings/")["results"]
    session = server.manage("shell", "--verbosity", "0", "-c", SIGN_IN).strip()
    number = server.project.rpartition("/")[2]
    with server.connect() as connection:
        path = f"/projects/{number}/data/export.csv"
        connection.sendall(head("GET", path, f"Cookie: sessionid={session}"))
        answer = answer_on(connection)
        lines = answer.read().splitlines()
    assert answer.status == 200
    assert answer.headers["Content-Length"]
    assert len(lines) == 1 + len(rows)


SIGN_IN = """
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


def test_a_deeply_nested_body_is_refused(server: Server) -> None:
    body = b"[" * 500_000
    rating = server.rating()[0].split(b"Content-Length")[0]
    answer = server.says(rating + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert answer.status == 400
    assert server.installation.status() == 200


def test_wrong_passwords_are_counted_for_their_address(server: Server) -> None:
    form = f"csrfmiddlewaretoken={COOKIE}&username=lead&password=wrong".encode()
    assert server.says(server.form(len(form)) + form).status < 500
    key = hashlib.sha256(b"address\x00127.0.0.1").hexdigest()
    with contextlib.closing(database(server.installation)) as stored:
        found = stored.execute("SELECT 1 FROM agreement_site_signintries WHERE key = ?", [key])
        assert found.fetchone()


def database(installation: Installation) -> sqlite3.Connection:
    file = installation.data_dir / "concord.sqlite3"
    return sqlite3.connect(file, isolation_level=None, timeout=PATIENCE)


def test_a_second_server_on_the_port_is_refused(server: Server) -> None:
    command = [sys.executable, "-m", "agreement_site.server.web_server"]
    environment = own_settings(server.installation)
    done = subprocess.run(
        command, env=environment, cwd=BASE_DIR, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1, port {server.installation.port}" in done.stderr


# --- settings


def test_behind_a_proxy_with_one_seat(new_installation: Callable[[], Installation]) -> None:
    """What the proxy says is believed, and clients whose connections are kept take turns."""
    installation = new_installation()
    installation.more = {"WEB_PROCESSES": "1", "WEB_THREADS": "1", "HOST": "localhost"}
    installation.more |= {"HTTPS": "1", "BEHIND_PROXY": "1"}
    installation.bring_database()
    installation.start()
    assert len(installation.pids("web_server")) == 2  # the parent and one process
    secure = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
    clients = [
        http.client.HTTPConnection("127.0.0.1", installation.port, timeout=PATIENCE)
        for _ in range(3)
    ]
    for client in clients:
        client.connect()
    kept = [client.sock for client in clients]
    for headers, expected in ((secure, 200), ({}, 301), (secure, 200)):
        for client in clients:
            client.request("GET", "/sign-in/", headers=headers)
        for client in clients:
            answer = client.getresponse()
            answer.read()
            assert answer.status == expected
    assert [client.sock for client in clients] == kept
    for client in clients:
        client.close()


def test_a_public_site_is_entered_over_https_alone(
    new_installation: Callable[[], Installation],
) -> None:
    """Started with HTTPS=1, from the first page to the one where the first password is changed."""
    installation = new_installation()
    installation.more = {"HTTPS": "1", "BEHIND_PROXY": "1", "ALLOWED_HOSTS": "concord.example.org"}
    installation.bring_database()
    installation.start()
    kept: dict[str, str] = {}

    def ask(method: str, path: str, form: str = "", *, by: str = "https") -> Any:
        headers = {"Host": "concord.example.org", "X-Forwarded-Proto": by}
        headers |= {"Cookie": "; ".join(f"{name}={value}" for name, value in kept.items())}
        headers |= {"Origin": "https://concord.example.org"} if method == "POST" else {}
        headers |= {"Content-Type": "application/x-www-form-urlencoded"}
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", installation.port, timeout=PATIENCE)
        ) as client:
            client.request(method, path, form, headers)
            answer: Any = client.getresponse()
            answer.text = answer.read().decode()
        for line in answer.headers.get_all("Set-Cookie") or ():
            name, _equals, rest = line.partition("=")
            kept[name] = rest.partition(";")[0]
            assert name.startswith("__Host-"), line
            assert {"Secure", "SameSite=Lax"} <= set(rest.split("; ")), line
        return answer

    plain = ask("GET", "/sign-in/", by="http")
    assert plain.status == 301
    assert plain.headers["Location"] == "https://concord.example.org/sign-in/"
    assert ask("GET", "/api/v1/projects/", by="http").status == 403
    page = ask("GET", "/sign-in/")
    assert page.status == 200
    assert page.headers["Strict-Transport-Security"].startswith("max-age=31536000")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token
    password = (installation.data_dir / "sign-in.txt").read_text().strip()
    given = {"csrfmiddlewaretoken": token[1], "username": "lead", "password": password}
    entered = ask("POST", "/sign-in/", urlencode(given))
    assert entered.status == 302, entered.text
    assert "__Host-sessionid" in kept
    assert ask("GET", "/").headers["Location"] == "/password/"  # somebody else knows it
    assert ask("GET", "/password/").status == 200
    assert '"level": "ERROR"' not in installation.said()


# --- the end


def test_what_is_under_way_when_it_stops_is_answered(server: Server) -> None:
    """The last: it ends the shared server. A rating waits for the database, of another one the
    last byte is missing; and some requests will never be whole."""
    installation = server.installation
    server.rate("a")
    rating, body = server.rating()
    with contextlib.ExitStack() as opened:
        opened.enter_context(held_open(server, 5, b"GET / HTTP/1.1\r\n"))
        opened.enter_context(held_open(server, 5, server.form(100)))
        waiting = opened.enter_context(server.connect())
        late = opened.enter_context(server.connect())
        holder = opened.enter_context(contextlib.closing(database(installation)))
        holder.execute("BEGIN IMMEDIATE")
        waiting.sendall(rating + body)
        late.sendall(rating + body[:-1])
        time.sleep(0.5)  # both have been taken
        assert installation.process is not None
        installation.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not accepts(installation), "the end of listening")
        holder.execute("ROLLBACK")
        assert answer_on(waiting).status == 200
        late.sendall(body[-1:])
        assert answer_on(late).status == 200
        assert installation.process.wait(timeout=60) == 0
    assert installation.processes() == {}
    with contextlib.closing(database(installation)) as stored:
        query = "SELECT code FROM ratings_rating"
        assert stored.execute(query).fetchall() == [(1,)]


def accepts(installation: Installation) -> bool:
    try:
        socket.create_connection(("127.0.0.1", installation.port), timeout=1).close()
    except OSError:
        return False
    return True
