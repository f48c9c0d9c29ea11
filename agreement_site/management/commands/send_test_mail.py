"""`manage.py send_test_mail ADDRESS`: send a mail by the mail server of SMTP_URL."""

from __future__ import annotations

import smtplib
from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from agreement_site import releases


class Command(BaseCommand):
    help = (
        "Send a test mail by the mail server of SMTP_URL. Exits with status 1 and the server's "
        "answer if it does not accept the mail."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("address")

    @no_translations
    def handle(self, *args: Any, address: str, **options: Any) -> None:
        if not settings.SMTP_URL:
            raise CommandError("SMTP_URL is not set: this site sends no mail.")
        server = f"{settings.EMAIL_HOST}, port {settings.EMAIL_PORT},"
        try:
            send_mail(
                f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}Test",
                f"This mail was sent by Concord {releases.get_release()}.",
                settings.DEFAULT_FROM_EMAIL,
                [address],
            )
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise CommandError(f"{server} did not accept the mail: {error}") from None
        self.stdout.write(f"{server} accepted the mail to {address}. Look whether it arrives.")
