"""The door: who gets in, what strangers learn, and how often they may guess."""

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

from agreement_site.accounts import sign_in_limit
from agreement_site.models import SignInTries
from core import security_log
from projects import authentication
from projects.models import ApiToken
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db


def try_to_sign_in(client: Client, username: str = "lead", password: str = PASSWORD, **extra):
    return client.post("/sign-in/", {"username": username, "password": password}, **extra)


def test_a_right_password_leads_to_the_projects(client, lead):
    assert client.get("/sign-in/").status_code == 200
    response = try_to_sign_in(client)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(lead.pk)


def test_it_leads_to_the_page_that_was_asked_for_on_this_site_only(lead):
    for wanted, found in (("/projects/new/", "/projects/new/"), ("https://evil.example/", "/")):
        response = Client().post(
            "/sign-in/", {"username": "lead", "password": PASSWORD, "next": wanted}
        )
        assert response["Location"] == found


def test_unknown_wrong_and_closed_get_the_same_answer(client, lead, make_user):
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


def test_the_session_is_another_one_after_signing_in(client, lead):
    client.get("/sign-in/")
    session = client.session
    session["before"] = 1
    session.save()
    before = session.session_key
    client.cookies["sessionid"] = before
    try_to_sign_in(client)
    assert client.session.session_key != before
    assert not client.session.__class__().exists(before)


def test_signing_out_needs_a_post_and_ends_the_session(client, lead):
    client.force_login(lead)
    assert client.get("/sign-out/").status_code == 405
    old = client.cookies["sessionid"].value
    assert client.post("/sign-out/")["Location"] == "/sign-in/"
    client.cookies["sessionid"] = old
    assert client.get("/tokens/").status_code == 302


def test_ten_wrong_tries_close_the_door_also_to_the_right_password(client, lead):
    for _ in range(sign_in_limit.MAX_TRIES_PER_NAME):
        assert try_to_sign_in(client, password="wrong").status_code == 400
    response = try_to_sign_in(client)
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 300
    assert "_auth_user_id" not in client.session


def test_the_door_opens_again_after_the_window(client, lead):
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        for _ in range(11):
            last = try_to_sign_in(client, password="wrong")
        assert last.status_code == 429
        traveller.shift(int(last["Retry-After"]))
        assert try_to_sign_in(client).status_code == 302


def test_other_names_and_other_addresses_are_not_shut_out(client, lead, viewer):
    for _ in range(11):
        try_to_sign_in(client, "LEAD", "wrong")
    assert try_to_sign_in(Client(), "lead").status_code == 429
    assert try_to_sign_in(Client(), "viewer").status_code == 302
    assert try_to_sign_in(Client(REMOTE_ADDR="10.0.0.9")).status_code == 302


def test_an_address_that_tries_many_names_is_shut_out(client, lead, monkeypatch):
    monkeypatch.setattr(sign_in_limit, "MAX_TRIES_PER_NETWORK", 20)
    codes = [try_to_sign_in(client, f"name{number}", "wrong").status_code for number in range(21)]
    assert codes == [400] * 20 + [429]


def test_a_name_guessed_from_many_addresses_is_looked_at_once_a_minute(lead, monkeypatch):
    """And never shut: its owner gets in all the while."""
    monkeypatch.setattr(sign_in_limit, "MAX_TRIES_PER_NAME_ANYWHERE", 5)
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        codes = [
            try_to_sign_in(Client(REMOTE_ADDR=f"10.0.0.{n}"), password="wrong").status_code
            for n in range(8)
        ]
        assert codes == [400] * 6 + [429] * 2
        assert int(try_to_sign_in(Client(REMOTE_ADDR="10.0.1.1"))["Retry-After"]) <= 60
        traveller.shift(60)
        assert try_to_sign_in(Client(REMOTE_ADDR="10.0.1.1")).status_code == 302


def test_a_network_of_ipv6_is_one_address(lead):
    for number in range(sign_in_limit.MAX_TRIES_PER_NAME):
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
def test_a_password_is_guessed_nowhere_else_either(client_for, lead, page, form):
    client = client_for(lead)
    codes = [client.post(page, form).status_code for _ in range(11)]
    assert codes == [400] * 10 + [429]
    assert "Retry-After" in client.post(page, form)


def test_with_the_password_tokens_go_unless_they_are_to_stay(client, lead):
    client.force_login(lead)
    authentication.create_token(user=lead)
    new = {
        "old_password": PASSWORD,
        "new_password1": "another one x",
        "new_password2": "another one x",
    }
    client.post("/password/", new)  # a box that is not ticked is not sent
    assert ApiToken.objects.filter(revoked_at=None).exists()
    assert "checked" in str(client.get("/password/").context["form"]["revoke_tokens"])
    again = {
        "old_password": "another one x",
        "new_password1": "a third one y",
        "new_password2": "a third one y",
    }
    client.post("/password/", {**again, "revoke_tokens": "on"})
    assert not ApiToken.objects.filter(revoked_at=None).exists()


def test_the_link_of_a_closed_account_opens_nothing(client, make_user):
    user = make_user("late")
    user.set_unusable_password()
    user.is_active = False
    user.save()
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    page = client.get(f"/invitations/{uid}/{token}/", follow=True)
    assert page.context["validlink"] is False


def test_a_right_password_clears_the_count(lead):
    for _ in range(3):
        for _ in range(6):
            try_to_sign_in(Client(), password="wrong")
        assert try_to_sign_in(Client()).status_code == 302


def test_behind_a_proxy_the_address_is_the_one_it_saw(rf, settings):
    request = rf.post(
        "/sign-in/", REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="6.6.6.6, 10.1.2.3"
    )
    assert security_log.get_client_address(request) == "127.0.0.1"
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert security_log.get_client_address(request) == "10.1.2.3"


def test_old_counts_are_removed_and_names_are_not_kept(client, lead):
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        try_to_sign_in(client, "my secret password", "x")
        assert not SignInTries.objects.filter(key__contains="secret").exists()
        traveller.shift(301)
        try_to_sign_in(client, "lead", "wrong")
    # An address, and two names from it and from anywhere.
    assert SignInTries.objects.count() == 5
    with time_machine.travel("2026-03-01T14:00:00Z"):
        try_to_sign_in(client, "lead", "wrong")
    assert SignInTries.objects.count() == 3


def test_the_admin_has_no_door_of_its_own(client, lead, admin):
    response = client.get("/admin/login/?next=/admin/ratings/")
    assert response["Location"] == "/sign-in/?next=%2Fadmin%2Fratings%2F"
    client.force_login(lead)
    assert client.get("/admin/", follow=True).status_code == 403


def test_changing_the_password_needs_the_old_one_and_ends_other_sessions(client, lead):
    other = Client()
    for one in (client, other):
        one.force_login(lead)
    new = {"new_password1": "another long one", "new_password2": "another long one"}
    assert client.post("/password/", {"old_password": "wrong", **new}).status_code == 400
    assert client.post("/password/", {"old_password": PASSWORD, **new}).status_code == 302
    assert client.get("/tokens/").status_code == 200
    assert other.get("/tokens/").status_code == 302


def invitation(user: User) -> str:
    return f"/invitations/{urlsafe_base64_encode(force_bytes(user.pk))}/{default_token_generator.make_token(user)}/"


def test_an_invitation_opens_once(client):
    user = User.objects.create(username="new")
    user.set_unusable_password()
    user.save()
    link = invitation(user)
    page = client.get(link, follow=True)
    assert page.status_code == 200
    assert "Your account is <strong>new</strong>" in page.content.decode()
    form = page.redirect_chain[-1][0]
    weak = client.post(form, {"new_password1": "short", "new_password2": "short"})
    assert weak.status_code == 400
    assert list(weak.context["form"].errors) == ["new_password1"]
    good = client.post(
        form, {"new_password1": "a fine long secret", "new_password2": "a fine long secret"}
    )
    assert good["Location"] == "/"
    assert client.session["_auth_user_id"] == str(user.pk)
    assert "This invitation is over" in Client().get(link, follow=True).content.decode()
    assert "This invitation is over" in Client().get("/invitations/xx/yy/").content.decode()


@pytest.mark.django_db(transaction=True)
def test_tries_of_the_same_moment_all_count():
    """A crowd of guesses that arrive together gets no more looks at the password than one after the
    other."""

    def guess(_number):
        try:
            return sign_in_limit.count_password_try("lead", "10.0.0.1")
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as crowd:
        waits = list(crowd.map(guess, range(24)))
    assert waits.count(0) == sign_in_limit.MAX_TRIES_PER_NAME
