"""What a password alone opens where there is a second factor, and where one must be: nothing."""

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

from agreement_site.accounts import required_actions, sign_in_limit
from agreement_site.models import TrailLine
from projects import authentication
from projects.models import Project
from tests.cast import PASSWORD

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("the factors are a library's, and ask what any session asks"),
]

DOOR = "/sign-in/second-factor/"
SET_UP = "/account/second-factor/"
APP = "/account/second-factor/app/"
CODES = "/account/second-factor/codes/"


def code_of(secret: str, ahead: int = 0) -> str:
    """RFC 6238: what an app shows now, or so many steps of 30 s later."""
    counter = struct.pack(">Q", int(time.time()) // 30 + ahead)
    digest = hmac.new(base64.b32decode(secret), counter, hashlib.sha1).digest()
    start = digest[-1] & 15
    value = struct.unpack(">I", digest[start : start + 4])[0] & 0x7FFFFFFF
    return f"{value % 1_000_000:06}"


def signed_in(name: str = "lead", **more: Any) -> Client:
    """Through the door, with the password."""
    client = Client(**more)
    client.post("/sign-in/", {"username": name, "password": PASSWORD})
    return client


def set_up(client: Client) -> str:
    """The secret of the app that is set up now."""
    secret = re.search(r'<code class="mono">(\w+)</code>', client.get(APP).content.decode())
    assert secret is not None
    answer = client.post(APP, {"code": code_of(secret[1])})
    assert answer["Location"] == CODES
    return secret[1]


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def acts() -> list[str]:
    return list(TrailLine.objects.order_by("pk").values_list("what", flat=True))


@pytest.fixture
def secret(lead: User) -> str:
    return set_up(signed_in())


def test_the_password_alone_opens_nothing(secret: str) -> None:
    client = signed_in()
    assert not is_in(client)
    assert client.get("/tokens/").status_code == 302
    assert client.get("/admin/").status_code == 302
    assert client.get("/api/v1/projects/").status_code == 401
    page = client.get(DOOR)
    assert page.status_code == 200
    assert client.post(DOOR, {"code": "000000"}).status_code == 400
    assert not is_in(client)
    assert client.post(DOOR, {"code": code_of(secret, 1)})["Location"] == "/"
    assert is_in(client)
    line = TrailLine.objects.filter(what="sign_in").latest("pk")
    assert line.details == {"by_way_of": ["password", "totp"]}
    assert "second_factor_wrong" in acts()


def test_it_leads_to_the_page_that_was_asked_for(secret: str) -> None:
    client = Client()
    form = {"username": "lead", "password": PASSWORD, "next": "/tokens/"}
    assert client.post("/sign-in/", form)["Location"] == DOOR
    assert client.post(DOOR, {"code": code_of(secret, 1)})["Location"] == "/tokens/"


def test_a_code_opens_one_door_in_whichever_process(secret: str) -> None:
    """allauth remembers used codes in the memory of a process."""
    from django.core.cache import cache

    with time_machine.travel(time.time() + 60, tick=False):
        code = code_of(secret)
        assert signed_in().post(DOOR, {"code": code}).status_code == 302
        cache.clear()
        assert signed_in().post(DOOR, {"code": code}).status_code == 400


def test_codes_are_guessed_as_seldom_as_passwords(secret: str) -> None:
    codes = []
    for number in range(sign_in_limit.MAX_TRIES_PER_NAME + 1):
        client = signed_in(REMOTE_ADDR=f"10.0.0.{number}")
        codes.append(client.post(DOOR, {"code": "000000"}).status_code)
    assert codes == [400] * sign_in_limit.MAX_TRIES_PER_NAME + [429]
    assert client.post(DOOR, {"code": code_of(secret, 1)}).status_code == 429


def test_a_recovery_code_works_once(secret: str, lead: User) -> None:
    client = signed_in()
    client.post(DOOR, {"code": code_of(secret, 1)})
    shown = re.findall(r"<li>(\d{8})</li>", client.get(CODES).content.decode())
    assert len(shown) == 10
    other = signed_in()
    assert other.post(DOOR, {"code": shown[3]}).status_code == 302
    assert is_in(other)
    again = signed_in()
    assert again.post(DOOR, {"code": shown[3]}).status_code == 400
    assert again.post(DOOR, {"code": shown[4]}).status_code == 302
    assert client.post(CODES + "new/").status_code == 302
    assert signed_in().post(DOOR, {"code": shown[5]}).status_code == 400
    assert "recovery_codes_made" in acts()


def test_with_it_other_sessions_end(lead: User) -> None:
    other, own = signed_in(), signed_in()
    set_up(own)
    assert own.get("/tokens/").status_code == 200
    assert other.get("/tokens/").status_code == 302
    line = TrailLine.objects.get(what="second_factor_added")
    assert (line.actor, line.after) == ("lead", {"kind": "totp"})


def test_a_session_left_open_changes_no_second_factor(lead: User, secret: str) -> None:
    client = signed_in()
    client.post(DOOR, {"code": code_of(secret, 1)})
    with time_machine.travel(time.time() + 600, tick=False):
        for page in (
            CODES,
            CODES + "new/",
            APP + "remove/",
            "/account/second-factor/passkeys/add/",
        ):
            answer = client.get(page)
            assert answer["Location"].startswith("/account/confirm/"), page
        assert client.post(APP + "remove/")["Location"].startswith("/account/confirm/")
        again = "/account/confirm/?next=" + APP + "remove/"
        assert client.post(again, {"password": "wrong"}).status_code == 400
        assert client.post("/account/confirm/code/", {"code": "1"}).status_code == 400
        assert Authenticator.objects.filter(type="totp").exists()
        # what was asked for goes on where it stood
        assert client.post(again, {"password": PASSWORD}).status_code == 302
    assert not Authenticator.objects.exists()
    assert "second_factor_removed" in acts()
    assert is_in(signed_in())


def test_passwords_are_counted_there_too(lead: User) -> None:
    client = signed_in()
    codes = [client.post("/account/confirm/", {"password": "x"}).status_code for _ in range(11)]
    assert codes == [400] * 10 + [429]


# --- where one must be


def required(settings: Any, of_whom: str) -> None:
    settings.REQUIRE_SECOND_FACTOR = of_whom


@pytest.mark.parametrize(
    ("of_whom", "asked"),
    [
        ("nobody", set()),
        ("staff", {"admin"}),
        ("leads", {"admin", "lead"}),
        ("everybody", {"admin", "lead", "viewer", "annotator"}),
    ],
)
def test_of_whom_it_is_asked(
    settings: Any, project: Project, admin: User, of_whom: str, asked: set[str]
) -> None:
    required(settings, of_whom)
    found = set()
    for name in ("admin", "lead", "viewer", "annotator"):
        answer = signed_in(name).get("/tokens/")
        if answer.status_code == 302:
            assert answer["Location"] == SET_UP
            found.add(name)
    assert found == asked


def every_path(patterns: Any = None) -> list[str]:
    """An address for each page of the site and of the admin, with invented arguments."""
    found = []
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        start = re.sub(r"<[^>]+>", "1", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            found += [start + rest for rest in every_path(pattern.url_patterns)]
        elif not set(start) & set("^$?("):  # the catch-alls of the API and of the admin
            found.append(start)
    return found


def test_no_page_is_open_before_it_is_set_up(
    settings: Any, project: Project, admin: User, client_for: Callable[..., Client]
) -> None:
    required(settings, "everybody")
    client = client_for(admin)
    seen = 0
    for path in {f"/{path}" for path in every_path()}:
        match = resolve(path)
        if match.url_name in required_actions.SECOND_FACTOR_EXEMPT and not match.namespace:
            continue
        if match.url_name == "fixed":  # style sheets and scripts, before anybody is asked who
            continue
        answer = client.get(path)
        seen += 1
        if path.startswith("/api/"):
            assert answer.status_code == 403, path
        else:
            assert (answer.status_code, answer["Location"]) == (302, SET_UP), path
    assert seen > 100
    # what is left open
    for path in ("/account/second-factor/", "/livez", "/password/"):
        assert client.get(path).status_code == 200
    # a token of the API was made behind this door
    program = APIClient()
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {authentication.create_token(user=admin)}")
    assert program.get("/api/v1/projects/").status_code == 200
    # but a header that is no token lends a session nothing
    for header in ("Basic eDp5", "Bearer wrong"):
        answer = client.get("/api/v1/projects/", headers={"Authorization": header})
        assert answer.status_code in (401, 403)


def test_after_setting_it_up_all_is_open_and_the_last_one_stays(settings: Any, admin: User) -> None:
    required(settings, "staff")
    client = signed_in("admin")
    assert client.get("/admin/").status_code == 302
    set_up(client)
    assert client.get("/admin/").status_code == 200
    assert client.post(APP + "remove/").status_code == 400
    assert Authenticator.objects.filter(type="totp").exists()


def test_an_administrator_takes_it_away_and_sees_no_secret(
    secret: str, admin: User, client_for: Callable[..., Client]
) -> None:
    client = client_for(admin)
    app = Authenticator.objects.get(type="totp")
    for page in ("", f"{app.pk}/change/"):
        answer = client.get(f"/admin/mfa/authenticator/{page}")
        assert answer.status_code == 200
        assert secret not in answer.content.decode()
    gone = client.post(f"/admin/mfa/authenticator/{app.pk}/delete/", {"post": "yes"})
    assert gone.status_code == 302
    assert is_in(signed_in())
    line = TrailLine.objects.get(what="admin_removed")
    assert secret not in str([line.before, line.after, line.details])
    staff = User.objects.create_user("staff", password=PASSWORD, is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(content_type__app_label="mfa"))
    assert client_for(staff).get("/admin/mfa/authenticator/").status_code == 403
