"""Tests of signing in by OpenID Connect.

The provider runs in this process and signs its tokens with its own key.
"""

from __future__ import annotations

import base64
import hashlib
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import jwt
import pytest
import requests
from allauth.socialaccount.models import SocialAccount
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.test import Client
from jwt.algorithms import RSAAlgorithm

from agreement_site.accounts.identity_providers import SocialAdapter
from agreement_site.models import AuditLogEntry
from projects.models import Member, MemberOffer, Project
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db

SERVER = "https://id.example.org"
LOGIN = "/oidc/oidc/login/"
KEY, OTHER_KEY = (rsa.generate_private_key(65537, 2048) for _ in range(2))


@dataclass
class FakeOidcProvider:
    """Responses to the site's requests, without a network: discovery, token, keys, userinfo."""

    claims: dict[str, Any] = field(default_factory=lambda: {"sub": "u1"})
    userinfo: dict[str, Any] | None = None
    token: dict[str, Any] = field(default_factory=dict)  # claims that replace valid ones
    key: Any = KEY
    challenge: str = ""
    nonce: str = ""
    is_unavailable: bool = False

    def __enter__(self) -> FakeOidcProvider:
        return self

    def __exit__(self, *_error: Any) -> None:
        pass

    def get(self, url: str, **_more: Any) -> requests.Response:
        """Return the discovery document, the keys or the user's claims."""
        if self.is_unavailable:
            raise requests.ConnectionError
        jwk = {**RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": "k", "alg": "RS256"}
        return build_response(
            {
                "/.well-known/openid-configuration": {
                    "issuer": SERVER,
                    "authorization_endpoint": SERVER + "/authorize",
                    "token_endpoint": SERVER + "/token",
                    "userinfo_endpoint": SERVER + "/userinfo",
                    "jwks_uri": SERVER + "/keys",
                },
                "/keys": {"keys": [jwk]},
                "/userinfo": self.userinfo or self.claims,
            }[urlsplit(url).path]
        )

    def request(self, method: str, url: str, data: Any = None, **_more: Any) -> requests.Response:
        """Check the code verifier and return a signed ID token."""
        if method == "GET":
            return self.get(url)
        parameters = dict(parse_qsl(data)) if isinstance(data, str) else data
        digest = hashlib.sha256(parameters["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == self.challenge
        claims = {"iss": SERVER, "aud": "concord", "exp": time.time() + 60, **self.claims}
        claims["nonce"] = self.nonce
        signed = jwt.encode({**claims, **self.token}, self.key, "RS256", headers={"kid": "k"})
        return build_response({"access_token": "a", "token_type": "Bearer", "id_token": signed})


def build_response(content: Any) -> requests.Response:
    response = requests.Response()
    response.status_code = 200
    response.headers["content-type"] = "application/json"
    response._content = requests.compat.json.dumps(content).encode()
    return response


@pytest.fixture
def provider(settings: Any, monkeypatch: pytest.MonkeyPatch) -> FakeOidcProvider:
    """Configure the site to use the provider of the tests."""
    settings.OIDC_SERVER_URL = SERVER
    app = {"provider_id": "oidc", "name": "Example", "client_id": "concord", "secret": "s"}
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "APPS": [{**app, "settings": {"server_url": SERVER}}],
        }
    }
    fake_provider = FakeOidcProvider()
    monkeypatch.setattr(SocialAdapter, "get_requests_session", lambda self: fake_provider)
    return fake_provider


def sign_in_by_provider(
    provider: FakeOidcProvider, client: Client | None = None, **form: str
) -> tuple[Client, Any]:
    """Go to the provider and back; return the client and the last response."""
    client = client or Client()
    redirect = client.post(LOGIN, form)
    assert redirect["Location"].startswith(SERVER + "/authorize?")
    parameters = {
        name: value for name, [value] in parse_qs(urlsplit(redirect["Location"]).query).items()
    }
    assert parameters["client_id"] == "concord"
    provider.challenge, provider.nonce = parameters["code_challenge"], parameters["nonce"]
    callback_parameters = {"code": "c", "state": parameters["state"]}
    return client, client.get(urlsplit(parameters["redirect_uri"]).path, callback_parameters)


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def connect_account(user: User, uid: str = "u1") -> None:
    SocialAccount.objects.create(user=user, provider="oidc", uid=uid)


def test_without_a_provider_the_pages_are_not_found(client: Client, lead: User) -> None:
    assert client.post(LOGIN).status_code == 404
    assert client.get(LOGIN + "callback/").status_code == 404
    assert "oidc" not in client.get("/sign-in/").content.decode()
    client.force_login(lead)
    assert client.get("/account/connected/").status_code == 404


def test_unknown_user_is_not_signed_in(provider: FakeOidcProvider, client: Client) -> None:
    assert LOGIN in client.get("/sign-in/").content.decode()
    client, page = sign_in_by_provider(provider)
    assert (page.status_code, is_signed_in(client)) == (200, False)
    assert "No account" in page.content.decode()
    assert not User.objects.exists()


def test_connected_account_signs_in_and_needs_a_second_factor(
    provider: FakeOidcProvider, lead: User, settings: Any
) -> None:
    connect_account(lead)
    client, page = sign_in_by_provider(provider, next="/tokens/")
    assert page["Location"] == "/tokens/"
    assert client.session["_auth_user_id"] == str(lead.pk)
    entry = AuditLogEntry.objects.get(action="sign_in")
    assert (entry.actor, entry.details) == ("lead", {"methods": ["socialaccount"]})
    settings.REQUIRE_SECOND_FACTOR = "everybody"
    assert client.get("/tokens/")["Location"] == "/account/second-factor/"
    settings.OIDC_SECOND_FACTOR = True
    assert client.get("/tokens/").status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"key": OTHER_KEY},
        {"token": {"aud": "another"}},
        {"token": {"iss": "https://evil.example"}},
        {"token": {"exp": 1}},
        {"token": {"nonce": "another"}},
        {"token": {"nonce": None}},
        {"userinfo": {"sub": "u1"}, "claims": {"sub": "u2"}},  # two different users
    ],
)
def test_invalid_token_does_not_sign_in(
    provider: FakeOidcProvider, lead: User, changes: dict[str, Any]
) -> None:
    connect_account(lead)
    for name, value in changes.items():
        setattr(provider, name, value)
    client, page = sign_in_by_provider(provider)
    assert (page.status_code, is_signed_in(client)) == (401, False)
    assert AuditLogEntry.objects.get(action="sign_in_failed").details["provider"] == "Example"


def test_forged_state_does_not_sign_in(provider: FakeOidcProvider, lead: User) -> None:
    connect_account(lead)
    client = Client()
    page = client.get(LOGIN + "callback/", {"code": "c", "state": "forged"})
    assert (page.status_code, is_signed_in(client)) == (401, False)


def test_token_is_bound_to_its_browser_and_used_once(
    provider: FakeOidcProvider, lead: User
) -> None:
    """A token of another user's sign-in, or an older one, signs nobody in."""
    connect_account(lead)
    client, _page = sign_in_by_provider(provider)
    assert is_signed_in(client)
    client.post("/sign-out/")
    old_nonce = provider.nonce
    for browser in (client, Client()):
        redirect = browser.post(LOGIN)
        parameters = dict(parse_qsl(urlsplit(redirect["Location"]).query))
        provider.challenge, provider.nonce = parameters["code_challenge"], old_nonce
        page = browser.get(LOGIN + "callback/", {"code": "c", "state": parameters["state"]})
        assert (page.status_code, is_signed_in(browser)) == (401, False)


def test_visitor_cannot_add_request_parameters(provider: FakeOidcProvider) -> None:
    redirect = Client().post(f"{LOGIN}?auth_params=nonce%3Dmine%26prompt%3Dnone")
    parameters = parse_qs(urlsplit(redirect["Location"]).query)
    assert "prompt" not in parameters
    assert parameters["nonce"] != ["mine"]


def test_unavailable_provider_gets_401(provider: FakeOidcProvider) -> None:
    provider.is_unavailable = True
    assert Client().post(LOGIN).status_code == 401


def test_deactivated_account_is_not_signed_in(provider: FakeOidcProvider, make_user: Any) -> None:
    connect_account(make_user("gone", is_active=False))
    client, page = sign_in_by_provider(provider)
    assert (page.status_code, is_signed_in(client)) == (302, False)
    assert client.get(page["Location"]).status_code == 200


@pytest.mark.parametrize(
    ("name", "claims", "signs_in"),
    [
        ("lead", {"email_verified": True}, True),
        ("lead", {"email_verified": False}, False),
        ("lead", {"email_verified": "true"}, False),
        ("admin", {"email_verified": True}, False),
    ],
)
def test_verified_address_may_match_an_account(
    provider: FakeOidcProvider,
    settings: Any,
    lead: User,
    admin: User,
    name: str,
    claims: Any,
    signs_in: bool,
) -> None:
    User.objects.filter(username=name).update(email="Ada@example.org")
    provider.claims = {"sub": "u1", "email": "ada@example.org", **claims}
    assert not is_signed_in(sign_in_by_provider(provider)[0])  # only when the site allows it
    settings.OIDC_ACCOUNTS = "matched"
    assert is_signed_in(sign_in_by_provider(provider)[0]) == signs_in
    assert AuditLogEntry.objects.filter(action="sign_in_connected").exists() == signs_in


def test_address_of_two_accounts_matches_none(
    provider: FakeOidcProvider, settings: Any, lead: User, viewer: User
) -> None:
    User.objects.update(email="ada@example.org")
    provider.claims = {"sub": "u1", "email": "ada@example.org", "email_verified": True}
    settings.OIDC_ACCOUNTS = "matched"
    assert not is_signed_in(sign_in_by_provider(provider)[0])


def test_account_is_created_when_allowed_and_stays_private(
    provider: FakeOidcProvider, settings: Any, project: Project, lead: User, client_for: Any
) -> None:
    settings.OIDC_ACCOUNTS = "created"
    settings.MAY_CREATE_PROJECTS = "leads"
    provider.claims = {"sub": "u9", "preferred_username": "ada", "email": "ada@example.org"}
    client, page = sign_in_by_provider(provider)
    assert page["Location"] == "/"
    ada = User.objects.get(username="ada")
    assert (ada.is_staff, ada.has_usable_password()) == (False, False)
    assert AuditLogEntry.objects.get(action="account_created").actor == "ada"
    assert client.get(f"/projects/{project.pk}/").status_code == 404
    assert client.get("/projects/new/").status_code == 403
    # A lead offers her a role, she accepts, and the lead gets no link to her account.
    lead_client = client_for(lead)
    form_data = {"username": "ada", "role": "viewer", "account": "existing"}
    assert lead_client.post(f"/projects/{project.pk}/people/add/", form_data).status_code == 302
    offer_data = {"do": "accept", "role": "viewer"}
    client.post(f"/offers/{MemberOffer.objects.get(user=ada).pk}/", offer_data)
    member = Member.objects.get(user=ada)
    link = f"/projects/{project.pk}/people/members/{member.pk}/link/"
    lead_client.post(link)
    assert not AuditLogEntry.objects.filter(action="invitation_link_created").exists()
    # She creates a token without a password, because she has just signed in.
    assert client.get("/password/").status_code == 302
    assert client.post("/tokens/", {"scope": "read", "days": "30"}).status_code == 200
    session = client.session
    for method in session["account_authentication_methods"]:
        method["at"] -= 600
    session.save()
    assert client.post("/tokens/", {"scope": "read", "days": "30"}).status_code == 400


@pytest.mark.parametrize(
    "claimed", ["coco", "COCO", "\u0441\u043e\u0441\u043e", "c\u043eco", "co co\u202e"]
)
def test_created_username_is_not_confusable(
    provider: FakeOidcProvider, settings: Any, make_user: Any, claimed: str
) -> None:
    """This holds whatever name the provider sends."""
    make_user("coco")
    settings.OIDC_ACCOUNTS = "created"
    provider.claims = {"sub": "u9", "preferred_username": claimed, "email": "ada@example.org"}
    assert is_signed_in(sign_in_by_provider(provider)[0])
    new_user = User.objects.exclude(username="coco").get()
    assert new_user.username.isascii()
    assert new_user.username.lower() not in ("coco", "")


def test_username_in_another_alphabet_is_kept(provider: FakeOidcProvider, settings: Any) -> None:
    settings.OIDC_ACCOUNTS = "created"
    name = "\u0430\u043d\u043d\u0430"
    provider.claims = {"sub": "u9", "preferred_username": name, "email": "a@b.example"}
    sign_in_by_provider(provider)
    assert User.objects.get().username == name


def test_address_in_use_creates_no_second_account(
    provider: FakeOidcProvider, settings: Any, lead: User
) -> None:
    settings.OIDC_ACCOUNTS = "created"
    User.objects.update(email="ada@example.org")
    provider.claims = {"sub": "u9", "email": "ada@example.org"}
    assert not is_signed_in(sign_in_by_provider(provider)[0])
    assert User.objects.count() == 1


def test_user_connects_and_disconnects_own_account(
    provider: FakeOidcProvider, lead: User, viewer: User
) -> None:
    client = Client()
    client.post("/sign-in/", {"username": "lead", "password": PASSWORD})
    page = "/account/connected/"
    assert client.get(page).status_code == 200
    sign_in_by_provider(provider, client, process="connect")
    account = SocialAccount.objects.get()
    assert (account.user, account.uid) == (lead, "u1")
    assert AuditLogEntry.objects.filter(action="sign_in_connected", actor="lead").count() == 1
    other_client = Client()
    other_client.post("/sign-in/", {"username": "viewer", "password": PASSWORD})
    sign_in_by_provider(provider, other_client, process="connect")  # it belongs to another user
    assert other_client.post(page, {"account": account.pk}).status_code == 400
    assert SocialAccount.objects.get().user == lead
    assert AuditLogEntry.objects.filter(action="sign_in_connected").count() == 1
    assert client.post(page, {"account": account.pk}).status_code == 302
    assert not SocialAccount.objects.exists()
    assert AuditLogEntry.objects.filter(action="sign_in_disconnected", actor="lead").exists()
