"""PostgreSQL restarts between two requests of a web thread: the second opens a new connection."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from django.db import connection

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql_only("SQLite's connection is a file"),
]


def test_connection_closed_by_the_server_is_replaced(lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    client.get("/")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend_pid,) = cursor.fetchone()
    with (
        contextlib.closing(connection.copy()) as other_connection,
        other_connection.cursor() as cursor,
    ):
        cursor.execute(
            "SELECT pg_terminate_backend(%s, 10000)", [backend_pid]
        )  # waits until it has ended
        assert cursor.fetchone() == (True,)
    connection.close_if_unusable_or_obsolete()  # as before each request
    connection.ensure_connection()
    assert client.get("/").status_code == 200
