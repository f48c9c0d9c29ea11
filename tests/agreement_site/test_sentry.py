"""Tests of optional error reports to Sentry, which contain no user input."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from agreement_site import releases
from agreement_site.apps import configure_sentry


def test_missing_client_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with pytest.raises(ImproperlyConfigured, match=r"requirements-extra\.txt"):
        configure_sentry("https://key@sentry.example/1")


def test_bodies_users_and_variables_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {}
    monkeypatch.setitem(sys.modules, "sentry_sdk", SimpleNamespace(init=options.update))
    configure_sentry("https://key@sentry.example/1")
    assert options == {
        "dsn": "https://key@sentry.example/1",
        "release": releases.get_release(),
        "send_default_pii": False,
        "max_request_body_size": "never",
        "include_local_variables": False,
    }
