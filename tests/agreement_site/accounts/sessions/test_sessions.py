"""Where one is signed in, and ending that."""

from __future__ import annotations

import re
from typing import Any

import pytest
import time_machine
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agreement_site.accounts.sessions.views import describe_browser
from agreement_site.models import TrailLine
from tests.cast import PASSWORD

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
    assert describe_browser(edge) == "Edge, Windows"
    assert describe_browser(phone) == "Safari, iOS"
    assert describe_browser("curl/8.0") == "curl/8.0"


def test_a_session_that_nobody_uses_ends(lead: User, settings: Any) -> None:
    settings.SESSION_IDLE_HOURS = 2
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        client = signed_in()
        for _hour in range(3):  # used each hour, it goes on
            traveller.shift(3600)
            assert client.get("/tokens/").status_code == 200
        assert UserSession.objects.get().last_seen_at.hour == 15
        traveller.shift(2 * 3600 + 1)
        assert client.get("/tokens/").status_code == 302
    assert not Session.objects.exists()


def test_no_session_outlives_its_days_however_it_is_used(lead: User) -> None:
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        client = signed_in()
        for _day in range(13):
            traveller.shift(86400)
            assert client.get("/tokens/").status_code == 200
        traveller.shift(86400 + 1)
        assert client.get("/tokens/").status_code == 302


def test_a_session_is_written_now_and_then_alone(lead: User) -> None:
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        client = signed_in()
        client.get("/account/sessions/")
        with CaptureQueriesContext(connection) as first:
            client.get("/account/second-factor/")
        traveller.shift(11 * 60)
        with CaptureQueriesContext(connection) as second:
            client.get("/account/second-factor/")
        assert not [one for one in first if one["sql"].startswith("UPDATE")]
        assert len([one for one in second if one["sql"].startswith("UPDATE")]) == 2


def test_superusers_end_sessions(lead: User, admin: User, client_for: Any) -> None:
    client = signed_in()
    chosen = {"action": "end", "_selected_action": [UserSession.objects.get(user=lead).pk]}
    assert client_for(admin).post("/admin/usersessions/usersession/", chosen).status_code == 302
    assert client.get("/tokens/").status_code == 302
    assert TrailLine.objects.get(what="session_revoked").before == {"of": "lead"}
