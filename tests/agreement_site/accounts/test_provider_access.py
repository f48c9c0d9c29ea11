"""Decisions of the provider after the sign-in: the end of sessions and tokens, and roles."""

from __future__ import annotations

import datetime
import time
from typing import Any

import jwt
import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agreement_site import housekeeping
from agreement_site.models import AuditLogEntry
from projects.models import ApiToken, Member, Project
from tests.agreement_site.accounts.test_oidc import (
    KEY,
    OTHER_KEY,
    SERVER,
    FakeOidcProvider,
    connect_account,
    provider,
    sign_in_by_provider,
)

__all__ = ["provider"]
pytestmark = pytest.mark.django_db

LOGOUT = "/oidc/oidc/logout/"
EVENTS: dict[str, Any] = {"http://schemas.openid.net/event/backchannel-logout": {}}


def send_logout(key: Any = KEY, algorithm: str = "RS256", **changes: Any) -> Any:
    """Send a logout token as the provider does; a change to None removes a claim."""
    now = time.time()
    claims = {"iss": SERVER, "aud": "concord", "iat": now, "exp": now + 120, "sub": "u1"}
    claims |= {"jti": str(now), "events": EVENTS, **changes}
    claims = {name: value for name, value in claims.items() if value is not None}
    token = jwt.encode(claims, key, algorithm, headers={"kid": "k"})
    return Client(enforce_csrf_checks=True).post(LOGOUT, {"logout_token": token})


def is_signed_out(client: Client) -> bool:
    response = client.get("/account/sessions/")
    return response.status_code == 302 and response["Location"].startswith("/sign-in/")


@pytest.fixture
def signed_in(provider: FakeOidcProvider, annotator: User) -> Client:
    connect_account(annotator)
    client, _response = sign_in_by_provider(provider)
    assert not is_signed_out(client)
    return client


@pytest.mark.parametrize("revokes_tokens", [False, True])
def test_logout_at_the_provider_ends_sessions(
    signed_in: Client, annotator: User, api_for: Any, settings: Any, revokes_tokens: bool
) -> None:
    settings.OIDC_LOGOUT_REVOKES_TOKENS = revokes_tokens
    api = api_for(annotator)
    assert send_logout().status_code == 200
    assert is_signed_out(signed_in)
    assert api.get("/api/v1/projects/").status_code == (401 if revokes_tokens else 200)
    entry = AuditLogEntry.objects.get(action="session_revoked")
    assert entry.before == {"user": annotator.username}


@pytest.mark.parametrize(
    "changes",
    [
        {"key": OTHER_KEY},
        {"key": "a secret that is long enough to sign", "algorithm": "HS256"},
        {"iss": "https://other.example.org"},
        {"aud": "other"},
        {"exp": 1},
        {"exp": None},
        {"sub": None},
        {"events": None},
        {"events": {"other": {}}},
        {"nonce": "n"},
    ],
    ids=" ".join,
)
def test_other_tokens_end_nothing(signed_in: Client, changes: dict[str, Any]) -> None:
    response = send_logout(**changes)
    assert response.status_code == 400
    assert response.json()["error"] == "invalid_request"
    assert not is_signed_out(signed_in)
    assert not AuditLogEntry.objects.filter(action="session_revoked").exists()


def test_logout_of_somebody_unknown_ends_nothing(signed_in: Client) -> None:
    assert send_logout(sub="u2").status_code == 200
    assert not is_signed_out(signed_in)


def test_without_a_provider_there_is_no_logout_address(client: Client) -> None:
    assert client.post(LOGOUT, {"logout_token": "x"}).status_code == 404
    assert client.get(LOGOUT).status_code == 405


def test_tokens_end_some_days_after_the_last_sign_in(
    signed_in: Client, annotator: User, lead: User, api_for: Any, settings: Any
) -> None:
    tokens = {user.pk: api_for(user) for user in (annotator, lead)}  # the lead has a password
    old = timezone.now() - datetime.timedelta(days=40)
    User.objects.update(last_login=old)
    ApiToken.objects.update(created_at=old)
    housekeeping.apply_retention_rules()
    assert not ApiToken.objects.exclude(revoked_at=None).exists()
    settings.PROVIDER_TOKEN_DAYS = 30
    housekeeping.apply_retention_rules()
    assert tokens[annotator.pk].get("/api/v1/projects/").status_code == 401
    assert tokens[lead.pk].get("/api/v1/projects/").status_code == 200


# --- roles


def get_role(project: Project, user: User) -> str | None:
    return Member.objects.filter(project=project, user=user).values_list("role", flat=True).first()


def test_groups_give_and_take_roles(
    provider: FakeOidcProvider, annotator: User, project: Project, lead: User, settings: Any
) -> None:
    connect_account(annotator)
    settings.PROVIDER_GROUP_ROLES = [
        ("readers", project.pk, "viewer"),
        ("heads", project.pk, "lead"),
        ("heads", 999_999, "lead"),
    ]

    def sign_in(**claims: Any) -> str | None:
        provider.claims = {"sub": "u1", **claims}
        sign_in_by_provider(provider)
        return get_role(project, annotator)

    Member.objects.filter(user=annotator).delete()
    assert sign_in(groups=["readers", "others"]) == "viewer"
    assert sign_in(groups=["readers", "heads"]) == "lead"
    assert sign_in() == "lead"  # a provider that does not say the groups changes nothing
    assert sign_in(groups=["readers"]) == "viewer"
    assert sign_in(groups=[]) is None
    assert get_role(project, lead) == "lead"
    actions = set(AuditLogEntry.objects.values_list("action", flat=True))
    assert {"member_added", "role_changed", "member_removed"} <= actions


def test_last_lead_stays_one(
    provider: FakeOidcProvider, lead: User, project: Project, settings: Any
) -> None:
    connect_account(lead)
    settings.PROVIDER_GROUP_ROLES = [("heads", project.pk, "lead")]
    provider.claims = {"sub": "u1", "groups": []}
    sign_in_by_provider(provider)
    assert get_role(project, lead) == "lead"


def test_group_of_administrators(
    provider: FakeOidcProvider, annotator: User, admin: User, settings: Any
) -> None:
    connect_account(annotator)
    settings.PROVIDER_GROUP_ROLES = [("admins", None, "administrator")]
    for groups, expected in ((["admins"], True), ([], False)):
        provider.claims = {"sub": "u1", "groups": groups}
        sign_in_by_provider(provider)
        annotator.refresh_from_db()
        assert (annotator.is_staff, annotator.is_superuser) == (expected, expected)
    assert AuditLogEntry.objects.filter(action="admin_changed").count() == 2
    # The last administrator keeps the rights.
    SocialAccount.objects.all().delete()
    connect_account(admin)
    sign_in_by_provider(provider)
    admin.refresh_from_db()
    assert admin.is_superuser


def test_new_account_has_the_roles_at_once(
    provider: FakeOidcProvider, project: Project, settings: Any
) -> None:
    settings.OIDC_ACCOUNTS = "created"
    settings.PROVIDER_GROUP_ROLES = [("raters", project.pk, "annotator")]
    provider.claims = {
        "sub": "new",
        "preferred_username": "newcomer",
        "email": "new@example.org",
        "email_verified": True,
        "groups": ["raters"],
    }
    sign_in_by_provider(provider)
    assert get_role(project, User.objects.get(username="newcomer")) == "annotator"
