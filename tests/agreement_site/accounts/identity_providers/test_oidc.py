"""Signing in by a provider of OpenID Connect: one in this process, which signs its tokens with a key
of its own."""

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

from agreement_site.accounts.identity_providers.oidc import SocialAdapter
from agreement_site.models import TrailLine
from projects.models import Member, MemberOffer, Project
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db

SERVER = "https://id.example.org"
LOGIN = "/oidc/oidc/login/"
KEY, OTHER_KEY = (rsa.generate_private_key(65537, 2048) for _ in range(2))


@dataclass
class Provider:
    """What the site asks it, without a network: discovery, token, keys, userinfo."""

    claims: dict[str, Any] = field(default_factory=lambda: {"sub": "u1"})
    userinfo: dict[str, Any] | None = None
    token: dict[str, Any] = field(default_factory=dict)  # other claims than right ones
    key: Any = KEY
    challenge: str = ""
    nonce: str = ""
    away: bool = False

    def __enter__(self) -> Provider:
        return self

    def __exit__(self, *_error: Any) -> None:
        pass

    def get(self, url: str, **_more: Any) -> requests.Response:
        if self.away:
            raise requests.ConnectionError
        jwk = {**RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": "k", "alg": "RS256"}
        return answer(
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
        if method == "GET":
            return self.get(url)
        sent = dict(parse_qsl(data)) if isinstance(data, str) else data
        digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == self.challenge
        told = {"iss": SERVER, "aud": "concord", "exp": time.time() + 60, **self.claims}
        told["nonce"] = self.nonce
        signed = jwt.encode({**told, **self.token}, self.key, "RS256", headers={"kid": "k"})
        return answer({"access_token": "a", "token_type": "Bearer", "id_token": signed})


def answer(content: Any) -> requests.Response:
    made = requests.Response()
    made.status_code = 200
    made.headers["content-type"] = "application/json"
    made._content = requests.compat.json.dumps(content).encode()
    return made


@pytest.fixture
def provider(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Provider:
    settings.OIDC_SERVER_URL = SERVER
    app = {"provider_id": "oidc", "name": "Example", "client_id": "concord", "secret": "s"}
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "APPS": [{**app, "settings": {"server_url": SERVER}}],
        }
    }
    made = Provider()
    monkeypatch.setattr(SocialAdapter, "get_requests_session", lambda self: made)
    return made


def come(provider: Provider, client: Client | None = None, **form: str) -> tuple[Client, Any]:
    """To the provider and back."""
    client = client or Client()
    away = client.post(LOGIN, form)
    assert away["Location"].startswith(SERVER + "/authorize?")
    asked = {name: value for name, [value] in parse_qs(urlsplit(away["Location"]).query).items()}
    assert asked["client_id"] == "concord"
    provider.challenge, provider.nonce = asked["code_challenge"], asked["nonce"]
    back = {"code": "c", "state": asked["state"]}
    return client, client.get(urlsplit(asked["redirect_uri"]).path, back)


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def connected(user: User, uid: str = "u1") -> None:
    SocialAccount.objects.create(user=user, provider="oidc", uid=uid)


def test_without_a_provider_there_are_no_such_pages(client: Client, lead: User) -> None:
    assert client.post(LOGIN).status_code == 404
    assert client.get(LOGIN + "callback/").status_code == 404
    assert "oidc" not in client.get("/sign-in/").content.decode()
    client.force_login(lead)
    assert client.get("/account/connected/").status_code == 404


def test_somebody_unknown_stays_outside(provider: Provider, client: Client) -> None:
    assert LOGIN in client.get("/sign-in/").content.decode()
    client, page = come(provider)
    assert (page.status_code, is_in(client)) == (200, False)
    assert "No account here" in page.content.decode()
    assert not User.objects.exists()


def test_a_connected_account_comes_in_and_its_second_factor_is_asked(
    provider: Provider, lead: User, settings: Any
) -> None:
    connected(lead)
    client, page = come(provider, next="/tokens/")
    assert page["Location"] == "/tokens/"
    assert client.session["_auth_user_id"] == str(lead.pk)
    line = TrailLine.objects.get(what="sign_in")
    assert (line.actor, line.details) == ("lead", {"by_way_of": ["socialaccount"]})
    settings.REQUIRE_SECOND_FACTOR = "everybody"
    assert client.get("/tokens/")["Location"] == "/account/second-factor/"
    settings.OIDC_SECOND_FACTOR = True
    assert client.get("/tokens/").status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": OTHER_KEY},
        {"token": {"aud": "another"}},
        {"token": {"iss": "https://evil.example"}},
        {"token": {"exp": 1}},
        {"token": {"nonce": "another"}},
        {"token": {"nonce": None}},
        {"userinfo": {"sub": "u1"}, "claims": {"sub": "u2"}},  # two people
    ],
)
def test_what_cannot_be_trusted_opens_nothing(
    provider: Provider, lead: User, wrong: dict[str, Any]
) -> None:
    connected(lead)
    for name, value in wrong.items():
        setattr(provider, name, value)
    client, page = come(provider)
    assert (page.status_code, is_in(client)) == (401, False)
    assert TrailLine.objects.get(what="sign_in_failed").details["provider"] == "Example"


def test_a_state_of_somebody_else_opens_nothing(provider: Provider, lead: User) -> None:
    connected(lead)
    client = Client()
    page = client.get(LOGIN + "callback/", {"code": "c", "state": "forged"})
    assert (page.status_code, is_in(client)) == (401, False)


def test_a_token_is_of_the_browser_that_asked_and_taken_once(
    provider: Provider, lead: User
) -> None:
    """Whoever has a token of somebody else's sign-in, or an older one, comes in nowhere."""
    connected(lead)
    client, _page = come(provider)
    assert is_in(client)
    client.post("/sign-out/")
    used = provider.nonce
    for browser in (client, Client()):
        away = browser.post(LOGIN)
        asked = dict(parse_qsl(urlsplit(away["Location"]).query))
        provider.challenge, provider.nonce = asked["code_challenge"], used
        page = browser.get(LOGIN + "callback/", {"code": "c", "state": asked["state"]})
        assert (page.status_code, is_in(browser)) == (401, False)


def test_what_is_asked_of_the_provider_is_said_by_the_site(provider: Provider) -> None:
    away = Client().post(f"{LOGIN}?auth_params=nonce%3Dmine%26prompt%3Dnone")
    asked = parse_qs(urlsplit(away["Location"]).query)
    assert "prompt" not in asked
    assert asked["nonce"] != ["mine"]


def test_a_provider_that_is_away_is_said(provider: Provider) -> None:
    provider.away = True
    assert Client().post(LOGIN).status_code == 401


def test_a_closed_account_stays_closed(provider: Provider, make_user: Any) -> None:
    connected(make_user("gone", is_active=False))
    client, page = come(provider)
    assert (page.status_code, is_in(client)) == (302, False)
    assert client.get(page["Location"]).status_code == 200


@pytest.mark.parametrize(
    ("name", "told", "comes_in"),
    [
        ("lead", {"email_verified": True}, True),
        ("lead", {"email_verified": False}, False),
        ("lead", {"email_verified": "true"}, False),
        ("admin", {"email_verified": True}, False),
    ],
)
def test_a_confirmed_address_may_be_enough(
    provider: Provider, settings: Any, lead: User, admin: User, name: str, told: Any, comes_in: bool
) -> None:
    User.objects.filter(username=name).update(email="Ada@example.org")
    provider.claims = {"sub": "u1", "email": "ada@example.org", **told}
    assert not is_in(come(provider)[0])  # not unless the site wants it
    settings.OIDC_ACCOUNTS = "matched"
    assert is_in(come(provider)[0]) == comes_in
    assert TrailLine.objects.filter(what="sign_in_connected").exists() == comes_in


def test_two_accounts_with_one_address_are_none(
    provider: Provider, settings: Any, lead: User, viewer: User
) -> None:
    User.objects.update(email="ada@example.org")
    provider.claims = {"sub": "u1", "email": "ada@example.org", "email_verified": True}
    settings.OIDC_ACCOUNTS = "matched"
    assert not is_in(come(provider)[0])


def test_an_account_is_made_where_the_site_wants_it_and_is_nobody_elses(
    provider: Provider, settings: Any, project: Project, lead: User, client_for: Any
) -> None:
    settings.OIDC_ACCOUNTS = "made"
    settings.MAY_CREATE_PROJECTS = "leads"
    provider.claims = {"sub": "u9", "preferred_username": "ada", "email": "ada@example.org"}
    client, page = come(provider)
    assert page["Location"] == "/"
    ada = User.objects.get(username="ada")
    assert (ada.is_staff, ada.has_usable_password()) == (False, False)
    assert TrailLine.objects.get(what="account_made").actor == "ada"
    assert client.get(f"/projects/{project.pk}/").status_code == 404
    assert client.get("/projects/new/").status_code == 403
    # a lead asks her, she joins, and the lead gets no link to her account
    people = client_for(lead)
    added = {"username": "ada", "role": "viewer", "account": "existing"}
    assert people.post(f"/projects/{project.pk}/people/add/", added).status_code == 302
    offered = {"do": "accept", "role": "viewer"}
    client.post(f"/offers/{MemberOffer.objects.get(user=ada).pk}/", offered)
    member = Member.objects.get(user=ada)
    link = f"/projects/{project.pk}/people/members/{member.pk}/link/"
    people.post(link)
    assert not TrailLine.objects.filter(what="link_made").exists()
    # she makes a token without a password, having just signed in
    assert client.get("/password/").status_code == 302
    assert client.post("/tokens/", {"scope": "read", "days": "30"}).status_code == 200
    session = client.session
    for one in session["account_authentication_methods"]:
        one["at"] -= 600
    session.save()
    assert client.post("/tokens/", {"scope": "read", "days": "30"}).status_code == 400


@pytest.mark.parametrize(
    "claimed", ["coco", "COCO", "\u0441\u043e\u0441\u043e", "c\u043eco", "co co\u202e"]
)
def test_an_account_that_is_made_is_taken_for_nobody_elses(
    provider: Provider, settings: Any, make_user: Any, claimed: str
) -> None:
    """Whatever the provider calls them."""
    make_user("coco")
    settings.OIDC_ACCOUNTS = "made"
    provider.claims = {"sub": "u9", "preferred_username": claimed, "email": "ada@example.org"}
    assert is_in(come(provider)[0])
    made = User.objects.exclude(username="coco").get()
    assert made.username.isascii()
    assert made.username.lower() not in ("coco", "")


def test_a_name_of_another_alphabet_is_kept(provider: Provider, settings: Any) -> None:
    settings.OIDC_ACCOUNTS = "made"
    name = "\u0430\u043d\u043d\u0430"
    provider.claims = {"sub": "u9", "preferred_username": name, "email": "a@b.example"}
    come(provider)
    assert User.objects.get().username == name


def test_an_address_that_somebody_has_makes_no_second_account(
    provider: Provider, settings: Any, lead: User
) -> None:
    settings.OIDC_ACCOUNTS = "made"
    User.objects.update(email="ada@example.org")
    provider.claims = {"sub": "u9", "email": "ada@example.org"}
    assert not is_in(come(provider)[0])
    assert User.objects.count() == 1


def test_one_connects_and_disconnects_ones_own(
    provider: Provider, lead: User, viewer: User
) -> None:
    client = Client()
    client.post("/sign-in/", {"username": "lead", "password": PASSWORD})
    page = "/account/connected/"
    assert client.get(page).status_code == 200
    come(provider, client, process="connect")
    account = SocialAccount.objects.get()
    assert (account.user, account.uid) == (lead, "u1")
    assert TrailLine.objects.filter(what="sign_in_connected", actor="lead").count() == 1
    other = Client()
    other.post("/sign-in/", {"username": "viewer", "password": PASSWORD})
    come(provider, other, process="connect")  # it is another's
    assert other.post(page, {"account": account.pk}).status_code == 400
    assert SocialAccount.objects.get().user == lead
    assert TrailLine.objects.filter(what="sign_in_connected").count() == 1
    assert client.post(page, {"account": account.pk}).status_code == 302
    assert not SocialAccount.objects.exists()
    assert TrailLine.objects.filter(what="sign_in_disconnected", actor="lead").exists()
