"""Tests of the commands `create_administrator` and `send_test_mail`."""

from __future__ import annotations

import smtplib
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client

from agreement_site.models import AuditLogEntry

pytestmark = pytest.mark.django_db


def test_second_administrator_signs_in_and_chooses_a_password(
    admin: User, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("create_administrator", "grace", email="grace@example.org")
    password = capsys.readouterr().out.strip().rsplit(" ", 1)[1]
    client = Client()
    client.post("/sign-in/", {"username": "grace", "password": password})
    response = client.get("/admin/")
    assert response.status_code == 302
    assert response["Location"].startswith("/password/")  # the password is known here
    entry = AuditLogEntry.objects.get(action="admin_added")
    assert (entry.details["name"], entry.actor) == ("grace", "")
    assert entry.after is not None
    assert entry.after["is_superuser"] is True
    assert password not in str(vars(entry))


def test_existing_account_gets_all_rights(lead: User) -> None:
    with pytest.raises(CommandError, match="--existing"):
        call_command("create_administrator", lead.username)
    lead.refresh_from_db()
    assert not lead.is_superuser
    call_command("create_administrator", lead.username, existing=True)
    lead.refresh_from_db()
    assert lead.is_superuser
    assert AuditLogEntry.objects.get(action="admin_changed").before["is_superuser"] is False


@pytest.mark.parametrize(
    ("name", "options"), [("nobody", {"existing": True}), ("a b", {}), ("x", {"email": "no"})]
)
def test_wrong_names_create_nothing(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(CommandError):
        call_command("create_administrator", name, **options)
    assert not User.objects.filter(username=name).exists()
    assert not AuditLogEntry.objects.exists()


def test_test_mail_arrives_or_says_why_not(
    settings: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandError, match="SMTP_URL is not set"):
        call_command("send_test_mail", "ada@example.org")
    settings.SMTP_URL = "smtp://mail.example.org"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "mail.example.org", 587
    settings.DEFAULT_FROM_EMAIL = "concord@example.org"
    call_command("send_test_mail", "ada@example.org")
    assert "mail.example.org, port 587, accepted the mail" in capsys.readouterr().out
    assert mail.outbox[0].to == ["ada@example.org"]
    assert mail.outbox[0].subject == "[Concord] Test"

    def reject(*_args: Any) -> None:
        raise smtplib.SMTPAuthenticationError(535, b"wrong password")

    monkeypatch.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", reject)
    with pytest.raises(CommandError, match="wrong password"):
        call_command("send_test_mail", "ada@example.org")
