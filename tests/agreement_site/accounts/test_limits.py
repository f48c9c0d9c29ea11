"""What is refused whoever asks: passwords that are soon guessed, odd methods, too much at once."""

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

from agreement_site.accounts import rate_limits
from agreement_site.models import TrailLine
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
def test_passwords_that_are_soon_guessed(password: str, good: bool) -> None:
    user = User(username="ada", first_name="Ada", last_name="Lovelace")
    try:
        validate_password(password, user)
    except ValidationError:
        assert not good
    else:
        assert good


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/admin/", "/admin/auth/user/", "/api/v1/projects/"])
def test_trace_is_answered_nowhere(
    path: str, client_for: Callable[..., Client], admin: User
) -> None:
    for method in ("TRACE", "PROPFIND"):
        assert client_for(admin).generic(method, path).status_code == 405


@pytest.mark.django_db
def test_links_are_made_at_a_pace(
    project: Project, client_for: Callable[..., Client], lead: User, monkeypatch: Any
) -> None:
    monkeypatch.setitem(rate_limits.POSTS_PER_HOUR, "member_add", 2)
    client = client_for(lead)
    page = f"/projects/{project.pk}/people/"
    codes = []
    for name in "abc":
        added = {"username": name, "role": "viewer", "account": "new"}
        codes.append(client.post(page + "add/", added).status_code)
    assert codes == [200, 200, 429]
    assert not User.objects.filter(username="c").exists()
    assert client.get(page).status_code == 200


def test_what_has_a_pace_is_a_page() -> None:
    """Under the name of its address: another name would have none."""
    bounded = {"member_add": 60, "members_invite": 10, "member_link": 120, "project_new": 60}
    assert {**bounded, "tokens": 30} == rate_limits.POSTS_PER_HOUR
    names = {one.name for one in get_resolver().url_patterns if isinstance(one, URLPattern)}
    for found in get_resolver().url_patterns:
        names |= {one.name for one in getattr(found, "url_patterns", ()) if hasattr(one, "name")}
    assert set(rate_limits.POSTS_PER_HOUR) <= names


@pytest.mark.django_db
def test_wrong_tokens_are_told_and_not_each(
    caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    monkeypatch.setattr(authentication, "_last_logged", 0.0)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION="Bearer ccd_wrong")
    for _try in range(3):
        assert client.get("/api/v1/projects/").status_code == 401
    assert [one.message for one in caplog.records].count("token_wrong") == 1
    assert "ccd_wrong" not in caplog.text
    assert not TrailLine.objects.exists()


def test_with_https_every_cookie_is_the_hosts(tmp_path: Path) -> None:
    """In a process of its own: settings are read once."""
    tmp_path.chmod(0o700)
    told = (
        "import django, json; django.setup(); from django.conf import settings as s;"
        "from agreement_site.middleware.message_storage import HostCookie;"
        "print(json.dumps([s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.LANGUAGE_COOKIE_NAME,"
        " HostCookie.cookie_name]))"
    )
    own = {"HTTPS": "1", "ALLOWED_HOSTS": "a.example", "DATA_DIR": str(tmp_path)}
    own |= {"DJANGO_SETTINGS_MODULE": "agreement_site.settings"}
    found = subprocess.run(
        [sys.executable, "-c", told],
        env={**os.environ, **own},
        cwd=site.BASE_DIR,
        capture_output=True,
        check=True,
    )
    names = json.loads(found.stdout)
    assert len(names) == 4
    assert all(name.startswith("__Host-") for name in names)
