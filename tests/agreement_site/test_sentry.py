"""Errors go to Sentry on wish, without what people said."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from agreement_site import releases
from agreement_site.apps import configure_sentry


def test_a_client_that_is_not_installed_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with pytest.raises(ImproperlyConfigured, match=r"requirements-extra\.txt"):
        configure_sentry("https://key@sentry.example/1")


def test_neither_bodies_nor_names_nor_values_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setitem(sys.modules, "sentry_sdk", SimpleNamespace(init=told.update))
    configure_sentry("https://key@sentry.example/1")
    assert told == {
        "dsn": "https://key@sentry.example/1",
        "release": releases.get_release(),
        "send_default_pii": False,
        "max_request_body_size": "never",
        "include_local_variables": False,
    }
