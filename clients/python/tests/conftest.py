"""Fixtures of the client's tests: those of the site, and a running site with a token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import concord_client
import pytest
from django.contrib.auth.models import User

from projects import authentication
from tests.conftest import *  # noqa: F403 - fixtures and hooks of all tests


@pytest.fixture
def environment(
    live_server: Any, lead: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> dict[str, str]:
    """Set CONCORD_URL and CONCORD_TOKEN of a running site, and return them."""
    variables = {
        "CONCORD_URL": live_server.url,
        "CONCORD_TOKEN": authentication.create_token(user=lead),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return variables


@pytest.fixture
def client(environment: dict[str, str]) -> Iterator[concord_client.Client]:
    with concord_client.Client() as client:
        yield client
