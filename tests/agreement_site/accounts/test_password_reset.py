"""A forgotten password, and an address that is confirmed, where the site sends mail."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from agreement_site.accounts import sign_in_limit
from agreement_site.models import TrailLine
from projects import authentication
from projects.models import ApiToken
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db

FORGOTTEN = "/password/forgotten/"
NEW = {"password1": "a new long password", "password2": "a new long password"}


@pytest.fixture
def with_mail(settings: Any) -> None:
    settings.SMTP_URL = "smtp://mail.example.org"  # tests keep mails in mail.outbox


def mailed_link() -> str:
    found = re.search(r"http://testserver(/\S+)", str(mail.outbox[-1].body))
    assert found is not None
    return urlsplit(found[1]).path


def acts() -> set[str]:
    return set(TrailLine.objects.values_list("what", flat=True))


@pytest.mark.parametrize("path", [FORGOTTEN, FORGOTTEN + "1-x/", "/account/address/"])
def test_without_mail_there_are_no_such_pages(client: Client, lead: User, path: str) -> None:
    client.force_login(lead)
    assert client.get(path).status_code == 404


def test_a_mailed_link_sets_the_password_once(
    with_mail: None, client: Client, lead: User, caplog: pytest.LogCaptureFixture
) -> None:
    User.objects.update(email="lead@example.org")
    authentication.create_token(user=lead)
    inside = Client()
    inside.force_login(lead)
    assert FORGOTTEN in client.get("/sign-in/").content.decode()
    assert client.get(FORGOTTEN).status_code == 200
    assert client.post(FORGOTTEN, {"email": "none"}).status_code == 400
    sent = client.post(FORGOTTEN, {"email": "LEAD@example.org"})
    assert client.get(sent["Location"]).status_code == 200
    link = mailed_link()
    form = client.get(link, follow=True)
    path = form.redirect_chain[-1][0]
    assert link not in caplog.text
    assert client.post(path, {**NEW, "password2": "other"}).status_code == 400
    assert client.post(path, NEW)["Location"] == "/sign-in/"
    assert "_auth_user_id" not in client.session  # a second factor may be due
    lead.refresh_from_db()
    assert lead.check_password("a new long password")
    assert inside.get("/tokens/").status_code == 302
    assert not ApiToken.objects.filter(revoked_at=None).exists()
    assert {"password_forgotten", "password_reset"} <= acts()
    assert "too old" in Client().get(link, follow=True).content.decode()


def test_an_unknown_address_gets_the_same_answer_and_no_mail(
    with_mail: None, client: Client, lead: User
) -> None:
    answers = [client.post(FORGOTTEN, {"email": f"{name}@example.org"}) for name in ("a", "b")]
    assert {one["Location"] for one in answers} == {FORGOTTEN + "sent/"}
    assert mail.outbox == []


def test_nobodys_box_is_filled(with_mail: None, lead: User) -> None:
    User.objects.update(email="lead@example.org")
    codes = [
        Client(REMOTE_ADDR=f"10.0.0.{n}").post(FORGOTTEN, {"email": "lead@example.org"}).status_code
        for n in range(sign_in_limit.MAX_MAILS_PER_ADDRESS + 1)
    ]
    assert codes == [302] * sign_in_limit.MAX_MAILS_PER_ADDRESS + [429]
    assert len(mail.outbox) == sign_in_limit.MAX_MAILS_PER_ADDRESS


def test_an_address_counts_when_it_is_confirmed(with_mail: None, lead: User) -> None:
    client = Client()
    client.post("/sign-in/", {"username": "lead", "password": PASSWORD})
    page = "/account/address/"
    assert client.get(page).status_code == 200
    assert client.post(page, {"action_add": "", "email": "no"}).status_code == 400
    assert client.post(page, {"action_add": "", "email": "ada@example.org"}).status_code == 302
    assert not EmailAddress.objects.filter(verified=True).exists()
    link = mailed_link()
    assert client.get(link).status_code == 200
    assert not EmailAddress.objects.filter(verified=True).exists()  # a look confirms nothing
    assert client.post(link).status_code == 302
    lead.refresh_from_db()
    assert lead.email == "ada@example.org"
    assert TrailLine.objects.get(what="email_confirmed").after == {"email": "ada@example.org"}
    codes = [
        client.post(page, {"action_add": "", "email": f"{n}@example.org"}).status_code
        for n in range(sign_in_limit.MAX_MAILS_PER_ADDRESS)
    ]
    assert codes[-1] == 429
