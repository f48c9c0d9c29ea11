"""The audit log as syslog messages, to real sockets."""

from __future__ import annotations

import json
import logging
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from agreement_site.audit_log import recorder
from agreement_site.models import AuditLogEntry
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "_paused_until", 0.0)


@pytest.fixture
def server(request: Any, settings: Any) -> Iterator[socket.socket]:
    """Return the socket of a syslog server that the site uses."""
    if request.param == "unix":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log"
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unix_server:
                unix_server.bind(str(path))
                settings.AUDIT_LOG_SYSLOG = f"unix://{path}"
                yield unix_server
        return
    kind = socket.SOCK_STREAM if request.param == "tcp" else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind) as inet_server:
        inet_server.bind(("127.0.0.1", 0))
        if request.param == "tcp":
            inet_server.listen()
        settings.AUDIT_LOG_SYSLOG = f"{request.param}://127.0.0.1:{inet_server.getsockname()[1]}"
        yield inet_server


@pytest.mark.parametrize("server", ["udp", "tcp", "unix"], indirect=True)
def test_entry_of_a_sign_in_is_sent(
    server: socket.socket, lead: Any, django_capture_on_commit_callbacks: Any
) -> None:
    server.settimeout(10)
    with django_capture_on_commit_callbacks(execute=True):
        Client().post("/sign-in/", {"username": lead.username, "password": PASSWORD})
    if server.type == socket.SOCK_STREAM:
        connection, _address = server.accept()
        with connection:
            content = connection.recv(1 << 16)
        length, _space, message = content.partition(b" ")
        assert int(length) == len(message)
    else:
        message = server.recv(1 << 16)
    header, _dash, text = message.decode().partition(" audit - ")
    assert re.fullmatch(r"<109>1 \d{4}-\d\d-\d\dT\S+ \S+ concord \d+", header)
    entry = AuditLogEntry.objects.get(action="sign_in")
    values = json.loads(text)
    assert (values["id"], values["actor"], values["action"]) == (entry.pk, lead.username, "sign_in")


@pytest.mark.parametrize("server", ["tcp"], indirect=True)
def test_server_that_is_gone_delays_no_request(
    server: socket.socket,
    lead: Any,
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: Any,
) -> None:
    server.close()
    for _attempt in range(2):  # the second one does not try
        with django_capture_on_commit_callbacks(execute=True):
            response = Client().post("/sign-in/", {"username": lead.username, "password": PASSWORD})
        assert response.status_code == 302
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert len([text for text in errors if "was not sent to syslog" in text]) >= 2
    assert any("paused" in text for text in errors)
    assert AuditLogEntry.objects.filter(action="sign_in").count() == 2
