"""Tests of limits for every user: guessable passwords, unusual methods, too many requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import URLPattern, get_resolver
from rest_framework.test import APIClient

from agreement_site.accounts import attempt_limits
from agreement_site.models import AuditLogEntry
from projects import authentication
from projects.models import Project


@pytest.mark.parametrize(
    ("password", "good"),
    [
        ("passwordpassword", False),
        ("letmeinletmein", False),
        ("1qaz2wsx3edc4rfv", False),
        ("Password1234!", False),
        ("concordconcord1", False),
        ("x" * 5000, False),
        ("rabbits in the rain", True),
        ("a" + "7Kq!zP" * 800, True),
    ],
)
def test_guessable_passwords_are_rejected(password: str, good: bool) -> None:
    user = User(username="ada", first_name="Ada", last_name="Lovelace")
    try:
        validate_password(password, user)
    except ValidationError:
        assert not good
    else:
        assert good


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/admin/", "/admin/auth/user/", "/api/v1/projects/"])
def test_trace_is_not_allowed(path: str, client_for: Callable[..., Client], admin: User) -> None:
    for method in ("TRACE", "PROPFIND"):
        assert client_for(admin).generic(method, path).status_code == 405


@pytest.mark.django_db
def test_invitations_are_rate_limited(
    project: Project, client_for: Callable[..., Client], lead: User, monkeypatch: Any
) -> None:
    monkeypatch.setitem(attempt_limits.POSTS_PER_HOUR, "member_create", 2)
    client = client_for(lead)
    page = f"/projects/{project.pk}/people/"
    statuses = []
    for name in "abc":
        form_data = {"username": name, "role": "viewer", "account": "new"}
        statuses.append(client.post(page + "add/", form_data).status_code)
    assert statuses == [200, 200, 429]
    assert not User.objects.filter(username="c").exists()
    assert client.get(page).status_code == 200


def test_rate_limits_name_existing_routes() -> None:
    """A limit with another name than its route would have no effect."""
    expected_limits = {
        "label_studio_connections": 30,
        "member_create": 60,
        "members_invite": 10,
        "member_link": 120,
        "project_create": 60,
    }
    assert {**expected_limits, "tokens": 30} == attempt_limits.POSTS_PER_HOUR
    names = {
        pattern.name for pattern in get_resolver().url_patterns if isinstance(pattern, URLPattern)
    }
    for resolver in get_resolver().url_patterns:
        names |= {
            pattern.name
            for pattern in getattr(resolver, "url_patterns", ())
            if hasattr(pattern, "name")
        }
    assert set(attempt_limits.POSTS_PER_HOUR) <= names


@pytest.mark.django_db
def test_invalid_tokens_are_logged_once_in_a_while(
    caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    monkeypatch.setattr(authentication, "_last_logged", 0.0)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION="Bearer ccd_wrong")
    for _attempt in range(3):
        assert client.get("/api/v1/projects/").status_code == 401
    assert [record.message for record in caplog.records].count("token_rejected") == 1
    assert "ccd_wrong" not in caplog.text
    assert not AuditLogEntry.objects.exists()


def test_with_https_every_cookie_has_the_host_prefix(tmp_path: Path) -> None:
    """Settings are read once, so this runs in its own process."""
    tmp_path.chmod(0o700)
    script = (
        "import django, json; django.setup(); from django.conf import settings as s;"
        "from agreement_site.middleware.security import HostCookieStorage;"
        "print(json.dumps([s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.LANGUAGE_COOKIE_NAME,"
        " HostCookieStorage.cookie_name]))"
    )
    environment = {"HTTPS": "1", "ALLOWED_HOSTS": "a.example", "DATA_DIR": str(tmp_path)}
    environment |= {"DJANGO_SETTINGS_MODULE": "agreement_site.settings"}
    process = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        cwd=site.BASE_DIR,
        capture_output=True,
        check=True,
    )
    names = json.loads(process.stdout)
    assert len(names) == 4
    assert all(name.startswith("__Host-") for name in names)
