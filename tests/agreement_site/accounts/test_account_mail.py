"""Tests of password reset and of confirmed addresses, on a site that sends mail."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import allauth
import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail
from django.template.loader import get_template
from django.test import Client

from agreement_site.accounts import adapters, attempt_limits, sign_in
from agreement_site.models import AuditLogEntry
from projects.models import ApiToken
from projects.services import tokens
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db

RESET_PATH = "/password/forgotten/"
NEW_PASSWORDS = {"password1": "a new long password", "password2": "a new long password"}


@pytest.fixture
def mail_settings(settings: Any) -> None:
    """Configure a mail server; tests keep mails in mail.outbox."""
    settings.SMTP_URL = "smtp://mail.example.org"


@pytest.fixture(autouse=True)
def submitted_mails(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run the work of the mail threads at once, in the connection of the test; return its names."""
    names: list[str] = []

    def submit(run: Any, work: Any, *args: Any) -> None:
        names.append(work.__name__)
        run(work, *args)

    monkeypatch.setattr(sign_in._MAIL_THREADS, "submit", submit)
    monkeypatch.setattr(sign_in.connection, "close", lambda: None)
    return names


def get_mailed_link() -> str:
    """Return the path of the link in the last mail."""
    match = re.search(r"http://testserver(/\S+)", str(mail.outbox[-1].body))
    assert match is not None
    return urlsplit(match[1]).path


def list_stock_mails() -> set[str]:
    """Return the prefixes of the templates of all mails that allauth's packages can send."""
    root = Path(allauth.__file__).parent / "templates"
    return {
        path.relative_to(root).as_posix().removesuffix("_subject.txt")
        for path in root.glob("*/email/*_subject.txt")
    }


def list_actions() -> set[str]:
    """Return the recorded actions of the audit log."""
    return set(AuditLogEntry.objects.values_list("action", flat=True))


@pytest.mark.parametrize("path", [RESET_PATH, RESET_PATH + "1-x/", "/account/address/"])
def test_without_mail_the_pages_are_not_found(client: Client, lead: User, path: str) -> None:
    client.force_login(lead)
    assert client.get(path).status_code == 404


def test_mailed_link_sets_the_password_once(
    mail_settings: None, client: Client, lead: User, caplog: pytest.LogCaptureFixture
) -> None:
    User.objects.update(email="lead@example.org")
    tokens.create_token(user=lead)
    signed_in_client = Client()
    signed_in_client.force_login(lead)
    assert RESET_PATH in client.get("/sign-in/").content.decode()
    assert client.get(RESET_PATH).status_code == 200
    assert client.post(RESET_PATH, {"email": "none"}).status_code == 400
    response = client.post(RESET_PATH, {"email": "LEAD@example.org"})
    assert client.get(response["Location"]).status_code == 200
    link = get_mailed_link()
    form = client.get(link, follow=True)
    path = form.redirect_chain[-1][0]
    assert link not in caplog.text
    assert client.post(path, {**NEW_PASSWORDS, "password2": "other"}).status_code == 400
    assert client.post(path, NEW_PASSWORDS)["Location"] == "/sign-in/"
    assert "_auth_user_id" not in client.session  # a second factor may be required
    lead.refresh_from_db()
    assert lead.check_password("a new long password")
    assert signed_in_client.get("/tokens/").status_code == 302
    assert not ApiToken.objects.filter(revoked_at=None).exists()
    assert {"password_forgotten", "password_reset"} <= list_actions()
    assert "used or has expired" in Client().get(link, follow=True).content.decode()


def test_mails_are_in_the_words_of_this_site(
    mail_settings: None, client: Client, lead: User, settings: Any
) -> None:
    settings.ACCOUNT_EMAIL_NOTIFICATIONS = True
    User.objects.update(email="lead@example.org")
    EmailAddress.objects.create(user=lead, email="lead@example.org", primary=True, verified=True)
    client.post(RESET_PATH, {"email": "lead@example.org"})
    path = client.get(get_mailed_link(), follow=True).redirect_chain[-1][0]
    client.post(path, NEW_PASSWORDS)
    client.post("/sign-in/", {"username": "lead", "password": NEW_PASSWORDS["password1"]})
    client.post("/account/address/", {"action_add": "", "email": "ada@example.org"})
    link, change, confirmation = mail.outbox
    assert link.subject == "[Concord] Reset your password"
    assert "Open this link to reset the password of lead:" in link.body
    assert "Not you? Ignore this email." in link.body
    assert change.subject == "[Concord] Your account was changed"
    assert change.body.startswith("Your password was reset by email.")
    assert "IP address: 127.0.0.1" in change.body
    assert confirmation.subject == "[Concord] Confirm your email address"
    assert confirmation.to == ["ada@example.org"]
    for message in mail.outbox:
        assert "Hello from" not in message.body and "example.com" not in message.body


def test_each_mail_that_this_site_sends_has_its_own_text() -> None:
    unused = {"account_already_exists", "email_confirm", "email_confirmation_signup", "login_code"}
    unused |= {"password_changed", "password_reset_code", "password_set", "unknown_account"}
    own = {"password_reset_key", "email_confirmation"}
    names = {f"account/email/{name}" for name in unused | own}
    assert list_stock_mails() == names | set(adapters.ACCOUNT_CHANGES)
    for name in own:
        for kind in ("subject", "message"):
            template: Any = get_template(f"account/email/{name}_{kind}.txt")
            assert "allauth" not in template.origin.name


def test_unknown_address_gets_the_same_response_and_no_mail(
    mail_settings: None, client: Client, lead: User
) -> None:
    responses = [client.post(RESET_PATH, {"email": f"{name}@example.org"}) for name in ("a", "b")]
    assert {response["Location"] for response in responses} == {RESET_PATH + "sent/"}
    assert mail.outbox == []


def test_mails_to_an_address_are_rate_limited(mail_settings: None, lead: User) -> None:
    User.objects.update(email="lead@example.org")
    statuses = [
        Client(REMOTE_ADDR=f"10.0.0.{n}")
        .post(RESET_PATH, {"email": "lead@example.org"})
        .status_code
        for n in range(attempt_limits.MAX_MAILS_PER_ADDRESS + 1)
    ]
    assert statuses == [302] * attempt_limits.MAX_MAILS_PER_ADDRESS + [429]
    assert len(mail.outbox) == attempt_limits.MAX_MAILS_PER_ADDRESS


def test_address_is_set_when_it_is_confirmed(mail_settings: None, lead: User) -> None:
    client = Client()
    client.post("/sign-in/", {"username": "lead", "password": PASSWORD})
    page = "/account/address/"
    assert client.get(page).status_code == 200
    assert client.post(page, {"action_add": "", "email": "no"}).status_code == 400
    assert client.post(page, {"action_add": "", "email": "ada@example.org"}).status_code == 302
    assert not EmailAddress.objects.filter(verified=True).exists()
    link = get_mailed_link()
    assert client.get(link).status_code == 200
    assert not EmailAddress.objects.filter(
        verified=True
    ).exists()  # opening the page confirms nothing
    assert client.post(link).status_code == 302
    lead.refresh_from_db()
    assert lead.email == "ada@example.org"
    assert AuditLogEntry.objects.get(action="email_confirmed").after == {"email": "ada@example.org"}
    statuses = [
        client.post(page, {"action_add": "", "email": f"{n}@example.org"}).status_code
        for n in range(attempt_limits.MAX_MAILS_PER_ADDRESS)
    ]
    assert statuses[-1] == 429


@pytest.mark.parametrize("email", ["lead@example.org", "nobody@example.org"])
def test_response_waits_for_no_mail_server(
    mail_settings: None,
    client: Client,
    lead: User,
    email: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that depends on whether an account has the address happens after the response."""
    User.objects.update(email="lead@example.org")
    waiting: list[Any] = []
    monkeypatch.setattr(sign_in._MAIL_THREADS, "submit", lambda *work: waiting.append(work))
    response = client.post(RESET_PATH, {"email": email})
    assert response.status_code == 302 and not mail.outbox
    [(run, *work)] = waiting
    run(*work)
    assert len(mail.outbox) == (email == "lead@example.org")


def test_failing_mail_server_is_not_disclosed(
    mail_settings: None, client: Client, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.update(email="lead@example.org")

    def fail(*_args: Any, **_options: Any) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr("django.core.mail.EmailMessage.send", fail)
    for email in ("lead@example.org", "nobody@example.org"):
        response = client.post(RESET_PATH, {"email": email}, follow=True)
        assert response.redirect_chain == [(f"{RESET_PATH}sent/", 302)]
        assert "be sent" not in response.text
