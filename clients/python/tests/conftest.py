"""Fixtures of the client's tests: those of the site, and a running site with a token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import concord_client
import pytest
from django.contrib.auth.models import User
from django.db import connection

from projects.services import tokens
from tests.conftest import *  # noqa: F403 - fixtures and hooks of all tests


@pytest.fixture
def environment(
    live_server: Any, lead: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[dict[str, str]]:
    """Set CONCORD_URL and CONCORD_TOKEN of a running site, and return them."""
    variables = {
        "CONCORD_URL": live_server.url,
        "CONCORD_TOKEN": tokens.create_token(user=lead),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield variables
    close_connections_of_other_threads()


def close_connections_of_other_threads() -> None:
    """End the server threads' sessions, which PostgreSQL counts when the database is dropped."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


@pytest.fixture
def client(environment: dict[str, str]) -> Iterator[concord_client.Client]:
    with concord_client.Client() as client:
        yield client
