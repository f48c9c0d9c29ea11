"""Tests of signing in: access, what strangers can learn, and rate limits."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import time_machine
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.db import connection
from django.test import Client
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from agreement_site.accounts import attempt_limits
from agreement_site.models import AttemptCounter
from core import security_log
from projects.models import ApiToken
from projects.services import tokens
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db


def try_to_sign_in(
    client: Client, username: str = "lead", password: str = PASSWORD, **request_options
):
    return client.post("/sign-in/", {"username": username, "password": password}, **request_options)


def test_correct_password_leads_to_the_projects(client, lead):
    assert client.get("/sign-in/").status_code == 200
    response = try_to_sign_in(client)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(lead.pk)


def test_redirect_after_sign_in_stays_on_the_site(lead):
    for next_url, expected in (
        ("/projects/new/", "/projects/new/"),
        ("https://evil.example/", "/"),
    ):
        response = Client().post(
            "/sign-in/", {"username": "lead", "password": PASSWORD, "next": next_url}
        )
        assert response["Location"] == expected


def test_all_failures_get_the_same_response(client, lead, make_user):
    make_user("closed", is_active=False)
    pages = []
    for username, password in (("nobody", PASSWORD), ("lead", "wrong"), ("closed", PASSWORD)):
        response = try_to_sign_in(Client(), username, password)
        assert response.status_code == 400
        pages.append(response.content.decode().replace(f'value="{username}"', "NAME"))
    first, second, third = (
        re.sub('name="csrfmiddlewaretoken" value="[^"]+"', "TOKEN", page) for page in pages
    )
    assert first == second == third
    assert "TOKEN" in first


def test_signing_in_changes_the_session_key(client, lead):
    client.get("/sign-in/")
    session = client.session
    session["before"] = 1
    session.save()
    old_key = session.session_key
    client.cookies["sessionid"] = old_key
    try_to_sign_in(client)
    assert client.session.session_key != old_key
    assert not client.session.__class__().exists(old_key)


def test_signing_out_needs_a_post_and_ends_the_session(client, lead):
    client.force_login(lead)
    assert client.get("/sign-out/").status_code == 405
    old_session = client.cookies["sessionid"].value
    assert client.post("/sign-out/")["Location"] == "/sign-in/"
    client.cookies["sessionid"] = old_session
    assert client.get("/tokens/").status_code == 302


def test_ten_failures_block_even_the_correct_password(client, lead):
    for _ in range(attempt_limits.MAX_ATTEMPTS_PER_NAME):
        assert try_to_sign_in(client, password="wrong").status_code == 400
    response = try_to_sign_in(client)
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 300
    assert "_auth_user_id" not in client.session


def test_block_ends_after_the_time_window(client, lead):
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        for _ in range(11):
            response = try_to_sign_in(client, password="wrong")
        assert response.status_code == 429
        traveller.shift(int(response["Retry-After"]))
        assert try_to_sign_in(client).status_code == 302


def test_other_names_and_addresses_are_not_blocked(client, lead, viewer):
    for _ in range(11):
        try_to_sign_in(client, "LEAD", "wrong")
    assert try_to_sign_in(Client(), "lead").status_code == 429
    assert try_to_sign_in(Client(), "viewer").status_code == 302
    assert try_to_sign_in(Client(REMOTE_ADDR="10.0.0.9")).status_code == 302


def test_address_that_tries_many_names_is_blocked(client, lead, monkeypatch):
    monkeypatch.setattr(attempt_limits, "MAX_ATTEMPTS_PER_NETWORK", 20)
    statuses = [
        try_to_sign_in(client, f"name{number}", "wrong").status_code for number in range(21)
    ]
    assert statuses == [400] * 20 + [429]


def test_name_tried_from_many_addresses_is_slowed_down(lead, monkeypatch):
    """One attempt a minute is checked, so the owner of the name is never blocked."""
    monkeypatch.setattr(attempt_limits, "MAX_ATTEMPTS_PER_NAME_ANYWHERE", 5)
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        statuses = [
            try_to_sign_in(Client(REMOTE_ADDR=f"10.0.0.{n}"), password="wrong").status_code
            for n in range(8)
        ]
        assert statuses == [400] * 6 + [429] * 2
        assert int(try_to_sign_in(Client(REMOTE_ADDR="10.0.1.1"))["Retry-After"]) <= 60
        traveller.shift(60)
        assert try_to_sign_in(Client(REMOTE_ADDR="10.0.1.1")).status_code == 302


def test_ipv6_network_counts_as_one_address(lead):
    for number in range(attempt_limits.MAX_ATTEMPTS_PER_NAME):
        try_to_sign_in(Client(REMOTE_ADDR=f"2001:db8::{number:x}"), password="wrong")
    assert try_to_sign_in(Client(REMOTE_ADDR="2001:db8::ffff")).status_code == 429
    assert try_to_sign_in(Client(REMOTE_ADDR="2001:db8:0:1::1")).status_code == 302


@pytest.mark.parametrize(
    ("page", "form"),
    [
        ("/password/", {"old_password": "x", "new_password1": "n", "new_password2": "n"}),
        ("/tokens/", {"password": "x", "scope": "read", "days": "30"}),
    ],
)
def test_other_password_fields_are_rate_limited(client_for, lead, page, form):
    client = client_for(lead)
    statuses = [client.post(page, form).status_code for _ in range(11)]
    assert statuses == [400] * 10 + [429]
    assert "Retry-After" in client.post(page, form)


def test_password_change_revokes_tokens_if_requested(client, lead):
    client.force_login(lead)
    tokens.create_token(user=lead)
    first_change = {
        "old_password": PASSWORD,
        "new_password1": "another one x",
        "new_password2": "another one x",
    }
    client.post("/password/", first_change)  # an unchecked checkbox is not sent
    assert ApiToken.objects.filter(revoked_at=None).exists()
    assert "checked" in str(client.get("/password/").context["form"]["revoke_tokens"])
    second_change = {
        "old_password": "another one x",
        "new_password1": "a third one y",
        "new_password2": "a third one y",
    }
    client.post("/password/", {**second_change, "revoke_tokens": "on"})
    assert not ApiToken.objects.filter(revoked_at=None).exists()


def test_invitation_of_a_deactivated_account_is_invalid(client, make_user):
    user = make_user("late")
    user.set_unusable_password()
    user.is_active = False
    user.save()
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    page = client.get(f"/invitations/{uid}/{token}/", follow=True)
    assert page.context["validlink"] is False


def test_correct_password_resets_the_attempt_count(lead):
    for _ in range(3):
        for _ in range(6):
            try_to_sign_in(Client(), password="wrong")
        assert try_to_sign_in(Client()).status_code == 302


def test_client_address_comes_from_the_proxy(rf, settings):
    request = rf.post(
        "/sign-in/", REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="6.6.6.6, 10.1.2.3"
    )
    assert security_log.get_client_address(request) == "127.0.0.1"
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert security_log.get_client_address(request) == "10.1.2.3"
    for forwarded in ("6.6.6.6,", "a, b", "x" * 60, "1.2.3.4:5", "10.1.2.3 OR", " , "):
        request.META["HTTP_X_FORWARDED_FOR"] = forwarded
        assert security_log.get_client_address(request) == "127.0.0.1"
    request.META["HTTP_X_FORWARDED_FOR"] = "6.6.6.6, 2001:DB8:0:0::1"
    assert security_log.get_client_address(request) == "2001:db8::1"


def test_old_attempt_counts_are_deleted_and_names_are_hashed(client, lead):
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        try_to_sign_in(client, "my secret password", "x")
        assert not AttemptCounter.objects.filter(key__contains="secret").exists()
        traveller.shift(301)
        try_to_sign_in(client, "lead", "wrong")
    # One address, and two names: from it and from anywhere.
    assert AttemptCounter.objects.count() == 5
    with time_machine.travel("2026-03-01T14:00:00Z"):
        try_to_sign_in(client, "lead", "wrong")
    assert AttemptCounter.objects.count() == 3


def test_admin_uses_the_sign_in_page_of_the_site(client, lead, admin):
    response = client.get("/admin/login/?next=/admin/ratings/")
    assert response["Location"] == "/sign-in/?next=%2Fadmin%2Fratings%2F"
    client.force_login(lead)
    assert client.get("/admin/", follow=True).status_code == 403


def test_password_change_needs_the_old_one_and_ends_sessions(client, lead):
    other_client = Client()
    for browser in (client, other_client):
        browser.force_login(lead)
    new_passwords = {"new_password1": "another long one", "new_password2": "another long one"}
    assert client.post("/password/", {"old_password": "wrong", **new_passwords}).status_code == 400
    assert client.post("/password/", {"old_password": PASSWORD, **new_passwords}).status_code == 302
    assert client.get("/tokens/").status_code == 200
    assert other_client.get("/tokens/").status_code == 302


def build_invitation_link(user: User) -> str:
    return f"/invitations/{urlsafe_base64_encode(force_bytes(user.pk))}/{default_token_generator.make_token(user)}/"


def test_invitation_works_once(client):
    user = User.objects.create(username="new")
    user.set_unusable_password()
    user.save()
    link = build_invitation_link(user)
    page = client.get(link, follow=True)
    assert page.status_code == 200
    assert "Choose a password for your account new." in page.content.decode()
    form = page.redirect_chain[-1][0]
    rejected = client.post(form, {"new_password1": "short", "new_password2": "short"})
    assert rejected.status_code == 400
    assert list(rejected.context["form"].errors) == ["new_password1"]
    accepted = client.post(
        form, {"new_password1": "a fine long secret", "new_password2": "a fine long secret"}
    )
    assert accepted["Location"] == "/"
    assert client.session["_auth_user_id"] == str(user.pk)
    assert "This invitation has expired" in Client().get(link, follow=True).content.decode()
    assert "This invitation has expired" in Client().get("/invitations/xx/yy/").content.decode()


@pytest.mark.django_db(transaction=True)
def test_simultaneous_attempts_are_all_counted():
    """Simultaneous guesses get no more password checks than successive ones."""

    def count_attempt(_attempt):
        try:
            return attempt_limits.count_attempt_and_get_wait("lead", "10.0.0.1")
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(count_attempt, range(24)))
    assert waits.count(0) == attempt_limits.MAX_ATTEMPTS_PER_NAME
