"""Where one is signed in, and ending that."""

from __future__ import annotations

import re

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.test import Client

from agreement_site.accounts.sessions import browser_of
from agreement_site.models import TrailLine
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db

PAGE = "/account/sessions/"


def signed_in(name: str = "lead", browser: str = "Firefox", address: str = "10.0.0.1") -> Client:
    client = Client(HTTP_USER_AGENT=browser, REMOTE_ADDR=address)
    client.post("/sign-in/", {"username": name, "password": PASSWORD})
    return client


def test_one_sees_ones_own_sessions_and_ends_one(lead: User, viewer: User) -> None:
    own, other, foreign = signed_in(), signed_in(browser="Other"), signed_in("viewer", "Foreign")
    page = own.get(PAGE).content.decode()
    assert "Firefox" in page
    assert "10.0.0.1" in page
    assert "Foreign" not in page
    [end] = re.findall(r'action="(/account/sessions/\d+/end/)"', page)
    theirs = UserSession.objects.get(user=viewer)
    assert own.post(f"{PAGE}{theirs.pk}/end/").status_code == 404
    assert foreign.post(end).status_code == 404
    assert own.get(end).status_code == 405
    assert own.post(end)["Location"] == PAGE
    assert other.get("/tokens/").status_code == 302
    assert own.get("/tokens/").status_code == 200
    assert foreign.get("/tokens/").status_code == 200
    line = TrailLine.objects.get(what="session_revoked")
    assert (line.actor, line.before) == ("lead", {"browser": "Other"})


def test_all_others_end_at_once_and_the_own_one_goes_on(lead: User) -> None:
    own, others = signed_in(), [signed_in(), signed_in()]
    assert own.post(PAGE + "end/")["Location"] == PAGE
    assert [one.get("/tokens/").status_code for one in others] == [302, 302]
    assert own.get("/tokens/").status_code == 200
    assert UserSession.objects.count() == 1


def test_a_change_of_the_password_leaves_the_own_session_listed(lead: User) -> None:
    own, other = signed_in(), signed_in()
    both = {"new_password1": "another long one", "new_password2": "another long one"}
    assert own.post("/password/", {"old_password": PASSWORD, **both}).status_code == 302
    assert other.get("/tokens/").status_code == 302
    page = own.get(PAGE).content.decode()
    assert page.count("<tr>") == 2  # its head, and this one


@pytest.mark.parametrize("address", ["", "unix:", "10.0.0.1, evil", "2001:db8::1"])
def test_whatever_the_address_somebody_gets_in(lead: User, address: str) -> None:
    client = signed_in(address=address)
    assert client.get(PAGE).status_code == 200


def test_a_browser_is_named_by_what_it_is() -> None:
    edge = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0"
    phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1"
    assert browser_of(edge) == "Edge, Windows"
    assert browser_of(phone) == "Safari, iOS"
    assert browser_of("curl/8.0") == "curl/8.0"
