"""Tests that a password alone opens nothing where a second factor exists or is required."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import URLResolver, get_resolver, resolve
from rest_framework.test import APIClient

from agreement_site.accounts import attempt_limits, required_actions
from agreement_site.models import AuditLogEntry
from projects.models import Project
from projects.services import tokens
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db

SIGN_IN_PATH = "/sign-in/second-factor/"
SET_UP_PATH = "/account/second-factor/"
APP_PATH = "/account/second-factor/app/"
CODES_PATH = "/account/second-factor/codes/"


def compute_code(secret: str, steps_ahead: int = 0) -> str:
    """Return the code that an app shows now, or some steps of 30 s later (RFC 6238)."""
    counter = struct.pack(">Q", int(time.time()) // 30 + steps_ahead)
    digest = hmac.new(base64.b32decode(secret), counter, hashlib.sha1).digest()
    offset = digest[-1] & 15
    value = struct.unpack(">I", digest[offset : offset + 4])[0] & 0x7FFFFFFF
    return f"{value % 1_000_000:06}"


def sign_in(name: str = "lead", **client_options: Any) -> Client:
    """Return a client that has sent the password."""
    client = Client(**client_options)
    client.post("/sign-in/", {"username": name, "password": PASSWORD})
    return client


def set_up_app(client: Client) -> str:
    """Set up an authenticator app and return its secret."""
    secret = re.search(r'<code class="mono">(\w+)</code>', client.get(APP_PATH).content.decode())
    assert secret is not None
    response = client.post(APP_PATH, {"code": compute_code(secret[1])})
    assert response["Location"] == CODES_PATH
    return secret[1]


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def list_actions() -> list[str]:
    """Return the recorded actions of the audit log, oldest first."""
    return list(AuditLogEntry.objects.order_by("pk").values_list("action", flat=True))


@pytest.fixture
def secret(lead: User) -> str:
    """Return the secret of the lead's authenticator app."""
    return set_up_app(sign_in())


def test_password_alone_does_not_sign_in(secret: str) -> None:
    client = sign_in()
    assert not is_signed_in(client)
    assert client.get("/tokens/").status_code == 302
    assert client.get("/admin/").status_code == 302
    assert client.get("/api/v1/projects/").status_code == 401
    page = client.get(SIGN_IN_PATH)
    assert page.status_code == 200
    assert client.post(SIGN_IN_PATH, {"code": "000000"}).status_code == 400
    assert not is_signed_in(client)
    assert client.post(SIGN_IN_PATH, {"code": compute_code(secret, 1)})["Location"] == "/"
    assert is_signed_in(client)
    entry = AuditLogEntry.objects.filter(action="sign_in").latest("pk")
    assert entry.details == {"methods": ["password", "totp"]}
    assert "second_factor_rejected" in list_actions()


def test_second_factor_redirects_to_the_requested_page(secret: str) -> None:
    client = Client()
    form = {"username": "lead", "password": PASSWORD, "next": "/tokens/"}
    assert client.post("/sign-in/", form)["Location"] == SIGN_IN_PATH
    assert client.post(SIGN_IN_PATH, {"code": compute_code(secret, 1)})["Location"] == "/tokens/"


def test_code_works_once_across_processes(secret: str) -> None:
    """allauth remembers used codes in the memory of a process only."""
    from django.core.cache import cache

    with time_machine.travel(time.time() + 60, tick=False):
        code = compute_code(secret)
        assert sign_in().post(SIGN_IN_PATH, {"code": code}).status_code == 302
        for typed in (f"{code[:3]}-{code[3:]}", f" {code[:3]} {code[3:]}", f"{code}."):
            cache.clear()
            assert sign_in().post(SIGN_IN_PATH, {"code": typed}).status_code == 400, typed
        cache.clear()
        assert sign_in().post(SIGN_IN_PATH, {"code": code}).status_code == 400


def test_codes_are_rate_limited_like_passwords(secret: str) -> None:
    statuses = []
    for number in range(attempt_limits.MAX_ATTEMPTS_PER_NAME + 1):
        client = sign_in(REMOTE_ADDR=f"10.0.0.{number}")
        statuses.append(client.post(SIGN_IN_PATH, {"code": "000000"}).status_code)
    assert statuses == [400] * attempt_limits.MAX_ATTEMPTS_PER_NAME + [429]
    assert client.post(SIGN_IN_PATH, {"code": compute_code(secret, 1)}).status_code == 429


def test_a_recovery_code_works_once(secret: str, lead: User) -> None:
    client = sign_in()
    client.post(SIGN_IN_PATH, {"code": compute_code(secret, 1)})
    recovery_codes = re.findall(r"<li>(\d{8})</li>", client.get(CODES_PATH).content.decode())
    assert len(recovery_codes) == 10
    second_client = sign_in()
    assert second_client.post(SIGN_IN_PATH, {"code": recovery_codes[3]}).status_code == 302
    assert is_signed_in(second_client)
    third_client = sign_in()
    assert third_client.post(SIGN_IN_PATH, {"code": recovery_codes[3]}).status_code == 400
    assert third_client.post(SIGN_IN_PATH, {"code": recovery_codes[4]}).status_code == 302
    assert client.post(CODES_PATH + "new/").status_code == 302
    assert sign_in().post(SIGN_IN_PATH, {"code": recovery_codes[5]}).status_code == 400
    assert "recovery_codes_created" in list_actions()


def test_setting_up_a_second_factor_ends_other_sessions(lead: User) -> None:
    other_client, own_client = sign_in(), sign_in()
    set_up_app(own_client)
    assert own_client.get("/tokens/").status_code == 200
    assert other_client.get("/tokens/").status_code == 302
    entry = AuditLogEntry.objects.get(action="second_factor_added")
    assert (entry.actor, entry.after) == ("lead", {"kind": "totp"})


def test_old_session_must_confirm_before_changing_factors(lead: User, secret: str) -> None:
    client = sign_in()
    client.post(SIGN_IN_PATH, {"code": compute_code(secret, 1)})
    with time_machine.travel(time.time() + 600, tick=False):
        for page in (
            CODES_PATH,
            CODES_PATH + "new/",
            APP_PATH + "remove/",
            "/account/second-factor/passkeys/add/",
        ):
            response = client.get(page)
            assert response["Location"].startswith("/account/confirm/"), page
        assert client.post(APP_PATH + "remove/")["Location"].startswith("/account/confirm/")
        confirm_url = "/account/confirm/?next=" + APP_PATH + "remove/"
        assert client.post(confirm_url, {"password": "wrong"}).status_code == 400
        assert client.post("/account/confirm/code/", {"code": "1"}).status_code == 400
        assert Authenticator.objects.filter(type="totp").exists()
        # After confirmation the requested action continues.
        assert client.post(confirm_url, {"password": PASSWORD}).status_code == 302
    assert not Authenticator.objects.exists()
    assert "second_factor_removed" in list_actions()
    assert is_signed_in(sign_in())


def test_confirmation_password_is_rate_limited(lead: User) -> None:
    client = sign_in()
    statuses = [client.post("/account/confirm/", {"password": "x"}).status_code for _ in range(11)]
    assert statuses == [400] * 10 + [429]


# --- where a second factor is required


def require_second_factor(settings: Any, required_for: str) -> None:
    settings.REQUIRE_SECOND_FACTOR = required_for


@pytest.mark.parametrize(
    ("required_for", "expected"),
    [
        ("nobody", set()),
        ("staff", {"admin"}),
        ("leads", {"admin", "lead"}),
        ("everybody", {"admin", "lead", "viewer", "annotator"}),
    ],
)
def test_second_factor_is_required_of_configured_users(
    settings: Any, project: Project, admin: User, required_for: str, expected: set[str]
) -> None:
    require_second_factor(settings, required_for)
    redirected = set()
    for name in ("admin", "lead", "viewer", "annotator"):
        response = sign_in(name).get("/tokens/")
        if response.status_code == 302:
            assert response["Location"] == SET_UP_PATH
            redirected.add(name)
    assert redirected == expected


def list_paths(patterns: Any = None) -> list[str]:
    """Return an address for each page of the site and of the admin, with invented arguments."""
    paths = []
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        start = re.sub(r"<[^>]+>", "1", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            paths += [start + tail for tail in list_paths(pattern.url_patterns)]
        elif not set(start) & set("^$?("):  # the catch-alls of the API and of the admin
            paths.append(start)
    return paths


def test_all_pages_are_closed_until_a_factor_is_set_up(
    settings: Any, project: Project, admin: User, client_for: Callable[..., Client]
) -> None:
    require_second_factor(settings, "everybody")
    client = client_for(admin)
    n_pages = 0
    for path in {f"/{path}" for path in list_paths()}:
        match = resolve(path)
        if match.url_name in required_actions.SECOND_FACTOR_EXEMPT and not match.namespace:
            continue
        if match.url_name == "static_bundle":  # style sheets and scripts are public
            continue
        response = client.get(path)
        n_pages += 1
        if path.startswith("/api/"):
            assert response.status_code == 403, path
        else:
            assert (response.status_code, response["Location"]) == (302, SET_UP_PATH), path
    assert n_pages > 100
    # Pages that stay open.
    for path in ("/account/second-factor/", "/livez", "/password/"):
        assert client.get(path).status_code == 200
    # An API token was created with the second factor.
    api_client = APIClient()
    api_client.credentials(HTTP_AUTHORIZATION=f"Bearer {tokens.create_token(user=admin)}")
    assert api_client.get("/api/v1/projects/").status_code == 200
    # But an invalid token does not give a session access.
    for header in ("Basic eDp5", "Bearer wrong"):
        response = client.get("/api/v1/projects/", headers={"Authorization": header})
        assert response.status_code in (401, 403)


def test_last_required_factor_cannot_be_removed(settings: Any, admin: User) -> None:
    require_second_factor(settings, "staff")
    client = sign_in("admin")
    assert client.get("/admin/").status_code == 302
    set_up_app(client)
    assert client.get("/admin/").status_code == 200
    assert client.post(APP_PATH + "remove/").status_code == 400
    assert Authenticator.objects.filter(type="totp").exists()


def test_administrator_removes_a_factor_without_seeing_it(
    secret: str, admin: User, client_for: Callable[..., Client]
) -> None:
    client = client_for(admin)
    authenticator = Authenticator.objects.get(type="totp")
    for page in ("", f"{authenticator.pk}/change/"):
        response = client.get(f"/admin/mfa/authenticator/{page}")
        assert response.status_code == 200
        assert secret not in response.content.decode()
    delete_response = client.post(
        f"/admin/mfa/authenticator/{authenticator.pk}/delete/", {"post": "yes"}
    )
    assert delete_response.status_code == 302
    assert is_signed_in(sign_in())
    entry = AuditLogEntry.objects.get(action="admin_removed")
    assert secret not in str([entry.before, entry.after, entry.details])
    staff = User.objects.create_user("staff", password=PASSWORD, is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(content_type__app_label="mfa"))
    assert client_for(staff).get("/admin/mfa/authenticator/").status_code == 403
