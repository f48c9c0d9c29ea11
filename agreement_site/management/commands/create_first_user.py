"""`manage.py create_first_user`: create the first account of an empty site."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from agreement_site.models import PasswordChangeRequired

USERNAME = "lead"


class Command(BaseCommand):
    help = (
        "On a site without accounts, create 'lead' with a random password and save the password "
        "in DATA_DIR/sign-in.txt (readable by its owner only). Later, only print where the "
        "password is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--show",
            action="store_true",
            help="print the password too: for a terminal, not for a log",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path = settings.DATA_DIR / "sign-in.txt"
        password = create_first_user(path)
        if password and options["show"]:
            self.stdout.write(f"Sign in as {USERNAME} with the password in {path}: {password}")
        elif password:
            self.stdout.write(f"Sign in as {USERNAME} with the password in {path}")
        elif path.is_file():
            self.stdout.write(
                f"Sign in as {USERNAME}; unless it was changed, the password is in {path}"
            )
        else:
            self.stdout.write("Sign in with your account.")


@transaction.atomic
def create_first_user(path: Path) -> str:
    """Create the first account and return its password; "" if there is an account already.

    The password file is written before the transaction commits. If the start is interrupted in
    between, the next one creates another password.
    """
    users = get_user_model()
    if users.objects.exists():
        return ""
    password = secrets.token_urlsafe(15)
    user = users.objects.create_superuser(USERNAME, password=password)
    if settings.HTTPS:  # a public site; `make run` does not force a new password
        PasswordChangeRequired.objects.create(user=user)
    write_password_file(path, password)
    return password


def write_password_file(path: Path, password: str) -> None:
    """Write the password into a new file, which only its owner can read from the start."""
    partial_file = path.with_suffix(".part")
    partial_file.unlink(missing_ok=True)
    with os.fdopen(os.open(partial_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{password}\n")
    partial_file.replace(path)
