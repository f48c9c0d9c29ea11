"""Tests of the page that lists and ends the user's sessions."""

from __future__ import annotations

import re
from typing import Any

import pytest
import time_machine
from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agreement_site.accounts.sessions import describe_browser
from agreement_site.models import AuditLogEntry
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db

PAGE = "/account/sessions/"


def sign_in(name: str = "lead", browser: str = "Firefox", address: str = "10.0.0.1") -> Client:
    """Return a client with this browser and address in which the user is signed in."""
    client = Client(HTTP_USER_AGENT=browser, REMOTE_ADDR=address)
    client.post("/sign-in/", {"username": name, "password": PASSWORD})
    return client


def test_user_sees_and_ends_own_sessions(lead: User, viewer: User) -> None:
    own_client, other_client, foreign_client = (
        sign_in(),
        sign_in(browser="Other"),
        sign_in("viewer", "Foreign"),
    )
    page = own_client.get(PAGE).content.decode()
    assert "Firefox" in page
    assert "10.0.0.1" in page
    assert "Foreign" not in page
    [end_url] = re.findall(r'action="(/account/sessions/\d+/end/)"', page)
    foreign_session = UserSession.objects.get(user=viewer)
    assert own_client.post(f"{PAGE}{foreign_session.pk}/end/").status_code == 404
    assert foreign_client.post(end_url).status_code == 404
    assert own_client.get(end_url).status_code == 405
    assert own_client.post(end_url)["Location"] == PAGE
    assert other_client.get("/tokens/").status_code == 302
    assert own_client.get("/tokens/").status_code == 200
    assert foreign_client.get("/tokens/").status_code == 200
    entry = AuditLogEntry.objects.get(action="session_revoked")
    assert (entry.actor, entry.before) == ("lead", {"browser": "Other"})


def test_all_other_sessions_end_at_once(lead: User) -> None:
    own_client, other_clients = sign_in(), [sign_in(), sign_in()]
    assert own_client.post(PAGE + "end/")["Location"] == PAGE
    assert [client.get("/tokens/").status_code for client in other_clients] == [302, 302]
    assert own_client.get("/tokens/").status_code == 200
    assert UserSession.objects.count() == 1


def test_password_change_keeps_the_own_session(lead: User) -> None:
    own_client, other_client = sign_in(), sign_in()
    new_passwords = {"new_password1": "another long one", "new_password2": "another long one"}
    assert (
        own_client.post("/password/", {"old_password": PASSWORD, **new_passwords}).status_code
        == 302
    )
    assert other_client.get("/tokens/").status_code == 302
    page = own_client.get(PAGE).content.decode()
    assert page.count("<tr>") == 2  # the table head and this session


@pytest.mark.parametrize("address", ["", "unix:", "10.0.0.1, evil", "2001:db8::1"])
def test_invalid_address_does_not_prevent_signing_in(lead: User, address: str) -> None:
    client = sign_in(address=address)
    assert client.get(PAGE).status_code == 200


def test_browser_name_is_derived_from_the_user_agent() -> None:
    edge = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0"
    phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1"
    assert describe_browser(edge) == "Edge, Windows"
    assert describe_browser(phone) == "Safari, iOS"
    assert describe_browser("curl/8.0") == "curl/8.0"


def test_idle_session_ends(lead: User, settings: Any) -> None:
    settings.SESSION_IDLE_HOURS = 2
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        client = sign_in()
        for _hour in range(3):  # used each hour, the session continues
            traveller.shift(3600)
            assert client.get("/tokens/").status_code == 200
        assert UserSession.objects.get().last_seen_at.hour == 15
        traveller.shift(2 * 3600 + 1)
        assert client.get("/tokens/").status_code == 302
    assert not Session.objects.exists()


def test_session_ends_after_its_maximum_age(lead: User) -> None:
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        client = sign_in()
        for _day in range(13):
            traveller.shift(86400)
            assert client.get("/tokens/").status_code == 200
        traveller.shift(86400 + 1)
        assert client.get("/tokens/").status_code == 302


def test_session_of_a_provider_ends_after_its_hours(lead: User, settings: Any) -> None:
    settings.PROVIDER_SESSION_HOURS = 8
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        own, provided = sign_in(), sign_in()
        session = provided.session
        session[AUTHENTICATION_METHODS_SESSION_KEY] = [{"method": "socialaccount"}]
        session.save()
        traveller.shift(8 * 3600 - 1)
        assert provided.get("/tokens/").status_code == 200
        traveller.shift(2)
        assert provided.get("/tokens/").status_code == 302
        assert own.get("/tokens/").status_code == 200


def test_session_is_not_saved_on_every_request(lead: User) -> None:
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        client = sign_in()
        client.get("/account/sessions/")
        with CaptureQueriesContext(connection) as first_queries:
            client.get("/account/second-factor/")
        traveller.shift(11 * 60)
        with CaptureQueriesContext(connection) as second_queries:
            client.get("/account/second-factor/")
        assert not [query for query in first_queries if query["sql"].startswith("UPDATE")]
        assert len([query for query in second_queries if query["sql"].startswith("UPDATE")]) == 2


def test_superuser_can_end_sessions(lead: User, admin: User, client_for: Any) -> None:
    client = sign_in()
    action_data = {"action": "end", "_selected_action": [UserSession.objects.get(user=lead).pk]}
    assert (
        client_for(admin).post("/admin/usersessions/usersession/", action_data).status_code == 302
    )
    assert client.get("/tokens/").status_code == 302
    assert AuditLogEntry.objects.get(action="session_revoked").before == {"user": "lead"}
